/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sending on UD: acknowledgements, sending again, time-outs.
 *
 * An operation is in at most one of: its post out, on the repost list, on the
 * release list; and its bit in busy is taken until it is released. While a post
 * of it is out it is not sent again (that would say nothing new), so a header
 * can be brought up to date before each resend, and no old limit or
 * acknowledgement is ever sent.
 *
 * The timer knows flows, not packets: a ring sits in the batch of its level,
 * and when that expires, what was sent before the last look and is still
 * unacknowledged is overdue. So a packet is sent again after one to three
 * delays, at a constant cost per expiry. All that is overdue goes at once:
 * after a loss of many, one at a time would take a time-out each.
 *
 * What later packets overtook is sent again sooner, once it is missing for one
 * to two gap_delay.
 */
#include "flow/assert.h"
#include "flow/ctl_priv.h"
#include "flow/fifo_priv.h"
#include "flow/pool_priv.h"
#include "flow/resend_priv.h"
#include "flow/timer_priv.h"
#include "flow/trace_priv.h"
#include "flow/tx_priv.h"

int flow_resend_prepare(flow_core_t *core, flow_tx_t *tx)
{
    flow_ring_t *ring;

    if (tx->ring != 0) {
        return 1;
    }
    tx->ring = flow_pool_ring_get(core);
    if (tx->ring == 0) {
        return 0;
    }

    ring        = flow_core_ring(core, tx->ring);
    ring->tx    = flow_tx_index(tx);
    ring->due   = flow_tx_psn(tx);
    ring->level = 0;
    ring->tries = 0;
    ring->gap   = FLOW_GAP_NONE;
    flow_timer_ring_later(core, tx->ring, 0);
    return 1;
}

void flow_resend_commit(flow_core_t *core, flow_tx_t *tx, flow_op_t *op)
{
    flow_ring_t *ring = flow_core_ring(core, tx->ring);

    flow_assert(tx->ring != 0);
    op->next   = NULL;
    op->tx     = tx;
    op->psn    = flow_tx_commit(tx);
    op->linked = 0;
    op->flags  = FLOW_OPF_POSTED;

    ring->mask                           |= flow_psn_bit(op->psn);
    ring->slot[op->psn % FLOW_WINDOW_MAX] = op;
    if (tx->flags & FLOW_TXF_CARRIES) { /* the header acknowledged */
        flow_core_rx(core, tx->carries)->ctl &=
                ~(unsigned)FLOW_CTL_RX_ACK;
    }
}

/* This operation is over; it is released when no post of it is out. */
static void flow_resend_finish(flow_core_t *core, flow_op_t *op,
                               unsigned failed)
{
    op->flags |= FLOW_OPF_OVER | (uint8_t)failed;
    if (!(op->flags & FLOW_OPF_POSTED) && !op->linked) {
        flow_fifo_op_push(&core->release, op);
    }
}

void flow_resend_sent(flow_core_t *core, flow_op_t *op, int failed)
{
    if (!flow_holds(op->flags & FLOW_OPF_POSTED)) {
        return;
    }

    op->flags &= (uint8_t)~FLOW_OPF_POSTED;
    if (op->flags & FLOW_OPF_OVER) {
        flow_fifo_op_push(&core->release, op);
    } else if (failed) {
        flow_tx_died(core, op->tx, FLOW_END_ERROR);
    }
}

flow_op_t *flow_resend_release_next(flow_core_t *core, int *fail)
{
    flow_op_t *op = flow_fifo_op_pop(&core->release);

    if (op != NULL) {
        *fail = (op->flags & FLOW_OPF_FAILED) != 0;
        flow_tx_done(core, op->tx, op->psn);
    }
    return op;
}

int flow_resend_over(flow_core_t *core, flow_op_t *op)
{
    if (op->flags & FLOW_OPF_OVER) {
        flow_fifo_op_push(&core->release, op);
        return 1;
    }

    op->flags |= FLOW_OPF_POSTED;
    return 0;
}

void flow_resend_header(const flow_core_t *core, const flow_op_t *op,
                        void *buf)
{
    const flow_tx_t *tx = op->tx;
    uint64_t word       = flow_wire_load64(buf);

    if (((word & FLOW_WIRE_ACK) == FLOW_WIRE_ACK) &&
        (tx->flags & FLOW_TXF_CARRIES)) {
        word = flow_wire_set_limit(word, flow_wire_limit(tx->hdr));
        flow_wire_store64(buf, word);
        flow_tx_header_rest(core, tx, buf);
    }
}

