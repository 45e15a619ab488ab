/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Control packets to be sent. Only the kinds that are due are stored: the
 * packet is built when it is pulled, from the state of that moment, so a late
 * or repeated one always says the newest.
 */
#include "flow/ack_priv.h"
#include "flow/assert.h"
#include "flow/ctl.h"
#include "flow/ctl_priv.h"
#include "flow/ctl_wire.h"
#include "flow/due_priv.h"
#include "flow/end_priv.h"
#include "flow/grant_priv.h"
#include "flow/peer_priv.h"
#include "flow/path_priv.h"
#include "flow/rx_life_priv.h"
#include "flow/rx_priv.h"
#include "flow/rx_record_priv.h"
#include "flow/stranger_priv.h"
#include "flow/time_out_priv.h"
#include "flow/timer_priv.h"
#include "flow/trace_priv.h"
#include "flow/turn_priv.h"
#include "flow/tx_life_priv.h"
#include "flow/tx_priv.h"

/*
 * Cookie of a control packet: what it was and for whom, and enough of the
 * identity to notice that the flow has gone meanwhile.
 *   bit 63 receiving flow | 56..62 due bit | 32..48 peer | 0..31 token, or
 *   the sending flow's endpoint number
 */
#define FLOW_COOKIE_RX (1ull << 63)

static uint64_t flow_ctl_cookie_tx(const flow_tx_t *tx, unsigned due)
{
    return ((uint64_t)due << 56) | ((uint64_t)tx->peer << 32) | tx->ep;
}

static uint64_t flow_ctl_cookie_rx(const flow_rx_t *rx, unsigned due)
{
    return FLOW_COOKIE_RX | ((uint64_t)due << 56) |
           ((uint64_t)rx->peer << 32) | flow_rx_token(rx);
}

static void flow_ctl_base(const flow_core_t *core, const flow_peer_t *peer,
                          unsigned type, uint32_t ep, flow_ctl_msg_t *msg)
{
    memset(msg, 0, sizeof(*msg));
    msg->type = (uint8_t)type;
    msg->ep   = ep;
    msg->src  = core->params.self.incarnation;
    msg->dst  = peer->incarnation;
}

static void flow_ctl_build_goodbye(flow_core_t *core, const flow_tx_t *tx,
                                   flow_ctl_t *ctl)
{
    uint64_t word = flow_wire_set_limit(tx->hdr, 0);

    ctl->len = FLOW_SHORT_HDR;
    if (flow_wire_is_long(word)) {
        ctl->len = (uint16_t)flow_tx_header_rest(core, tx, ctl->data);
    } else {
        word &= ~(uint64_t)FLOW_WIRE_ACK;
    }
    flow_wire_store64(ctl->data, word | FLOW_WIRE_CTL | FLOW_CTL_GOODBYE);
}

static void flow_ctl_build_tx(flow_core_t *core, flow_tx_t *tx, unsigned due,
                              flow_ctl_t *ctl)
{
    flow_ctl_msg_t msg;

    if (flow_is_ud(core) && !(tx->wait & FLOW_WAIT_PART) &&
        (due & (FLOW_CTL_TX_GOODBYE | FLOW_CTL_TX_RESET))) {
        tx->wait |= FLOW_WAIT_PART;
        tx->linked = 1; /* from now on it counts these */
    }
    switch (due) {
    case FLOW_CTL_TX_HELLO:
        flow_ctl_base(core, ctl->peer, FLOW_CTL_HELLO, tx->ep, &msg);
        msg.version = FLOW_VERSION;
        msg.flags   = (tx->flags & FLOW_TXF_RMA) ? FLOW_HELLO_RMA : 0;
        msg.addr    = core->params.self;
        msg.window  = (uint8_t)core->params.init_window;
        if (flow_is_ud(core)) { /* 0: which of several is answered? */
            flow_core_path(core, flow_tx_index(tx))->hello =
                    (tx->flags & FLOW_TXF_HELLOED) ?
                            0 : flow_path_stamp(core->now);
        }
        tx->flags  |= FLOW_TXF_HELLOED;
        break;
    case FLOW_CTL_TX_WANT:
        flow_ctl_base(core, ctl->peer, FLOW_CTL_WANT, tx->ep, &msg);
        msg.limit = tx->limit;
        break;
    case FLOW_CTL_TX_PING:
        flow_ctl_base(core, ctl->peer, FLOW_CTL_PING, tx->ep, &msg);
        break;
    case FLOW_CTL_TX_RESET:
        flow_ctl_base(core, ctl->peer, FLOW_CTL_RESET, tx->ep, &msg);
        msg.flags = ((tx->why == FLOW_END_PAIR) ||
                     (tx->why == FLOW_END_GIVEN_UP)) ? FLOW_RESET_BY_TX :
                                                       FLOW_RESET_LOST;
        break;
    default:
        flow_ctl_build_goodbye(core, tx, ctl);
        return;
    }
    ctl->len = (uint16_t)flow_ctl_encode(&msg, ctl->data);
}

