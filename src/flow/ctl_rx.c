/* SPDX-License-Identifier: BSD-3-Clause */
/* Control packets received: one function for each type. */
#include "flow/assert.h"
#include "flow/ctl_priv.h"
#include "flow/ctl_rx_priv.h"
#include "flow/ctl_wire.h"
#include "flow/drop_priv.h"
#include "flow/due_priv.h"
#include "flow/end_priv.h"
#include "flow/grant_priv.h"
#include "flow/pair_priv.h"
#include "flow/path_priv.h"
#include "flow/peer_priv.h"
#include "flow/pool_priv.h"
#include "flow/resend_priv.h"
#include "flow/rx_life_priv.h"
#include "flow/rx_priv.h"
#include "flow/rx_record_priv.h"
#include "flow/stranger_priv.h"
#include "flow/trace_priv.h"
#include "flow/tx_life_priv.h"
#include "flow/tx_priv.h"

/* May this hello come from whom it says? */
static flow_drop_t flow_ctl_hello_check(flow_core_t *core,
                                        const flow_peer_t *peer,
                                        const flow_ctl_msg_t *msg,
                                        flow_src_t src)
{
    if (flow_src_qpn(src) != (uint16_t)msg->addr.qpn) {
        return FLOW_DROP_SENDER;
    }
    if ((peer != NULL) && (peer->state != FLOW_PEER_DEAD) &&
        !flow_peer_sent(peer, src)) {
        return FLOW_DROP_SENDER;
    }
    if ((peer == NULL) || !peer->addressed) {
        return !flow_peer_addr_sent(core, &msg->addr, src) ? FLOW_DROP_SENDER :
               !flow_peer_fits(core, &msg->addr)           ? FLOW_DROP_FULL :
                                                             FLOW_DROP_NONE;
    }
    return flow_peer_same_addr(core, peer, &msg->addr) ? FLOW_DROP_NONE :
                                                         FLOW_DROP_SENDER;
}

static flow_rx_verdict_t flow_ctl_hello(flow_core_t *core,
                                        const flow_ctl_msg_t *msg,
                                        flow_src_t src, flow_rx_out_t *out)
{
    flow_peer_t *peer  = flow_peer_find(core, msg->src);
    flow_drop_t reason = flow_ctl_hello_check(core, peer, msg, src);
    flow_rx_verdict_t verdict;
    flow_rx_t *rx;
    int full;

    if (reason != FLOW_DROP_NONE) {
        return flow_drop_packet(core, reason, out);
    }

    rx = (peer != NULL) ? flow_rx_find(core, peer, msg->ep) : NULL;
    if (rx == NULL) { /* for a dead peer, too: it is refused below */
        verdict = flow_rx_room(core, peer == NULL, out);
        if (verdict != FLOW_RX_CONTROL) {
            return verdict;
        }
        full = flow_pool_is_full(core, peer == NULL);
        if (peer == NULL) {
            peer = flow_peer_create(core, msg->src, src);
        }
        rx = flow_rx_create(core, peer, msg->ep);
        if (full || flow_stranger_expired(core, msg->src, msg->ep)) {
            rx->flags |= FLOW_RXF_OVERRUN; /* a reset says so */
        }
    } else if (rx->state >= FLOW_RX_FAILED) {
        return flow_drop_packet(core, (peer->state == FLOW_PEER_DEAD) ?
                                          FLOW_DROP_DEAD : FLOW_DROP_CLOSED,
                                out);
    }

    flow_peer_introduce(core, peer, &msg->addr);
    flow_peer_heard(core, peer);
    if (peer->state == FLOW_PEER_DEAD) {
        /* If it lives after all, a reset says that its messages are lost. */
        flow_rx_fail(core, rx);
        return flow_drop_packet(core, FLOW_DROP_DEAD, out);
    }
    if (rx->state == FLOW_RX_STRANGER) {
        flow_rx_introduce(core, rx, src, msg->window);
    }
    if (rx->state == FLOW_RX_ACTIVE) {
        flow_due_rx_ctl(core, rx, FLOW_CTL_RX_ANSWER);
        out->token = flow_rx_token(rx);
        out->more  = (rx->ring != 0) && !core->hold_all;
    }
    if ((msg->flags & FLOW_HELLO_RMA) && (peer->rma != FLOW_RMA_READY)) {
        flow_due_peer_event(core, peer, FLOW_DUE_PEER_RMA);
    }
    return FLOW_RX_CONTROL;
}

static void flow_ctl_take_limit(flow_core_t *core, flow_tx_t *tx,
                                const flow_ctl_msg_t *msg)
{
    if (msg->flags & FLOW_LIMIT_RECALL) {
        flow_tx_recall(core, tx, msg->limit);
    } else {
        flow_tx_limit(core, tx, msg->limit);
    }
}

