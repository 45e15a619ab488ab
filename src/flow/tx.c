/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sending flows: their windows. tx_life.c has the states.
 *
 * The window is lazy: a completion clears its bit in busy; the low edge una
 * moves only when the sender meets stop or somebody waits. A completion costs
 * the same in any order, and a send pays one compare.
 */
#include "flow/ack_priv.h"
#include "flow/assert.h"
#include "flow/ctl_priv.h"
#include "flow/due_priv.h"
#include "flow/grant_priv.h"
#include "flow/peer.h"
#include "flow/resend_priv.h"
#include "flow/timer_priv.h"
#include "flow/trace_priv.h"
#include "flow/tx_priv.h"

flow_peer_t *flow_tx_peer(flow_core_t *core, const flow_tx_t *tx)
{
    return flow_core_peer(core, tx->peer);
}

/* Move una over completed numbers. Returns the number that may not be sent. */
static flow_psn_t flow_tx_bound(const flow_core_t *core, flow_tx_t *tx)
{
    flow_psn_t psn  = flow_tx_psn(tx);
    unsigned shift  = tx->una % FLOW_MAP_BITS;
    uint64_t window = flow_psn_rotate_down(tx->busy, shift);
    flow_psn_t bound;

    tx->una = (tx->busy == 0) ? psn :
                                tx->una + (flow_psn_t)__builtin_ctzll(window);
    if (tx->wait & (FLOW_WAIT_EMPTY | FLOW_WAIT_HELLO)) {
        return psn;
    }
    bound = flow_psn_min(tx->limit, tx->una + FLOW_WINDOW_MAX);
    if (flow_is_ud(core) && (tx->ring != 0)) {
        bound = flow_psn_min(bound,
                             psn + (flow_psn_t)flow_resend_room(core, tx));
    }
    return bound;
}

/* Completions or a limit came: open the window; TX_READY if it was shut. */
static void flow_tx_advance(flow_core_t *core, flow_tx_t *tx)
{
    flow_psn_t bound = flow_tx_bound(core, tx);

    if ((tx->paused == 0) && (!flow_is_ud(core) || (tx->ring != 0))) {
        tx->stop = bound;
    }
    if ((tx->wait & FLOW_WAIT_STOP) && !(tx->paused & FLOW_PAUSE_CLOSED) &&
        (bound != flow_tx_psn(tx))) {
        tx->wait &= (uint8_t)~FLOW_WAIT_STOP;
        flow_due_tx_event(core, tx, FLOW_DUE_TX_READY);
    }
}

void flow_tx_window(flow_core_t *core, flow_tx_t *tx)
{
    if (!(tx->paused & FLOW_PAUSE_CLOSED)) {
        flow_tx_advance(core, tx);
    }
    if ((tx->ring != 0) &&
        ((tx->wait & FLOW_WAIT_STOP) ||
         (flow_core_ring(core, tx->ring)->unacked.lost != 0))) {
        flow_resend_blocked(core, tx);
    }
}

flow_tx_t *flow_tx_find(flow_core_t *core, const flow_peer_t *peer,
                        uint32_t ep)
{
    uint32_t index = ep & (FLOW_INDEX_MAX - 1);
    flow_tx_t *tx;

    if ((index == 0) || (index >= core->tx_count)) {
        return NULL;
    }
    tx = flow_core_tx(core, index);
    return ((tx->state != FLOW_TX_FREE) && (tx->ep == ep) &&
            (tx->peer == peer->index)) ?
                   tx :
                   NULL;
}

/*
 * A closed flow: once its packets and control packets have ended, say the last
 * word; once that ended too, go. The hello must have ended first, or it could
 * arrive after the goodbye and open the flow at the peer again. On UD a hello
 * ends by its answer, and the last word by its confirmation.
 */
void flow_tx_try_release(flow_core_t *core, flow_tx_t *tx)
{
    if ((tx->state != FLOW_TX_LINGER) || (tx->busy != 0) ||
        (tx->ctl_out != 0)) { /* busy has numbers in back-off, too */
        return;
    }

    if (tx->flags & FLOW_TXF_LAST) {
        if (tx->ctl == 0) { /* else when it leaves the control queue */
            flow_due_tx_event(core, tx, FLOW_DUE_TX_GONE);
        }
    } else if (tx->wait & FLOW_WAIT_PART) {
        return; /* UD: the timer repeats it */
    } else if (!(tx->ctl & FLOW_CTL_TX_HELLO)) {
        flow_due_tx_ctl(core, tx, (tx->wait & FLOW_WAIT_RESET) ?
                                          FLOW_CTL_TX_RESET :
                                          FLOW_CTL_TX_GOODBYE);
    }
}