static void flow_ctl_fill_limit(flow_rx_t *rx, flow_ctl_msg_t *msg)
{
    msg->limit = flow_rx_use(rx);
    msg->flags = ((rx->flags & FLOW_RXF_RECALLED) && !rx->used &&
                  !(rx->flags & FLOW_RXF_ACTIVE)) ? FLOW_LIMIT_RECALL : 0;
    flow_rx_advertised_set(rx, msg->limit);
}

/* On UD one packet has limit and acknowledgement, whichever is due. */
static void flow_ctl_build_ack(flow_core_t *core, flow_rx_t *rx,
                               flow_ctl_t *ctl)
{
    flow_ctl_msg_t msg;

    if ((rx->state == FLOW_RX_ACTIVE) && (rx->flags & FLOW_RXF_ACTIVE) &&
        rx->used) {
        flow_grant_flow_used(core, rx); /* it says what may be sent by now */
    }
    flow_ctl_base(core, ctl->peer, FLOW_CTL_ACK, rx->ep, &msg);
    flow_ctl_fill_limit(rx, &msg);
    msg.ack   = flow_ack_get(core, rx, &msg.acked);
    msg.clock = flow_path_stamp(core->now) | 1; /* never 0 */
    msg.heard = (uint16_t)(core->counters.delivered +
                           core->told / FLOW_PATH_OTHER_WAY);
    rx->ctl  &= ~(unsigned)(FLOW_CTL_RX_LIMIT | FLOW_CTL_RX_ACK);
    ctl->len = (uint16_t)flow_ctl_encode(&msg, ctl->data);
    ++core->counters.acks_alone;
}

static inline void flow_ctl_build_limit(flow_core_t *core, flow_rx_t *rx,
                                        flow_ctl_t *ctl)
{
    flow_ctl_msg_t msg;

    msg.ep  = rx->ep;
    msg.src = core->params.self.incarnation;
    msg.dst = ctl->peer->incarnation;
    flow_ctl_fill_limit(rx, &msg);
    flow_ctl_encode_limit(&msg, ctl->data);
    ctl->len = FLOW_CTL_LIMIT_LEN;
    ++core->counters.limits_alone;
}

static void flow_ctl_build_rx(flow_core_t *core, flow_rx_t *rx, unsigned due,
                              flow_ctl_t *ctl)
{
    flow_ctl_msg_t msg;

    switch (due) {
    case FLOW_CTL_RX_LIMIT:
        if (!flow_is_ud(core)) {
            flow_ctl_build_limit(core, rx, ctl);
            return;
        }
        /* fall through */
    case FLOW_CTL_RX_ACK:
        flow_ctl_build_ack(core, rx, ctl);
        return;
    case FLOW_CTL_RX_ANSWER:
        flow_ctl_base(core, ctl->peer, FLOW_CTL_ANSWER, rx->ep, &msg);
        msg.token = flow_rx_token(rx);
        msg.pair  = (rx->pair != 0) ? flow_core_tx(core, rx->pair)->ep : 0;
        msg.rma   = ctl->peer->rma;
        flow_ctl_fill_limit(rx, &msg);
        rx->ctl &= ~(unsigned)FLOW_CTL_RX_LIMIT; /* it has that, too */
        break;
    case FLOW_CTL_RX_WHO:
        flow_ctl_base(core, ctl->peer, FLOW_CTL_WHO, rx->ep, &msg);
        break;
    case FLOW_CTL_RX_PARTED:
        flow_ctl_base(core, ctl->peer, FLOW_CTL_PARTED, rx->ep, &msg);
        break;
    default:
        flow_ctl_base(core, ctl->peer, FLOW_CTL_RESET, rx->ep, &msg);
        msg.flags = FLOW_RESET_BY_RX;
        break;
    }
    ctl->len = (uint16_t)flow_ctl_encode(&msg, ctl->data);
}

/* SRD: a closed flow goes without its last word, as the peer does not answer
 * and too many wait for such ones. */
static int flow_ctl_gives_up(const flow_core_t *core, const flow_tx_t *tx)
{
    uint32_t most = core->params.max_linger / 2;

    most  = (most < FLOW_LINGER_LOST) ? most : FLOW_LINGER_LOST;
    most += core->event_tx.count; /* at least those that are about to go */
    return (tx->state == FLOW_TX_LINGER) && (core->counters.lingering > most);
}

