/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The end of a peer, and of the flows with it: dead (the device or a younger
 * incarnation says so), or lost (a time-out: both processes may live).
 */
#include "flow/end_priv.h"
#include "flow/hash_priv.h"
#include "flow/list_priv.h"
#include "flow/peer_priv.h"
#include "flow/rx_life_priv.h"
#include "flow/trace_priv.h"
#include "flow/turn_priv.h"
#include "flow/tx_life_priv.h"
#include "flow/tx_priv.h"

/* All flows to the peer fail. */
static void flow_peer_end_tx(flow_core_t *core, flow_peer_t *peer,
                             flow_end_t why)
{
    uint32_t index, next;
    flow_tx_t *tx;

    for (index = peer->tx_list; index != 0; index = next) {
        tx   = flow_core_tx(core, index);
        next = flow_list_next_tx(core, tx);
        flow_tx_died(core, tx, why);
    }
}

/*
 * Flows from the peer go on: its packets do arrive. A reset tells it of each
 * flow that was lost, when its user closes that.
 */
void flow_peer_lost(flow_core_t *core, flow_peer_t *peer)
{
    if ((peer->state != FLOW_PEER_DEAD) && (peer->live != 0)) {
        flow_trace(core, FLOW_TRACE_PEER, peer->index, 2, peer->incarnation);
        flow_peer_end_tx(core, peer, FLOW_END_LOST);
        flow_turn_wake_all(core, peer);
    }
}

void flow_peer_dead(flow_core_t *core, flow_peer_t *peer)
{
    uint32_t index, next;
    flow_rx_t *rx;

    if (peer->state == FLOW_PEER_DEAD) {
        return;
    }

    flow_trace(core, FLOW_TRACE_PEER, peer->index, 1, peer->incarnation);
    peer->state = FLOW_PEER_DEAD;
    peer->rival = 0;
    ++peer->refs; /* keep it while its lists shrink */
    flow_peer_end_tx(core, peer, FLOW_END_DEAD);
    for (index = peer->rx_list; index != 0; index = next) {
        rx   = flow_core_rx(core, index);
        next = flow_list_next_rx(core, rx);
        if (flow_rx_end_later(core, rx)) {
            continue;
        }
        if ((rx->state == FLOW_RX_ACTIVE) && flow_peer_reachable(peer)) {
            flow_rx_fail(core, rx); /* with a reset, should it live after all */
        } else {
            flow_rx_close(core, rx);
        }
    }
    flow_turn_wake_all(core, peer);
    flow_peer_unref(core, peer);
}

void flow_peer_proved(flow_core_t *core, flow_peer_t *peer, int by_device)
{
    unsigned left = FLOW_RIVALS;
    flow_peer_t *other;
    uint32_t index, next;

    peer->rival = 0;
    for (index = *flow_hash_addr(core, peer); (index != 0) && (left-- != 0);
         index = next) {
        other = flow_core_peer(core, index);
        next  = other->addr_next;
        if (!flow_peer_is_rival(peer, other)) {
            continue;
        }
        if (by_device && (other->qkey == peer->qkey)) {
            peer->rival = 1; /* it may still be either */
        } else {
            flow_peer_dead(core, other);
        }
    }
}

void flow_tx_fail(flow_core_t *core, flow_tx_t *tx, flow_send_status_t why)
{
    flow_peer_t *peer = flow_core_peer(core, tx->peer);

    if (why == FLOW_SEND_DEAD) {
        flow_peer_dead(core, peer);
    } else if ((why == FLOW_SEND_LOST) && flow_tx_is_live(tx)) {
        flow_peer_lost(core, peer);
    } else {
        flow_tx_died(core, tx,
                     (why == FLOW_SEND_LOST)     ? FLOW_END_LOST :
                     (why == FLOW_SEND_GIVEN_UP) ? FLOW_END_GIVEN_UP :
                                                   FLOW_END_ERROR);
    }
}
