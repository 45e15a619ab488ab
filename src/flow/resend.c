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
    ring->unacked.tx    = flow_tx_index(tx);
    ring->unacked.due   = flow_tx_psn(tx);
    ring->unacked.level = 0;
    ring->unacked.tries = 0;
    ring->unacked.gap   = FLOW_GAP_NONE;
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

int flow_resend_over(flow_core_t *core, flow_op_t *op)
{
    if (op->flags & FLOW_OPF_OVER) {
        flow_fifo_op_push(&core->release, op);
        return 1;
    }

    op->flags |= FLOW_OPF_POSTED;
    return 0;
}

int flow_resend_push(flow_core_t *core, flow_op_t *op)
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

    ring->unacked.gap_seen = base + (flow_psn_t)last;
    if (ring->unacked.gap == FLOW_GAP_NONE) {
        ring->unacked.gap       = FLOW_GAP_WAITS;
        ring->unacked.gap_until = ring->unacked.gap_seen;
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

    if (ring->unacked.gap == FLOW_GAP_LEFT) {
        ring->unacked.gap = FLOW_GAP_NONE;
        flow_pool_ring_release(core, index);
        return 0;
    }

    flow_resend_missing(core, ring, ring->unacked.gap_until);
    if (ring->unacked.gap_until != ring->unacked.gap_seen) {
        ring->unacked.gap_until = ring->unacked.gap_seen;
        return 1;
    }
    ring->unacked.gap = FLOW_GAP_NONE;
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
        ring->unacked.level = 0;
        ring->unacked.tries = 0;
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
        flow_core_ring(core, tx->ring)->unacked.tx = 0;
        tx->ring                           = 0;
    }
}