/* Send it again unless it is out or about to be. */
static int flow_resend_push(flow_core_t *core, flow_op_t *op)
{
    if ((op->flags & FLOW_OPF_POSTED) || op->linked) {
        return 0;
    }

    op->linked = 1;
    flow_fifo_op_push(&core->repost, op);
    return 1;
}

/*
 * got: bit i, number base + i was received. What is missing below enough of
 * them may be lost. Or it is late: later packets may overtake it as far as the
 * window goes, so how many did tells nothing, and time has to.
 */
static void flow_resend_gaps(flow_core_t *core, flow_ring_t *ring,
                             flow_psn_t base, uint64_t got)
{
    uint64_t missing = flow_psn_rotate_down(ring->mask,
                                            base % FLOW_WINDOW_MAX);
    unsigned last    = 0, later;

    for (later = 0; later < FLOW_FAST_GAP; ++later) {
        if (got == 0) {
            return;
        }
        last = 63u - (unsigned)__builtin_clzll(got);
        got &= ~(1ull << last);
    }
    if ((missing & ((1ull << last) - 1)) == 0) {
        return;
    }

    ring->gap_seen = base + (flow_psn_t)last;
    if (ring->gap == FLOW_GAP_NONE) {
        ring->gap       = FLOW_GAP_WAITS;
        ring->gap_until = ring->gap_seen;
        flow_timer_gap(core, ring->index);
    }
}

/* Sends again what is missing before a number, each once between two
 * time-outs. */
static void flow_resend_missing(flow_core_t *core, flow_ring_t *ring,
                                flow_psn_t until)
{
    uint64_t bits = ring->mask;
    flow_op_t *op;

    for (; bits != 0; bits &= bits - 1) {
        op = ring->slot[__builtin_ctzll(bits)];
        if (flow_psn_lt(op->psn, until) && !(op->flags & FLOW_OPF_FAST) &&
            flow_resend_push(core, op)) {
            op->flags |= FLOW_OPF_FAST;
            ++core->counters.fast_resends;
        }
    }
}

int flow_resend_gap_over(flow_core_t *core, uint32_t index)
{
    flow_ring_t *ring = flow_core_ring(core, index);

    if (ring->gap == FLOW_GAP_LEFT) {
        ring->gap = FLOW_GAP_NONE;
        flow_pool_ring_release(core, index);
        return 0;
    }

    flow_resend_missing(core, ring, ring->gap_until);
    if (ring->gap_until != ring->gap_seen) {
        ring->gap_until = ring->gap_seen;
        return 1;
    }
    ring->gap = FLOW_GAP_NONE;
    return 0;
}

void flow_resend_ack(flow_core_t *core, flow_tx_t *tx, flow_psn_t ack,
                     uint64_t map)
{
    flow_psn_t base = flow_tx_psn(tx) - FLOW_WINDOW_MAX;
    int below       = flow_psn_diff(ack, base);
    flow_ring_t *ring;
    uint64_t got, bits;

    if ((tx->ring == 0) || (below < 0) || (below > FLOW_WINDOW_MAX)) {
        return; /* nothing is out, or nothing that it can be about */
    }

    got = (below == FLOW_WINDOW_MAX) ? ~0ull : (1ull << below) - 1;
    if (below < FLOW_WINDOW_MAX - 1) {
        got |= map << (below + 1);
    }
    ring        = flow_core_ring(core, tx->ring);
    bits        = ring->mask &
                  flow_psn_rotate_up(got, base % FLOW_WINDOW_MAX);
    ring->mask &= ~bits;
    if (bits != 0) {
        ring->level = 0;
        ring->tries = 0;
    }
    for (; bits != 0; bits &= bits - 1) {
        flow_resend_finish(core, ring->slot[__builtin_ctzll(bits)], 0);
    }
    if (map != 0) {
        flow_resend_gaps(core, ring, base, got);
    }
}

void flow_resend_heard(flow_tx_t *tx)
{
    if (!(tx->wait & FLOW_WAIT_PART)) { /* that counts till it is confirmed */
        tx->linked = 0;
    }
    tx->wait &= (uint8_t)~FLOW_WAIT_PONG;
    tx->ctl  &= ~(unsigned)FLOW_CTL_TX_PING;
}

void flow_resend_fail(flow_core_t *core, flow_tx_t *tx)
{
    flow_ring_t *ring;
    uint64_t bits;

    if (tx->ring == 0) {
        return;
    }

    ring       = flow_core_ring(core, tx->ring);
    bits       = ring->mask;
    ring->mask = 0;
    for (; bits != 0; bits &= bits - 1) {
        flow_resend_finish(core, ring->slot[__builtin_ctzll(bits)],
                           FLOW_OPF_FAILED);
    }
}

