/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receiving flows: their states.
 *
 *   state     | first data  hello    goodbye in order   beyond the limit (SRD)
 *   ----------+---------------------------------------------------------------
 *   FREE      | STRANGER    ACTIVE
 *   STRANGER  |             ACTIVE   (kept)             FAILED at the hello
 *   ACTIVE    |             -        CLOSED -> FREE     FAILED
 *   FAILED    |             -        -                  -       sent: CLOSED
 *
 * CLOSED lasts only until the flow has left the queues it is on. On UD, where
 * goodbye and data are repeated, PARTED comes before it, as TIME-WAIT in TCP.
 * A stranger is delivered to: its long header names flow and receiver, and the
 * hello adds only the members that an answer needs. Holding it instead was
 * tried; it made the data of honest peers depend on a bound on strangers.
 */
#include "flow/ack_priv.h"
#include "flow/assert.h"
#include "flow/ctl_priv.h"
#include "flow/due_priv.h"
#include "flow/fifo_priv.h"
#include "flow/grant_priv.h"
#include "flow/list_priv.h"
#include "flow/pair_priv.h"
#include "flow/peer_priv.h"
#include "flow/rx_life_priv.h"
#include "flow/rx_priv.h"
#include "flow/rx_record_priv.h"
#include "flow/stranger_priv.h"
#include "flow/trace_priv.h"

/* The packets that a flow holds come back to the caller as events. */
static void flow_rx_release_held(flow_core_t *core, flow_rx_t *rx)
{
    if (rx->ring != 0) {
        flow_fifo_ring_push(core, &core->event_ring, rx->ring);
        ++core->event_pending;
        rx->ring = 0;
    }
}

/* No packet fits the flow any more; the packets that it held go back. */
static void flow_rx_stop(flow_core_t *core, flow_rx_t *rx)
{
    if (rx->state == FLOW_RX_STRANGER) {
        rx->counted_low = (uint8_t)rx->limit; /* never granted */
        flow_stranger_leave(core, rx);
    }
    rx->expect |= FLOW_RX_SHUT;
    flow_rx_release_held(core, rx);
    flow_pair_rx_gone(core, rx);
    rx->flags &= ~(unsigned)FLOW_RXF_FINAL;
    rx->ctl   &= FLOW_CTL_QUEUED | FLOW_CTL_RX_PARTED;
}

void flow_rx_close(flow_core_t *core, flow_rx_t *rx)
{
    if (rx->state == FLOW_RX_CLOSED) {
        return;
    }

    flow_trace(core, FLOW_TRACE_RX_CLOSE, rx->ep, flow_rx_psn(rx), rx->state);
    flow_rx_stop(core, rx);
    rx->state = FLOW_RX_CLOSED;
    rx->ctl  &= FLOW_CTL_QUEUED;
    flow_grant_flow_close(core, rx);
    flow_rx_try_release(core, rx);
}

/*
 * Stay for a while (PARTED), off the peer's list: with many reconnects there
 * are many of these. If there are too many of one peer, this one goes at once.
 */
static void flow_rx_unlist(flow_core_t *core, flow_rx_t *rx)
{
    flow_peer_t *peer = flow_core_peer(core, rx->peer);

    if (flow_peer_ref(peer)) {
        flow_list_unlist_rx(core, peer, rx);
        flow_rx_try_release(core, rx);
    } else {
        flow_rx_close(core, rx);
    }
}

void flow_rx_end(flow_core_t *core, flow_rx_t *rx)
{
    if (!flow_is_ud(core)) {
        flow_rx_close(core, rx);
        return;
    }

    flow_due_rx_ctl(core, rx, FLOW_CTL_RX_PARTED);
    if (rx->state < FLOW_RX_PARTED) {
        flow_trace(core, FLOW_TRACE_RX_CLOSE, rx->ep, flow_rx_psn(rx),
                   rx->state);
        flow_rx_stop(core, rx);
        rx->state = FLOW_RX_PARTED;
        flow_grant_flow_close(core, rx);
        flow_rx_unlist(core, rx);
    }
}

void flow_rx_fail(flow_core_t *core, flow_rx_t *rx)
{
    flow_trace(core, FLOW_TRACE_FAIL, rx->ep, flow_rx_psn(rx), rx->limit);
    ++core->counters.failed_flows;
    flow_rx_stop(core, rx);
    rx->state = FLOW_RX_FAILED;
    flow_grant_flow_close(core, rx);
    flow_due_rx_ctl(core, rx, FLOW_CTL_RX_RESET);
}

int flow_rx_end_later(flow_core_t *core, flow_rx_t *rx)
{
    flow_psn_t final;
    uint64_t map;

    if (!flow_is_ud(core) || (rx->state != FLOW_RX_ACTIVE)) {
        return 0;
    }
    final = flow_ack_get(core, rx, &map);
    if (final == flow_rx_psn(rx)) {
        return 0;
    }

    rx->flags    |= FLOW_RXF_FINAL;
    rx->final_low = (uint8_t)final;
    flow_grant_next_look(rx);
    flow_due_rx_ctl(core, rx, FLOW_CTL_RX_PARTED);
    return 1;
}

void flow_rx_introduce(flow_core_t *core, flow_rx_t *rx, flow_src_t src,
                       unsigned window)
{
    flow_psn_t psn   = flow_rx_psn(rx);
    flow_psn_t limit = core->params.first_psn + (flow_psn_t)window;
    int overrun      = (rx->flags & FLOW_RXF_OVERRUN) != 0;

    rx->flags &= ~(unsigned)FLOW_RXF_OVERRUN;
    flow_assert(rx->state == FLOW_RX_STRANGER);
    flow_stranger_leave(core, rx);
    rx->src     = flow_peer_src(flow_core_peer(core, rx->peer), src);
    rx->state   = FLOW_RX_ACTIVE;
    rx->counted_low = (uint8_t)psn;
    if (!flow_is_ud(core) && /* there the slow path notes that an ack is due */
        !flow_core_peer(core, rx->peer)->rival) {
        rx->expect &= ~FLOW_RX_SHUT;
    }
    if ((rx->ring == 0) && (flow_psn_diff(limit, psn) >= 0)) {
        rx->limit = limit; /* a stranger has the largest that is allowed */
    }
    flow_grant_flow_open(core, rx);
    flow_pair_hello(core, rx);
    if (flow_is_ud(core) &&
        ((rx->ring != 0) || (psn != core->params.first_psn))) {
        flow_due_rx_ctl(core, rx, FLOW_CTL_RX_ACK);
    }
    if (overrun) {
        flow_rx_fail(core, rx);
    } else if ((rx->flags & FLOW_RXF_FINAL) && (flow_rx_final(rx) == psn)) {
        flow_rx_end(core, rx);
    }
}