static void flow_ctl_give_up(flow_core_t *core, flow_tx_t *tx)
{
    tx->flags |= FLOW_TXF_LAST;
    tx->ctl   &= FLOW_CTL_TX_LISTS;
    flow_tx_hello_ended(core, tx, 0); /* none comes any more */
}

/* The lowest due bit first: hello before goodbye, answer before limit. */
static int flow_ctl_pull_tx(flow_core_t *core, uint32_t index,
                            flow_time_t now, flow_ctl_t *ctl)
{
    flow_tx_t *tx = flow_core_tx(core, index);
    unsigned todo = tx->ctl & ~(unsigned)FLOW_CTL_QUEUED;
    unsigned due  = todo & (0u - todo);

    if ((due != 0) && flow_peer_is_suspended(ctl->peer) &&
        flow_ctl_gives_up(core, tx)) {
        flow_ctl_give_up(core, tx);
        todo = due = 0;
    }
    if ((due != 0) && ((ctl->peer->state != FLOW_PEER_READY) ||
                       !flow_turn_may_go(core, ctl->peer, 0))) {
        flow_turn_park(core, ctl->peer, index);
        return 0;
    }

    tx->ctl = todo & ~due;
    if (due == 0) {
        flow_turn_wake(core, ctl->peer);
        if (flow_is_ud(core)) {
            flow_time_out_ctl(core, tx, now); /* it was answered meanwhile */
        }
        flow_tx_try_release(core, tx);
        return 0;
    }
    if (tx->ctl != 0) {
        flow_due_tx_ctl(core, tx, 0);
    }
    ++tx->ctl_out;
    ctl->cookie = flow_ctl_cookie_tx(tx, due);
    flow_ctl_build_tx(core, tx, due, ctl);
    flow_trace(core, FLOW_TRACE_CTL_TX, tx->ep, flow_tx_psn(tx), due);
    return 1;
}

static int flow_ctl_pull_rx(flow_core_t *core, uint32_t index, flow_ctl_t *ctl)
{
    flow_rx_t *rx = flow_core_rx(core, index);
    unsigned todo = rx->ctl & ~(unsigned)FLOW_CTL_QUEUED;
    unsigned due  = todo & (0u - todo);

    if ((due != 0) && (!flow_peer_reachable(ctl->peer) ||
                       !flow_turn_may_go(core, ctl->peer, 1))) {
        flow_turn_park(core, ctl->peer, index | FLOW_TURN_RX);
        return 0;
    }

    rx->ctl = todo & ~due;
    if (due == 0) {
        flow_turn_wake(core, ctl->peer);
        flow_rx_try_release(core, rx);
        return 0;
    }
    ctl->cookie = flow_ctl_cookie_rx(rx, due);
    flow_ctl_build_rx(core, rx, due, ctl);
    if (rx->ctl != 0) {
        flow_due_rx_ctl(core, rx, 0);
    }
    flow_trace(core, FLOW_TRACE_CTL_TX, rx->ep, rx->limit, due << 8);
    return 1;
}

/* A limit on SRD, the most frequent of them. */
static void
flow_ctl_next_limit(flow_core_t *core, flow_rx_t *rx, flow_ctl_t *ctl)
{
    ctl->peer   = flow_core_peer(core, rx->peer);
    ctl->cookie = flow_ctl_cookie_rx(rx, FLOW_CTL_RX_LIMIT);
    flow_ctl_build_limit(core, rx, ctl);
    flow_trace(core, FLOW_TRACE_CTL_TX, rx->ep, rx->limit,
               FLOW_CTL_RX_LIMIT << 8);
    ++core->counters.ctl_sent;
}

/* Any other. */
static __attribute__((noinline)) int
flow_ctl_next_other(flow_core_t *core, flow_time_t now, flow_ctl_t *ctl)
{
    int found = 0;
    uint32_t ref;

    while (!found && ((ref = flow_turn_next(core)) != 0)) {
        ctl->peer = flow_turn_peer(core, ref);
        found     = (ref & FLOW_TURN_RX) ?
                        flow_ctl_pull_rx(core, ref & (FLOW_INDEX_MAX - 1),
                                         ctl) :
                        flow_ctl_pull_tx(core, ref, now, ctl);
    }
    if (found) {
        ++core->counters.ctl_sent;
        flow_turn_take(core, ctl->peer, (ref & FLOW_TURN_RX) != 0);
    }
    return found;
}

