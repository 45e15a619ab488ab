/* SPDX-License-Identifier: BSD-3-Clause */
/* Receiving flows: their records, found by peer and endpoint number. */
#include "flow/drop_priv.h"
#include "flow/hash_priv.h"
#include "flow/list_priv.h"
#include "flow/peer_priv.h"
#include "flow/pool_priv.h"
#include "flow/rx_priv.h"
#include "flow/rx_record_priv.h"
#include "flow/timer_priv.h"
#include "flow/trace_priv.h"

flow_rx_t *flow_rx_find(flow_core_t *core, const flow_peer_t *peer,
                        uint32_t ep)
{
    uint32_t index;
    flow_rx_t *rx;

    for (index = *flow_hash_rx(core, peer->index, ep); index != 0;
         index = rx->hash_next) {
        rx = flow_core_rx(core, index);
        if ((rx->ep == ep) && (rx->peer == peer->index)) {
            return rx;
        }
    }
    return NULL;
}

flow_rx_t *flow_rx_create(flow_core_t *core, flow_peer_t *peer, uint32_t ep)
{
    uint32_t index = flow_pool_rx_get(core);
    flow_psn_t first;
    flow_rx_t *rx;

    first         = core->params.first_psn;
    rx            = flow_core_rx(core, index);
    rx->state     = FLOW_RX_STRANGER;
    rx->expect   |= (uint64_t)first << FLOW_WIRE_PSN_SHIFT; /* and shut */
    rx->counted_low   = (uint8_t)first;
    rx->limit     = first + FLOW_INIT_WINDOW_MAX;
    rx->ep        = ep;
    rx->peer      = peer->index;
    flow_list_add_rx(peer, rx);
    flow_hash_insert_rx(core, rx);
    flow_trace(core, FLOW_TRACE_RX_OPEN, ep, first, peer->index);
    return rx;
}

void flow_rx_try_release(flow_core_t *core, flow_rx_t *rx)
{
    flow_peer_t *peer;

    if ((rx->state == FLOW_RX_PARTED) && (rx->lists == 0)) {
        rx->lists |= FLOW_LIST_PARTED;
        flow_timer_parted(core, flow_rx_index(rx));
    }
    if ((rx->state != FLOW_RX_CLOSED) || (rx->ctl != 0) || (rx->lists != 0)) {
        return;
    }

    peer = flow_core_peer(core, rx->peer);
    flow_hash_remove_rx(core, rx);
    if (rx->flags & FLOW_RXF_UNLISTED) {
        flow_list_free_unlisted_rx(core, rx);
        flow_peer_unref(core, peer);
    } else {
        flow_list_free_rx(core, peer, rx);
        flow_peer_check_idle(core, peer);
    }
}

flow_rx_verdict_t flow_rx_room(flow_core_t *core, int new_peer,
                               flow_rx_out_t *out)
{
    flow_list_sweep(core);
    if ((flow_pool_rx_free(core) > 0) &&
        (!new_peer || flow_pool_peer_free(core))) {
        return FLOW_RX_CONTROL;
    }
    if (((flow_pool_rx_free(core) == 0) &&
         (core->rx_count >= FLOW_INDEX_MAX)) ||
        (new_peer && !flow_pool_peer_free(core) &&
         (core->peer_free.count == 0) &&
         (core->peer_count >= FLOW_INDEX_MAX))) {
        return flow_drop_packet(core, FLOW_DROP_FULL, out);
    }
    return FLOW_RX_NO_MEMORY;
}
