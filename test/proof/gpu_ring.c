/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A ring that kernels write (src/uct/ib/srd_gpu/srd_gpu_ring.h): whatever index
 * it is at, a descriptor is taken when it was written in this lap, and not
 * before; what was left of laps before is never taken for one.
 */
#include "proof.h"

#include "uct/ib/srd_gpu/srd_gpu_ring.h"

enum { LOG_MAX = 3 };

/* The slot's owner: as it was written in this lap, or in the one before, if
 * there was one. */
static void fill(srd_gpu_ring_t *ring, uint64_t slot, int is_written,
                 int had_laps)
{
    uint64_t depth = 1ul << ring->log_depth;
    uint64_t index = ring->taken + ((slot - ring->taken) & (depth - 1));

    if (is_written || had_laps || (index >= depth)) {
        index                  -= is_written ? 0 : depth;
        ring->queue[slot].owner = (index >> ring->log_depth) & 1;
    }
}

static void prove_ring(void)
{
    static srd_gpu_desc_t queue[1 << LOG_MAX];
    srd_gpu_ring_t        ring;
    srd_gpu_desc_t        desc;
    unsigned              log_depth = nondet_u8();
    uint8_t               written   = nondet_u8(); /* a bit for each slot */
    uint8_t               had_laps  = nondet_u8(); /* the index has wrapped */
    uint64_t              told      = 0, slot;

    ASSUME((log_depth >= 1) && (log_depth <= LOG_MAX));
    srd_gpu_ring_init(&ring, queue, &told, log_depth);
    PROVE(!srd_gpu_ring_peek(&ring, &desc));
    ring.taken = nondet_u64();
    for (slot = 0; slot < (1ul << log_depth); ++slot) {
        fill(&ring, slot, (written >> slot) & 1, had_laps);
    }
    slot = ring.taken & ((1ul << log_depth) - 1);
    PROVE(srd_gpu_ring_peek(&ring, &desc) == ((written >> slot) & 1));
    ++ring.taken;
    srd_gpu_ring_tell(&ring);
    PROVE(told == ring.taken);
}

int main(void)
{
    prove_ring();
    PROOF_END();
    return 0;
}
