/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFASIM_ENGINE_CQ_H
#define EFASIM_ENGINE_CQ_H

#include "objects.h"

/*
 * Completion queues. `buf` holds depth * cqe_size zeroed bytes for each of the
 * profile's sub-CQs: sends in the first, receives in the last. -EINVAL: depth
 * not a power of two in 1 ... SIM_MAX_CQE, or cqe_size; -ENOMEM; -EBUSY.
 */
int sim_cq_create(struct sim_dev *dev, uint32_t depth, uint16_t cqe_size,
                  uint8_t *buf, _Atomic uint32_t *db, struct sim_cq **cq_p);
int sim_cq_destroy(struct sim_cq *cq);

/* Completions written so far, of all rings. Needs no serialising. */
static inline uint32_t sim_cq_produced(const struct sim_cq *cq)
{
    return atomic_load_explicit(&cq->produced[0], memory_order_relaxed) +
           atomic_load_explicit(&cq->produced[1], memory_order_relaxed);
}

/* A poll that began when `produced` were written found the CQ empty. Needs no
 * serialising. */
static inline void sim_cq_drained(struct sim_cq *cq, uint32_t produced)
{
    uint32_t before = atomic_load_explicit(&cq->drained, memory_order_relaxed);

    if ((int32_t)(produced - before) > 0) { /* another thread was later */
        atomic_store_explicit(&cq->drained, produced, memory_order_relaxed);
    }
}

/* The next completion (one may be there already) causes one event. */
void sim_cq_arm(struct sim_cq *cq);

/* The program's doorbell, for a device that sees it written: if it arms the
 * queue, a completion that was not read by then causes the event. */
void sim_cq_doorbell(struct sim_cq *cq, uint32_t value);

/* Does the next completion of any CQ of the device cause an event? */
int sim_cq_any_is_armed(const struct sim_dev *dev);

/* Engine-internal: append a completion, with the phase bit of its place. Where
 * the program has not read in time it overwrites an unread one. */
void sim_cq_push(struct sim_cq *cq, const struct io_cqe *cqe);

#endif
