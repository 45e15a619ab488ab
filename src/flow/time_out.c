/* SPDX-License-Identifier: BSD-3-Clause */
/* UD: the time-outs of a sending flow, of its operations and of its control
 * packets. */
#include "flow/alarm_priv.h"
#include "flow/ctl_priv.h"
#include "flow/path_priv.h"
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
    flow_pool_ring_release(core, index);
}

/* A peer that is lost was silent for so long, however short its time-outs are:
 * a host that computes answers now and then, and answers are lost, too. */
static uint32_t flow_time_out_least(const flow_core_t *core)
{
    return flow_path_stamp(core->params.rnr_max / 8 * core->params.tries);
}

/* Nothing arrives any more: ask by the oldest packet that is out. */
static void flow_time_out_probe(flow_core_t *core, flow_tx_t *tx,
                                flow_op_t *oldest)
{
    flow_path_t *path = flow_core_path(core, flow_tx_index(tx));
    uint32_t now      = flow_path_stamp(core->now);

    flow_trace(core, FLOW_TRACE_TIMEOUT, tx->ep, tx->una, path->tries);
    if (flow_path_is_dead(path, core->params.tries, flow_time_out_least(core),
                          now)) {
        flow_tx_fail(core, tx, FLOW_SEND_LOST);
        return;
    }

    flow_path_silent(path, now);
    path->sent     = now; /* posted still: no harm */
    oldest->flags |= FLOW_OPF_PROBE;
    core->counters.timeouts += (unsigned)flow_resend_push(core, oldest);
}

void flow_time_out_ring(flow_core_t *core, uint32_t index, flow_time_t now)
{
    const flow_unacked_t *unacked = &flow_core_ring(core, index)->unacked;
    flow_tx_t *tx                 = flow_core_tx(core, unacked->tx);
    flow_op_t *oldest;

    if ((unacked->tx == 0) || (tx->busy == 0)) {
        if (unacked->tx != 0) {
            flow_tx_window(core, tx);
        }
        if (unacked->place == 0) { /* it does not wait for a pause */
            flow_time_out_idle(core, index);
        }
        return;
    }

    flow_resend_run(core, tx);
    flow_tx_window(core, tx);
    oldest = flow_resend_oldest(core, tx);
    if ((oldest != NULL) && (flow_resend_silence(core, tx) == 0)) {
        flow_time_out_probe(core, tx, oldest);
    }
    flow_alarm_sooner(core, index,
                      now + ((oldest != NULL) ?
                                     flow_resend_silence(core, tx) :
                                     core->params.rnr_min));
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
 * open requests join that.
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
    tx->backoff = flow_timer_level_next(tx->backoff) & 0xf;
}
