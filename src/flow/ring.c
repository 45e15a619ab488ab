/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow/ring.h"

unsigned flow_ring_take(flow_ring_t *ring, flow_psn_t next, void **handles,
                        unsigned max)
{
    unsigned first   = next % FLOW_MAP_BITS;
    uint64_t missing = ~flow_psn_rotate_down(ring->mask, first);
    uint64_t taken;
    unsigned count, i;

    count = (missing == 0) ? FLOW_MAP_BITS :
                             (unsigned)__builtin_ctzll(missing);
    if (count == 0) {
        return 0;
    }
    count = (count < max) ? count : max;
    for (i = 0; i < count; ++i) {
        handles[i] = ring->slot[(first + i) % FLOW_MAP_BITS];
    }
    taken       = ~0ull >> (FLOW_MAP_BITS - count);
    ring->mask &= ~flow_psn_rotate_up(taken, first);
    return count;
}
