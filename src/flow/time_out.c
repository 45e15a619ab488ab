/* SPDX-License-Identifier: BSD-3-Clause */
/* UD: the time-outs of a sending flow, of its operations and of its control
 * packets. */
#include "flow/ctl_priv.h"
#include "flow/pool_priv.h"
#include "flow/resend_priv.h"
#include "flow/time_out_priv.h"
#include "flow/timer_priv.h"
#include "flow/trace_priv.h"
#include "flow/tx_priv.h"

/* Nothing is unacknowledged: the ring goes back; the next send gets another. */
static void flow_time_out_idle(flow_core_t *core, uint32_t index)
{
    flow_ring_t *ring = flow_core_ring(core, index);
    flow_tx_t *tx;

    if (ring->unacked.tx != 0) {
        tx       = flow_core_tx(core, ring->unacked.tx);
        tx->ring = 0;
        tx->stop = flow_tx_psn(tx);
    }
    if (ring->unacked.gap == FLOW_GAP_NONE) {
        flow_pool_ring_release(core, index);
    } else {
        ring->unacked.gap = FLOW_GAP_LEFT;
    }
}

void flow_time_out_ring(flow_core_t *core, uint32_t index, flow_time_t now)
{
    flow_ring_t *ring       = flow_core_ring(core, index);
    flow_unacked_t *unacked = &ring->unacked;
    flow_tx_t *tx           = flow_core_tx(core, unacked->tx);
    uint64_t overdue;
    flow_psn_t psn;

    if ((unacked->tx == 0) || (tx->busy == 0)) {
        flow_time_out_idle(core, index);
        return;
    }

    overdue = 0;
    for (psn = tx->una; flow_psn_lt(psn, unacked->due); ++psn) {
        overdue |= ring->mask & flow_psn_bit(psn);
    }
    if (overdue != 0) {
        flow_trace(core, FLOW_TRACE_TIMEOUT, tx->ep, tx->una, unacked->tries);
        if (unacked->tries >= core->params.tries) {
            flow_tx_fail(core, tx, FLOW_SEND_LOST);
            overdue = 0;
        } else {
            ++unacked->tries;
            unacked->level = (uint8_t)flow_timer_level_next(core,
                                                            unacked->level);
        }
    }
    for (; overdue != 0; overdue &= overdue - 1) {
        flow_op_t *op = ring->slot[__builtin_ctzll(overdue)];

        op->flags &= (uint8_t)~FLOW_OPF_FAST;
        core->counters.timeouts += (unsigned)flow_resend_push(core, op);
    }
    unacked->due = flow_tx_psn(tx);
    flow_timer_ring(core, index, unacked->level, now);
}

/* Control packets that were sent and not answered, as enum flow_ctl_due. */
static unsigned flow_time_out_is_open(const flow_tx_t *tx)
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
void flow_time_out_ctl(flow_core_t *core, flow_tx_t *tx, flow_time_t now)
{
    unsigned due = flow_time_out_is_open(tx);
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