int flow_ctl_next(flow_core_t *core, flow_time_t now, flow_ctl_t *ctl)
{
    flow_rx_t *rx;

    flow_timer_run_due(core, now);
    rx = flow_is_ud(core) ? NULL : flow_turn_take_limit(core);
    if (rx == NULL) {
        return flow_ctl_next_other(core, now, ctl);
    }
    flow_ctl_next_limit(core, rx, ctl);
    return 1;
}

static flow_peer_t *flow_ctl_cookie_get_peer(flow_core_t *core,
                                             uint64_t cookie)
{
    return flow_core_peer(core, (cookie >> 32) & (FLOW_INDEX_MAX - 1));
}

/* The sending flow of a cookie: it stays while one of its control packets is
 * out, so NULL only with a failed assertion. */
static flow_tx_t *flow_ctl_cookie_get_tx(flow_core_t *core, uint64_t cookie)
{
    flow_tx_t *tx = flow_tx_find(core, flow_ctl_cookie_get_peer(core, cookie),
                                 (uint32_t)cookie);

    return flow_holds((tx != NULL) && (tx->ctl_out > 0)) ? tx : NULL;
}

/* The receiving flow of a cookie if it is still that one. */
static flow_rx_t *flow_ctl_cookie_get_rx(flow_core_t *core, uint64_t cookie)
{
    flow_rx_t *rx = flow_core_rx(core, cookie & (FLOW_INDEX_MAX - 1));

    return ((rx->state != FLOW_RX_FREE) &&
            (flow_rx_token(rx) == (uint32_t)cookie)) ?
                   rx :
                   NULL;
}

/* Due again, after a back-off unless the peer is suspended. */
static void flow_ctl_again_tx(flow_core_t *core, flow_tx_t *tx, unsigned due,
                              flow_send_status_t status, flow_time_t now)
{
    if ((status == FLOW_SEND_LOST) && flow_ctl_gives_up(core, tx)) {
        flow_ctl_give_up(core, tx);
        return;
    }
    if (((due == FLOW_CTL_TX_PING) && !flow_tx_is_live(tx)) ||
        ((due == FLOW_CTL_TX_GOODBYE) && (tx->wait & FLOW_WAIT_RESET))) {
        return; /* nobody asks any more; it ends by a reset */
    }

    tx->ctl |= due;
    if (tx->ctl & FLOW_CTL_QUEUED) {
        return;
    }
    if (flow_core_peer(core, tx->peer)->state != FLOW_PEER_READY) {
        flow_due_tx_ctl(core, tx, 0);
    } else {
        flow_timer_tx(core, flow_tx_index(tx),
                      flow_tx_backoff_level(core, tx), now);
        tx->backoff = flow_timer_level_next(tx->backoff) & 0xf;
    }
}

static void flow_ctl_done_tx(flow_core_t *core, flow_tx_t *tx, unsigned due,
                             flow_send_status_t status, flow_time_t now)
{
    --tx->ctl_out;
    if (tx->ctl != 0) {
        flow_due_tx_ctl(core, tx, 0);
    }
    if (due & FLOW_CTL_TX_HELLO) {
        flow_tx_hello_ended(core, tx, status == FLOW_SEND_RNR);
    }
    if ((status == FLOW_SEND_OK) && flow_is_ud(core)) {
        flow_time_out_ctl(core, tx, now);
    } else if (status == FLOW_SEND_OK) {
        tx->backoff = 0;
        if (due & (FLOW_CTL_TX_GOODBYE | FLOW_CTL_TX_RESET)) {
            tx->flags |= FLOW_TXF_LAST;
        }
    } else if ((status == FLOW_SEND_ERROR) || (tx->flags & FLOW_TXF_LAST)) {
        if (due & (FLOW_CTL_TX_GOODBYE | FLOW_CTL_TX_RESET)) {
            tx->flags |= FLOW_TXF_LAST; /* that was all we could do */
        }
        flow_tx_died(core, tx, FLOW_END_ERROR);
    } else if ((status == FLOW_SEND_RNR) || (tx->state == FLOW_TX_LINGER)) {
        flow_ctl_again_tx(core, tx, due, status, now);
    }
    flow_tx_try_release(core, tx);
}