/*
 * Blocked at the limit. The next one comes by itself; but on UD it may be lost,
 * so we ask after a time-out.
 */
static void flow_tx_want(flow_core_t *core, flow_tx_t *tx)
{
    tx->flags |= FLOW_TXF_ASKED;
    tx->ctl   |= FLOW_CTL_TX_WANT;
    if (!(tx->ctl & FLOW_CTL_QUEUED)) {
        flow_timer_tx_later(core, flow_tx_index(tx), tx->backoff);
    }
}

int flow_tx_ready_slow(flow_core_t *core, flow_tx_t *tx)
{
    flow_psn_t bound;

    if (tx->paused & FLOW_PAUSE_CLOSED) {
        return 0;
    }

    if (flow_is_ud(core) && !flow_resend_prepare(core, tx)) {
        flow_due_tx_event(core, tx, FLOW_DUE_TX_READY); /* after a growth */
        return 0;
    }
    bound = flow_tx_bound(core, tx);
    if ((bound != flow_tx_psn(tx)) && (tx->paused == 0)) {
        flow_grant_pair_sends(core, tx);
        bound = flow_tx_bound(core, tx); /* which may wait for its lap now */
    }
    if (bound != flow_tx_psn(tx)) {
        if (tx->paused != 0) {
            return 0;
        }
        tx->stop = bound;
        return 1;
    }

    if (!(tx->wait & FLOW_WAIT_STOP)) {
        tx->wait |= FLOW_WAIT_STOP;
        ++core->counters.stalls;
        flow_trace(core, FLOW_TRACE_STALL, tx->ep, bound, tx->limit);
    }
    if (!flow_is_ud(core)) {
        return 0;
    }
    if ((bound == tx->limit) && !(tx->flags & FLOW_TXF_ASKED)) {
        flow_tx_want(core, tx);
    }
    flow_resend_blocked(core, tx);
    return 0;
}

unsigned flow_tx_header_rest(const flow_core_t *core, const flow_tx_t *tx,
                             void *buf)
{
    flow_psn_t ack;
    uint64_t map;

    if (tx->hdr & FLOW_WIRE_LIMIT) {
        ack = flow_ack_get(core, flow_core_rx(core, tx->carries), &map);
        flow_wire_store_ack(buf, ack, map);
        return FLOW_ACK_HDR;
    }
    flow_wire_store_names(buf, core->params.self.incarnation,
                          flow_core_peer(core, tx->peer)->incarnation, tx->ep);
    return FLOW_LONG_HDR;
}

void flow_tx_done_slow(flow_core_t *core, flow_tx_t *tx)
{
    if (flow_tx_wants_limit(tx)) {
        return;
    }
    if ((tx->wait & FLOW_WAIT_EMPTY) && (tx->busy == 0)) {
        tx->wait   &= (uint8_t)~FLOW_WAIT_EMPTY;
        tx->backoff = 0;
    }
    flow_tx_advance(core, tx);
    if (tx->wait & FLOW_WAIT_DRAIN) {
        flow_tx_try_release(core, tx);
    }
}

void flow_tx_limit(flow_core_t *core, flow_tx_t *tx, flow_psn_t limit)
{
    if ((flow_psn_diff(limit, tx->limit) <= 0) ||
        (flow_psn_diff(limit, flow_tx_psn(tx)) > FLOW_WINDOW_MAX)) {
        return; /* old, or beyond any window */
    }

    if (flow_is_ud(core)) {
        tx->ctl &= (uint8_t)~FLOW_CTL_TX_WANT; /* it may still be queued */
    }
    tx->limit   = limit;
    tx->flags  &= ~(unsigned)FLOW_TXF_ASKED;
    tx->backoff = 0;
    flow_trace(core, FLOW_TRACE_LIMIT, tx->ep, limit, flow_tx_psn(tx));
    flow_tx_advance(core, tx);
}

void flow_tx_recall(flow_core_t *core, flow_tx_t *tx, flow_psn_t limit)
{
    if (flow_psn_lt(flow_tx_psn(tx), limit) && flow_psn_lt(limit, tx->limit)) {
        tx->limit = limit;
        flow_trace(core, FLOW_TRACE_RECALL, tx->ep, limit, flow_tx_psn(tx));
        flow_tx_advance(core, tx);
    } else {
        flow_tx_limit(core, tx, limit);
    }
}

/*
 * The receiver has no buffers: it granted more than it has, to flows that
 * seldom send all at once. Our window is therefore as large as the number of
 * packets out until those have arrived.
 */
