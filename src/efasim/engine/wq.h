/* SPDX-License-Identifier: BSD-3-Clause */
/* A work queue in host memory: the send queue or the receive queue of a QP. */
#ifndef EFASIM_ENGINE_WQ_H
#define EFASIM_ENGINE_WQ_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct sim_wq {
    uint8_t          *ring;
    _Atomic uint32_t *db;           /* NULL: a queue of depth 0 */
    uint32_t          depth;        /* descriptors, a power of two */
    uint16_t          stride;       /* bytes of one */
    uint16_t          pc;           /* doorbell last seen */
    uint16_t          cc;           /* descriptors taken */
    uint8_t           phase;        /* of the next work request (SQ) */
};

/* The descriptor that the free-running counter names */
static inline const void *sim_wq_at(const struct sim_wq *wq, uint16_t counter)
{
    return wq->ring + (size_t)(counter & (wq->depth - 1)) * wq->stride;
}

#endif
