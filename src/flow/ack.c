/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Acknowledgements of a receiving flow (UD). Nothing is stored for them: the
 * packets that were handed out and those that the ring holds are the received
 * ones, so an acknowledgement always tells the present, and an acknowledged
 * packet is never forgotten.
 */
#include "flow/ack_priv.h"
#include "flow/rx_priv.h"

flow_psn_t flow_ack_get(const flow_core_t *core, const flow_rx_t *rx,
                        uint64_t *map)
{
    flow_psn_t psn = flow_rx_psn(rx);
    unsigned shift = psn % FLOW_MAP_BITS;
    uint64_t held; /* bit i: psn + i */
    unsigned run;

    *map = 0;
    if (rx->ring == 0) {
        return psn;
    }

    held = flow_psn_rotate_down(flow_core_ring(core, rx->ring)->mask, shift);
    run  = (~held == 0) ? FLOW_MAP_BITS :
                          (unsigned)__builtin_ctzll(~held);
    if (run < FLOW_MAP_BITS - 1) {
        *map = held >> (run + 1);
    }
    return psn + (flow_psn_t)run;
}