void flow_tx_rnr(flow_core_t *core, flow_op_t *op, flow_time_t now)
{
    flow_tx_t *tx = op->tx;

    if (!flow_holds(tx->busy & (1ull << (op->psn % FLOW_MAP_BITS)))) {
        return; /* it is done, and may be another message by now */
    }
    tx->wait |= FLOW_WAIT_RNR;
    tx->stop  = flow_tx_psn(tx);
    ++core->counters.rnr;
    flow_trace(core, FLOW_TRACE_RNR, tx->ep, op->psn, tx->backoff);
    flow_timer_op(core, op, flow_tx_backoff_level(core, tx), now);
    if (tx->linked == 0) {
        tx->backoff = flow_timer_level_next(tx->backoff) & 0xf;
    }
    ++tx->linked;
    op->linked = 1;
}

/*
 * Data that arrives while its hello is refused makes a stranger at the
 * receiver, for as long as the hello backs off; thousands of senders would
 * make more of them than it can know.
 */
void flow_tx_hello_ended(flow_core_t *core, flow_tx_t *tx, int refused)
{
    if (refused && flow_wire_is_long(tx->hdr) && !flow_is_ud(core)) {
        tx->wait |= FLOW_WAIT_HELLO;
        tx->stop  = flow_tx_psn(tx);
    } else if (tx->wait & FLOW_WAIT_HELLO) {
        tx->wait &= (uint8_t)~FLOW_WAIT_HELLO;
        flow_tx_advance(core, tx);
    }
}

void flow_tx_ping(flow_core_t *core, flow_tx_t *tx)
{
    if ((tx->busy == 0) && (tx->ctl_out == 0) &&
        !(tx->ctl & ~FLOW_CTL_TX_LISTS) && flow_tx_is_live(tx)) {
        flow_due_tx_ctl(core, tx, FLOW_CTL_TX_PING);
        if (flow_is_ud(core)) {
            tx->wait |= FLOW_WAIT_PONG;
        }
    }
}

void flow_tx_check(flow_core_t *core, flow_tx_t *tx)
{
    int past = core->params.tries - FLOW_CHECK_TRIES; /* as if they were */

    flow_tx_ping(core, tx);
    if ((tx->wait & FLOW_WAIT_PONG) && !flow_wire_is_long(tx->hdr) &&
        (tx->linked < past)) {
        tx->linked = (unsigned)past & FLOW_TRIES_MAX;
    }
}

int flow_tx_is_answered(const flow_tx_t *tx, flow_psn_t psn)
{
    return flow_tx_done_before(tx, psn) && (tx->ctl_out == 0) &&
           !(tx->ctl & ~FLOW_CTL_TX_LISTS) && !(tx->wait & FLOW_WAIT_PONG);
}

void flow_tx_pause(flow_tx_t *tx, unsigned reasons)
{
    tx->paused |= (uint8_t)reasons;
    tx->stop    = flow_tx_psn(tx);
}

void flow_tx_resume(flow_core_t *core, flow_tx_t *tx, unsigned reasons)
{
    tx->paused &= (uint8_t)~(reasons & ~FLOW_PAUSE_CLOSED);
    flow_tx_advance(core, tx);
}

void flow_tx_pass_one(flow_core_t *core, flow_tx_t *tx)
{
    flow_psn_t psn = flow_tx_psn(tx);

    if ((tx->paused == FLOW_PAUSE_PENDING) &&
        (!flow_is_ud(core) || flow_resend_prepare(core, tx)) &&
        (flow_tx_bound(core, tx) != psn)) {
        tx->stop = (flow_psn_t)(psn + 1);
    }
}

int flow_tx_is_fresh(const flow_core_t *core, const flow_tx_t *tx)
{
    flow_psn_t taken = flow_tx_psn(tx) - core->params.first_psn;

    return (tx->state == FLOW_TX_HELLO) && (flow_tx_outstanding(tx) == taken);
}

int flow_tx_is_stopped(const flow_tx_t *tx)
{
    return (tx->wait & FLOW_WAIT_STOP) != 0;
}

int flow_tx_rma_ready(flow_core_t *core, flow_tx_t *tx)
{
    if (flow_likely(flow_tx_rma_is_open(tx))) {
        return 1;
    }

    if (!(tx->flags & FLOW_TXF_RMA) && (tx->rma != FLOW_RMA_READY)) {
        tx->flags |= FLOW_TXF_RMA;
        if ((tx->flags & FLOW_TXF_HELLOED) && flow_tx_is_live(tx)) {
            flow_due_tx_ctl(core, tx, FLOW_CTL_TX_HELLO); /* it asks */
        }
    }
    return 0;
}

int flow_tx_rma_refused(const flow_tx_t *tx)
{
    return tx->rma == FLOW_RMA_REFUSED;
}