/* rx: NULL where it is gone. */
static void flow_ctl_done_rx(flow_core_t *core, flow_rx_t *rx, unsigned due,
                             flow_send_status_t status, flow_time_t now)
{
    if ((rx == NULL) || (rx->state == FLOW_RX_CLOSED)) {
        return;
    }
    if ((status == FLOW_SEND_OK) ||
        ((status != FLOW_SEND_RNR) &&
         (flow_core_peer(core, rx->peer)->state == FLOW_PEER_DEAD))) {
        rx->backoff = 0;
        if (due & FLOW_CTL_RX_RESET) { /* a late packet starts no new flow */
            flow_stranger_remember(core,
                                   flow_core_peer(core, rx->peer)->incarnation,
                                   rx->ep);
            flow_rx_close(core, rx);
        }
        return;
    }

    /* A failure of our own device is retried, too: the sender depends on it. */
    rx->ctl |= due;
    if (rx->ctl & FLOW_CTL_QUEUED) {
        return;
    }
    if (!flow_peer_reachable(flow_core_peer(core, rx->peer))) {
        flow_due_rx_ctl(core, rx, 0);
    } else {
        rx->ctl |= FLOW_CTL_QUEUED;
        flow_timer_rx(core, flow_rx_index(rx), rx->backoff, now);
        rx->backoff = flow_timer_level_next(rx->backoff) & 0xf;
    }
}

/* No answer to a control packet. If its flow had ended before, that says
 * nothing about newer flows; if the peer was heard since the packet left, it is
 * there, and waits perhaps for the packet that did not get through. */
static void flow_ctl_lost(flow_core_t *core, flow_peer_t *peer,
                          uint64_t cookie)
{
    const flow_tx_t *tx = (cookie & FLOW_COOKIE_RX) ?
                                  NULL :
                                  flow_ctl_cookie_get_tx(core, cookie);

    if ((tx != NULL) && flow_tx_is_live(tx)) {
        flow_peer_lost(core, peer);
    }
    if ((peer->live == 0) && !peer->heard) {
        flow_peer_suspend(core, peer);
    }
}

/* One control packet less is out. */
static void flow_ctl_ended(flow_core_t *core, flow_peer_t *peer,
                           uint64_t cookie)
{
    flow_turn_give(core, peer, (cookie & FLOW_COOKIE_RX) != 0);
    flow_peer_check_idle(core, peer);
}

void flow_ctl_done(flow_core_t *core, uint64_t cookie,
                   flow_send_status_t status, flow_time_t now)
{
    flow_peer_t *peer = flow_ctl_cookie_get_peer(core, cookie);
    unsigned due      = (unsigned)(cookie >> 56) & 0x7f;
    flow_tx_t *tx;

    if (!flow_is_ud(core)) { /* there a completion says nothing of the peer */
        if ((status == FLOW_SEND_OK) || (status == FLOW_SEND_RNR)) {
            peer->answers = 1;
            flow_peer_heard(core, peer);
        } else {
            peer->answers = 0;
        }
    }
    if (status != FLOW_SEND_OK) {
        flow_trace(core, FLOW_TRACE_CTL_DONE, (uint32_t)cookie, 0, status);
    } else if (peer->rival && !flow_is_ud(core)) {
        flow_peer_proved(core, peer, 1); /* its device took it, with its QKEY */
    }
    if (status == FLOW_SEND_RNR) {
        ++core->counters.rnr;
    } else if (status == FLOW_SEND_LOST) {
        flow_ctl_lost(core, peer, cookie);
    } else if (status == FLOW_SEND_DEAD) {
        flow_peer_dead(core, peer);
        status = FLOW_SEND_OK;
    }

    if (cookie & FLOW_COOKIE_RX) {
        flow_ctl_done_rx(core, flow_ctl_cookie_get_rx(core, cookie), due,
                         status, now);
    } else {
        tx = flow_ctl_cookie_get_tx(core, cookie);
        if (tx == NULL) {
            return;
        }
        flow_ctl_done_tx(core, tx, due, status, now);
    }
    flow_ctl_ended(core, peer, cookie);
}

void flow_ctl_unsent(flow_core_t *core, uint64_t cookie)
{
    flow_peer_t *peer = flow_ctl_cookie_get_peer(core, cookie);
    unsigned due      = (unsigned)(cookie >> 56) & 0x7f;
    flow_rx_t *rx;
    flow_tx_t *tx;

    --core->counters.ctl_sent;
    if (cookie & FLOW_COOKIE_RX) {
        rx = flow_ctl_cookie_get_rx(core, cookie);
        if ((rx != NULL) && (rx->state != FLOW_RX_CLOSED)) {
            flow_due_rx_ctl(core, rx, due);
        }
    } else {
        tx = flow_ctl_cookie_get_tx(core, cookie);
        if (tx == NULL) {
            return;
        }
        --tx->ctl_out;
        if (!(tx->flags & FLOW_TXF_LAST)) {
            flow_due_tx_ctl(core, tx, due);
        }
        flow_tx_try_release(core, tx);
    }
    flow_ctl_ended(core, peer, cookie);
}