void flow_resend_detach(flow_core_t *core, flow_tx_t *tx)
{
    if (tx->ring != 0) {
        flow_core_ring(core, tx->ring)->tx = 0;
        tx->ring                           = 0;
    }
}

/* Nothing is unacknowledged: the ring goes back; the next send gets another. */
static void flow_resend_idle(flow_core_t *core, uint32_t index)
{
    flow_ring_t *ring = flow_core_ring(core, index);
    flow_tx_t *tx;

    if (ring->tx != 0) {
        tx       = flow_core_tx(core, ring->tx);
        tx->ring = 0;
        tx->stop = flow_tx_psn(tx);
    }
    if (ring->gap == FLOW_GAP_NONE) {
        flow_pool_ring_release(core, index);
    } else {
        ring->gap = FLOW_GAP_LEFT;
    }
}

void flow_resend_expired(flow_core_t *core, uint32_t index, flow_time_t now)
{
    flow_ring_t *ring = flow_core_ring(core, index);
    flow_tx_t *tx     = flow_core_tx(core, ring->tx);
    uint64_t overdue;
    flow_psn_t psn;

    if ((ring->tx == 0) || (tx->busy == 0)) {
        flow_resend_idle(core, index);
        return;
    }

    overdue = 0;
    for (psn = tx->una; flow_psn_lt(psn, ring->due); ++psn) {
        overdue |= ring->mask & flow_psn_bit(psn);
    }
    if (overdue != 0) {
        flow_trace(core, FLOW_TRACE_TIMEOUT, tx->ep, tx->una, ring->tries);
        if (ring->tries >= core->params.tries) {
            flow_tx_fail(core, tx, FLOW_SEND_LOST);
            overdue = 0;
        } else {
            ++ring->tries;
            ring->level = (uint8_t)flow_timer_level_next(core, ring->level);
        }
    }
    for (; overdue != 0; overdue &= overdue - 1) {
        flow_op_t *op = ring->slot[__builtin_ctzll(overdue)];

        op->flags &= (uint8_t)~FLOW_OPF_FAST;
        core->counters.timeouts += (unsigned)flow_resend_push(core, op);
    }
    ring->due = flow_tx_psn(tx);
    flow_timer_ring(core, index, ring->level, now);
}

/* Control packets that were sent and not answered, as enum flow_ctl_due. */
static unsigned flow_resend_ctl_open(const flow_tx_t *tx)
{
    unsigned due = 0;

    if ((tx->flags & FLOW_TXF_LAST) || (tx->state == FLOW_TX_FAILED)) {
        return 0;
    }

    if (tx->wait & FLOW_WAIT_PART) {
        return (tx->wait & FLOW_WAIT_RESET) ? FLOW_CTL_TX_RESET :
                                              FLOW_CTL_TX_GOODBYE;
    }
    if (flow_wire_is_long(tx->hdr) && !(tx->wait & FLOW_WAIT_RESET)) {
        due |= FLOW_CTL_TX_HELLO;
    }
    if ((tx->wait & FLOW_WAIT_STOP) && (tx->flags & FLOW_TXF_ASKED)) {
        due |= FLOW_CTL_TX_WANT;
    }
    if (tx->wait & FLOW_WAIT_PONG) {
        due |= FLOW_CTL_TX_PING;
    }
    return due;
}

/*
 * One repeat of all of them for each time-out. While control packets of the
 * flow are queued, their completion comes here again; while it is in back-off,
 * what is open joins that.
 */
void flow_resend_ctl(flow_core_t *core, flow_tx_t *tx, flow_time_t now)
{
    unsigned due = flow_resend_ctl_open(tx);
    int last     = due & (FLOW_CTL_TX_GOODBYE | FLOW_CTL_TX_RESET);

    if ((due == 0) ||
        ((tx->ctl & FLOW_CTL_TX_LISTS) == FLOW_CTL_QUEUED)) {
        return;
    }
    if (tx->ctl & FLOW_CTL_TX_TIMED) {
        tx->ctl |= due;
        return;
    }
    if (tx->linked >= (last ? FLOW_GOODBYE_TRIES : core->params.tries)) {
        if (last) {
            tx->flags |= FLOW_TXF_LAST; /* the peer does not depend on it */
        } else {
            flow_tx_fail(core, tx, FLOW_SEND_LOST);
        }
        return;
    }

    ++tx->linked;
    tx->ctl |= due;
    flow_timer_tx(core, flow_tx_index(tx), tx->backoff, now);
    tx->backoff = flow_timer_level_next(core, tx->backoff) & 0xf;
}
