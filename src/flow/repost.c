/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations that are posted again: after receiver-not-ready, and on UD until
 * they are acknowledged. */
#include "flow/assert.h"
#include "flow/ctl_priv.h"
#include "flow/fifo_priv.h"
#include "flow/resend_priv.h"
#include "flow/timer.h"
#include "flow/tx.h"
#include "flow/tx_life_priv.h"

/* SRD: its flow failed. */
static int flow_tx_repost_fails(const flow_tx_t *tx)
{
    return (tx->state == FLOW_TX_FAILED) || (tx->wait & FLOW_WAIT_RESET);
}

/* The level at which an operation looks again whether its flow's hello got
 * through: soon while one is out, else more often than that is sent. */
static unsigned flow_tx_repost_level(const flow_core_t *core,
                                     const flow_tx_t *tx)
{
    unsigned level = flow_tx_backoff_level(core, tx);

    return ((tx->ctl & FLOW_CTL_TX_HELLO) && (level > 0)) ? level - 1 : 0;
}

/* SRD: it waits on, as the hello of its flow was refused. Not for a peer that
 * does not answer any more: no hello goes to it, and the operation has to
 * end. */
static int flow_tx_repost_waits(flow_core_t *core, flow_op_t *op,
                                flow_time_t now)
{
    flow_tx_t *tx = op->tx;

    if (!(tx->wait & FLOW_WAIT_HELLO) || flow_tx_repost_fails(tx) ||
        (flow_tx_peer(core, tx)->state != FLOW_PEER_READY)) {
        return 0;
    }
    op->linked = 1;
    flow_timer_op(core, op, flow_tx_repost_level(core, tx), now);
    return 1;
}

flow_op_t *flow_tx_repost_next(flow_core_t *core, flow_time_t now, int *fail)
{
    flow_op_t *op;

    flow_timer_run(core, now);
    do {
        op = flow_fifo_op_pop(&core->repost);
        if (op == NULL) {
            return NULL;
        }
        op->linked = 0;
    } while (flow_is_ud(core) ? flow_resend_over(core, op) :
                                flow_tx_repost_waits(core, op, now));
    if (!flow_is_ud(core)) {
        --op->tx->linked;
    }
    *fail = flow_tx_repost_fails(op->tx);
    return op;
}

void flow_tx_repost_return(flow_core_t *core, flow_op_t *op)
{
    op->next          = core->repost.head;
    op->linked        = 1;
    core->repost.head = op;
    core->only_ticks  = 0;
    core->timer_next  = (core->now < core->timer_next) ? core->now :
                                                         core->timer_next;
    if (core->repost.tail == NULL) {
        core->repost.tail = op;
    }
    if (flow_is_ud(core)) {
        op->flags &= (uint8_t)~FLOW_OPF_POSTED;
    } else {
        ++op->tx->linked;
    }
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