static flow_drop_t flow_ctl_answer(flow_core_t *core, flow_tx_t *tx,
                                   const flow_ctl_msg_t *msg)
{
    if (flow_wire_is_long(tx->hdr)) {
        tx->hdr = flow_wire_set_token(tx->hdr & ~(uint64_t)FLOW_WIRE_LONG,
                                      msg->token);
        if (flow_is_ud(core)) {
            tx->ctl &= ~(unsigned)FLOW_CTL_TX_HELLO; /* if still queued */
            flow_resend_answered(core, tx);
        }
    } else if (flow_wire_token(tx->hdr) != msg->token) {
        return FLOW_DROP_FIELD;
    }

    flow_tx_hello_ended(core, tx, 0);
    if (tx->state == FLOW_TX_HELLO) {
        tx->state = FLOW_TX_OPEN;
        flow_due_tx_event(core, tx, FLOW_DUE_TX_OPEN);
    }
    /* The first of several answers may come last. RMA that was not ready may
     * become ready or be refused; a refusal may become ready. */
    if ((tx->state == FLOW_TX_OPEN) && (tx->rma != msg->rma) &&
        (tx->rma != FLOW_RMA_READY) && (msg->rma != FLOW_RMA_NOT_YET)) {
        tx->rma = msg->rma;
        flow_due_tx_event(core, tx, FLOW_DUE_TX_RMA);
    }
    if (tx->state == FLOW_TX_OPEN) {
        flow_pair_answer(core, tx, msg->pair);
    }
    flow_ctl_take_limit(core, tx, msg);
    flow_tx_try_release(core, tx); /* UD: a closed one waited for it */
    return FLOW_DROP_NONE;
}

/* UD: the receiver has our goodbye or reset. */
static flow_drop_t flow_ctl_parted(flow_core_t *core, flow_tx_t *tx)
{
    if (!(tx->wait & FLOW_WAIT_PART)) {
        return FLOW_DROP_STALE;
    }

    flow_assert(tx->busy == 0); /* else the last word had not gone out */
    tx->flags |= FLOW_TXF_LAST;
    tx->ctl   &= FLOW_CTL_TX_LISTS;
    flow_tx_try_release(core, tx);
    return FLOW_DROP_NONE;
}

static flow_drop_t flow_ctl_to_tx(flow_core_t *core, flow_peer_t *peer,
                                  const flow_ctl_msg_t *msg)
{
    flow_tx_t *tx = flow_tx_find(core, peer, msg->ep);

    if ((tx == NULL) || (tx->state == FLOW_TX_FAILED)) {
        return FLOW_DROP_STALE;
    }

    if (flow_is_ud(core)) {
        flow_resend_heard(tx);
    }
    if (peer->rival && (msg->type == FLOW_CTL_ANSWER)) {
        flow_peer_proved(core, peer, 0);
    }
    switch (msg->type) {
    case FLOW_CTL_ACK:
        flow_resend_told(core, tx, msg->clock, msg->heard, msg->ack);
        flow_resend_ack(core, tx, msg->ack, msg->acked);
        flow_tx_window(core, tx);
        flow_ctl_take_limit(core, tx, msg);
        return FLOW_DROP_NONE;
    case FLOW_CTL_PARTED:
        return flow_ctl_parted(core, tx);
    case FLOW_CTL_ANSWER:
        return flow_ctl_answer(core, tx, msg);
    case FLOW_CTL_LIMIT:
        flow_ctl_take_limit(core, tx, msg);
        return FLOW_DROP_NONE;
    case FLOW_CTL_WHO:
        if (tx->state != FLOW_TX_HELLO) {
            return FLOW_DROP_STALE; /* answered meanwhile, or closed: a hello
                                       must not come behind the goodbye */
        }
        flow_due_tx_ctl(core, tx, FLOW_CTL_TX_HELLO);
        return FLOW_DROP_NONE;
    default: /* reset by the receiver */
        flow_tx_died(core, tx, FLOW_END_RESET);
        return FLOW_DROP_NONE;
    }
}

