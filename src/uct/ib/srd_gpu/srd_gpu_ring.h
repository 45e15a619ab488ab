/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SRD_GPU_RING_H_
#define SRD_GPU_RING_H_

#include "srd_gpu_d2p.h"

#include <string.h>

/* Our end of a channel. Nothing in the ring is believed but its order. */
typedef struct srd_gpu_ring {
    srd_gpu_desc_t *queue;
    uint64_t       *ci;    /* what the kernels know of `taken` */
    uint64_t        taken; /* descriptors, ever; wraps at 2^64 */
    unsigned        log_depth;
} srd_gpu_ring_t;

/* An empty ring: no slot looks as if it were of the first lap. */
static inline void srd_gpu_ring_init(srd_gpu_ring_t *ring,
                                     srd_gpu_desc_t *queue, uint64_t *ci,
                                     unsigned log_depth)
{
    uint64_t i;

    for (i = 0; i < (1ul << log_depth); ++i) {
        queue[i].owner = UINT8_MAX; /* of no lap */
    }
    ring->queue     = queue;
    ring->ci        = ci;
    ring->taken     = 0;
    ring->log_depth = log_depth;
}

/* Copies the next descriptor. 0: there is none yet. */
static inline int
srd_gpu_ring_peek(const srd_gpu_ring_t *ring, srd_gpu_desc_t *desc)
{
    uint64_t              slot = ring->taken & ((1ul << ring->log_depth) - 1);
    const srd_gpu_desc_t *next = &ring->queue[slot];
    uint8_t               lap  = (ring->taken >> ring->log_depth) & 1;

    if (__atomic_load_n(&next->owner, __ATOMIC_ACQUIRE) != lap) {
        return 0;
    }
    memcpy(desc, next, sizeof(*desc));
    return 1;
}

/* The kernels may have the slots back of all that were taken. */
static inline void srd_gpu_ring_tell(srd_gpu_ring_t *ring)
{
    __atomic_store_n(ring->ci, ring->taken, __ATOMIC_RELEASE);
}

#endif