static flow_drop_t flow_ctl_to_rx(flow_core_t *core, flow_peer_t *peer,
                                  const flow_ctl_msg_t *msg)
{
    flow_rx_t *rx = flow_rx_find(core, peer, msg->ep);
    flow_tx_t *tx;

    if ((rx == NULL) || (rx->state == FLOW_RX_CLOSED)) {
        return FLOW_DROP_STALE;
    }
    if (flow_is_ud(core)) { /* the sender waits for any answer */
        flow_due_rx_ctl(core, rx, (rx->state == FLOW_RX_ACTIVE) ?
                                          FLOW_CTL_RX_ACK : 0);
    }
    if (msg->type == FLOW_CTL_RESET) {
        tx = flow_core_tx(core, rx->pair);
        if ((msg->flags == FLOW_RESET_LOST) && (rx->pair != 0) &&
            flow_tx_is_live(tx)) {
            flow_tx_died(core, tx, FLOW_END_PAIR);
        }
        if (!flow_rx_end_later(core, rx)) {
            flow_rx_end(core, rx);
        }
    } else if (msg->type == FLOW_CTL_PING) {
        return FLOW_DROP_NONE;
    } else if (rx->state == FLOW_RX_ACTIVE) {
        flow_grant_limit_asked(core, rx, msg->limit);
    } else {
        return FLOW_DROP_STALE;
    }
    return FLOW_DROP_NONE;
}

/* Is it about a flow from its sender to us? */
static int flow_ctl_is_to_rx(const flow_ctl_msg_t *msg)
{
    return (msg->type == FLOW_CTL_WANT) || (msg->type == FLOW_CTL_PING) ||
           ((msg->type == FLOW_CTL_RESET) &&
            (msg->flags != FLOW_RESET_BY_RX));
}

/* A limit of an open flow, the most frequent of them. 1: it is taken, as the
 * general way would. 0: it is no such packet, and nothing was done. */
static int flow_ctl_limit_plain(flow_core_t *core, const uint8_t *pkt,
                                size_t len, flow_src_t src)
{
    flow_ctl_msg_t msg;
    flow_peer_t *peer;
    uint32_t index;
    flow_tx_t *tx;

    if ((len != FLOW_CTL_LIMIT_LEN) || flow_is_ud(core) ||
        (flow_wire_first(pkt) != (FLOW_CTL_LIMIT | FLOW_WIRE_CTL))) {
        return 0;
    }
    flow_ctl_decode_limit(pkt, &msg);
    index = msg.ep & (FLOW_INDEX_MAX - 1);
    if ((msg.flags != 0) || (msg.dst != core->params.self.incarnation) ||
        (index >= core->tx_count)) {
        return 0;
    }
    tx = flow_core_tx(core, index);
    if ((tx->state != FLOW_TX_OPEN) || (tx->ep != msg.ep)) {
        return 0;
    }
    peer = flow_core_peer(core, tx->peer);
    if ((peer->incarnation != msg.src) || (peer->state != FLOW_PEER_READY) ||
        !flow_peer_sent(peer, src)) {
        return 0;
    }

    flow_trace(core, FLOW_TRACE_CTL_RX, msg.ep, msg.limit, msg.type);
    flow_peer_heard(core, peer);
    flow_tx_limit(core, tx, msg.limit);
    return 1;
}

flow_rx_verdict_t flow_ctl_rx_accept(flow_core_t *core, const uint8_t *pkt,
                                     size_t len, flow_src_t src,
                                     flow_rx_out_t *out)
{
    flow_ctl_msg_t msg;
    flow_drop_t reason;
    flow_peer_t *peer;

    if (flow_ctl_limit_plain(core, pkt, len, src)) {
        return FLOW_RX_CONTROL;
    }
    reason = flow_ctl_decode(pkt, len, &msg);
    if (reason != FLOW_DROP_NONE) {
        return flow_drop_packet(core, reason, out);
    }
    if ((msg.type >= FLOW_CTL_ACK) && !flow_is_ud(core)) {
        return flow_drop_packet(core, FLOW_DROP_TYPE, out);
    }
    if (msg.dst != core->params.self.incarnation) {
        return flow_drop_packet(core, FLOW_DROP_NOT_FOR_US, out);
    }

    flow_trace(core, FLOW_TRACE_CTL_RX, msg.ep, msg.limit, msg.type);
    if (msg.type == FLOW_CTL_HELLO) {
        return flow_ctl_hello(core, &msg, src, out);
    }

    peer = flow_peer_find(core, msg.src);
    if ((peer == NULL) || (peer->state == FLOW_PEER_UNKNOWN)) {
        reason = FLOW_DROP_STALE;
    } else if (peer->state == FLOW_PEER_DEAD) {
        reason = FLOW_DROP_DEAD;
    } else if (!flow_peer_sent(peer, src)) {
        reason = FLOW_DROP_SENDER;
    } else {
        flow_peer_heard(core, peer);
        reason = flow_ctl_is_to_rx(&msg) ? flow_ctl_to_rx(core, peer, &msg) :
                                           flow_ctl_to_tx(core, peer, &msg);
    }
    return (reason == FLOW_DROP_NONE) ? FLOW_RX_CONTROL :
                                        flow_drop_packet(core, reason, out);
}
