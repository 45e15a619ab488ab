/* SPDX-License-Identifier: BSD-3-Clause */
#include "watch.h"
#include "text.h"

#include <flow/ctl_wire.h>
#include <flow/image.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

static unsigned watch_place(flow_src_t src)
{
    return (flow_src_qpn(src) + flow_src_ah(src) * 40503u) % WATCH_SOURCES;
}

static void watch_packet(watch_t *watch, const run_t *run,
                         const record_call_t *call)
{
    flow_src_t     src   = (flow_src_t)call->number[0];
    watch_heard_t *heard = &watch->heard[watch_place(src)];

    heard->call   = run->call;
    heard->time   = watch->last;
    heard->src    = src;
    heard->length = call->length;
    heard->kept   = (uint8_t)call->bytes[0].length;
    memcpy(heard->packet, call->bytes[0].at, call->bytes[0].length);
}

/* The last packet of this peer, by the number of its handle or, as long as the
 * device did not know it, by its QPN alone. NULL: none. */
static const watch_heard_t *watch_heard(const watch_t *watch,
                                        const flow_peer_t *peer)
{
    flow_src_t src = flow_image_peer_src(peer), unknown;
    const watch_heard_t *heard, *early;

    unknown = flow_src(FLOW_AH_UNKNOWN, flow_src_qpn(src));
    heard   = &watch->heard[watch_place(src)];
    early   = &watch->heard[watch_place(unknown)];
    if ((heard->call != 0) && (heard->src == src)) {
        return heard;
    }
    return ((early->call != 0) && (early->src == unknown)) ? early : NULL;
}

/* A control packet, in full. 0: it is none, or has a fault. */
static int watch_decode(const record_call_t *call, size_t length,
                        flow_ctl_msg_t *msg)
{
    uint8_t bytes[FLOW_CTL_MAX] = {0};
    size_t  kept                = call->bytes[0].length;

    if ((kept > sizeof(bytes)) || (length < FLOW_CTL_BASE_LEN) ||
        (length > sizeof(bytes))) {
        return 0;
    }
    memcpy(bytes, call->bytes[0].at, kept);
    return (bytes[0] & FLOW_WIRE_CTL) &&
           ((bytes[0] & ~FLOW_WIRE_CTL) != FLOW_CTL_GOODBYE) &&
           (flow_ctl_decode(bytes, length, msg) == FLOW_DROP_NONE);
}

/* A control packet came or goes. A hello: what its sender may use before the
 * answer. Others of ours: the limit that they tell. */
static void watch_ctl(watch_t *watch, const run_t *run,
                      const record_call_t *call, int came)
{
    size_t          length = came ? call->length : call->bytes[0].length;
    flow_ctl_msg_t  msg;
    flow_image_rx_t rx;
    watch_told_t   *told;
    uint32_t        number;

    if (!watch_decode(call, length, &msg)) {
        return;
    }
    number = flow_image_rx_number(run->core, came ? msg.src : msg.dst, msg.ep);
    told   = &watch->told[number % FLOW_INDEX_MAX];
    if (came) {
        if ((msg.type == FLOW_CTL_HELLO) && (told->call == 0) &&
            flow_image_rx(run->core, number % FLOW_INDEX_MAX, &rx)) {
            told->limit = (flow_psn_t)(rx.first + msg.window);
        }
    } else if (((msg.type == FLOW_CTL_LIMIT) || (msg.type == FLOW_CTL_ANSWER) ||
                (msg.type == FLOW_CTL_ACK)) && (told->limit != msg.limit)) {
        told->before = told->limit;
        told->limit  = msg.limit;
        told->call   = run->call;
        told->time   = watch->last;
    }
}

int watch_frees(const record_call_t *call)
{
    return (call->kind == RECORD_TX_COMMIT) ||
           (call->kind == RECORD_RESEND_COMMIT) ||
           ((call->kind == RECORD_TX_READY) && call->number[0]) ||
           ((call->kind == RECORD_EVENT_NEXT) && call->number[0] &&
            (call->number[1] == FLOW_EVENT_TX_READY));
}

void watch_call(watch_t *watch, const run_t *run, const record_call_t *call,
                const uint8_t *packet)
{
    watch_flow_t *flow = &watch->flows[call->tx % FLOW_INDEX_MAX];

    if (packet != NULL) {
        watch_ctl(watch, run, call, 1);
        watch_packet(watch, run, call);
        return;
    }
    switch (call->kind) {
    case RECORD_TX_OPEN:
        *flow = (watch_flow_t){.known = 1, .named = flow->named};
        break;
    case RECORD_TX_READY:
        if (!call->number[0] && (flow->blocked_call == 0)) {
            flow->blocked_call = run->call;
            flow->blocked      = watch->last;
        }
        break;
    case RECORD_TX_RNR:
        ++flow->refused;
        break;
    case RECORD_CTL_NEXT:
        if (call->number[0]) {
            watch_ctl(watch, run, call, 0);
        }
        break;
    default:
        break;
    }
    if (watch_frees(call)) {
        flow->blocked_call = 0;
        flow->known        = 1;
    }
}

uint32_t watch_qpn(const run_t *run, const record_call_t *call)
{
    flow_tx_t         *tx   = flow_image_tx(run->core, call->tx);
    const flow_peer_t *peer = flow_image_peer(run->core, call->peer);

    if (record_kind_is_packet(call->kind)) {
        return flow_src_qpn((flow_src_t)call->number[0]);
    }
    if (call->kind == RECORD_TX_OPEN) {
        return call->addr.qpn;
    }
    if (tx != NULL) {
        peer = flow_tx_peer(run->core, tx);
    }
    return (peer != NULL) ? flow_peer_qpn(peer) : 0;
}

/* The first thing that a flow lacks; NULL: nothing. */
static const char *watch_lacks(const flow_tx_t *tx)
{
    unsigned paused = flow_tx_paused(tx);

    if (flow_tx_why(tx) != FLOW_END_NONE) {
        return "nothing any more: it failed, and its user has not closed it";
    }
    if (paused & FLOW_PAUSE_CLOSED) {
        return (flow_tx_busy(tx) != 0) ?
                       "completions: its user closed it" :
                       "its last word to arrive: its user closed it";
    }
    if (flow_tx_last_limit(tx) == flow_tx_psn(tx)) {
        return flow_tx_is_unanswered(tx) ?
                       "the answer to its hello: the first window is used" :
                       "a limit: its receiver has allowed no more";
    }
    if (paused & FLOW_PAUSE_FENCE) {
        return "RMA that a fence waits for";
    }
    if ((flow_tx_busy(tx) != 0) && !flow_tx_is_open(tx)) {
        return "messages that are out to arrive";
    }
    if (flow_tx_is_unanswered(tx)) {
        return "the answer to its hello";
    }
    return NULL;
}

static void watch_print_heard(const watch_t *watch, const flow_peer_t *peer)
{
    const watch_heard_t *heard = watch_heard(watch, peer);
    char                 text[192];

    if (heard == NULL) {
        printf("  its peer said nothing in this recording\n");
        return;
    }
    text_packet(text, sizeof(text), heard->packet, heard->kept, heard->length);
    printf("  its peer said last: %s (call %llu, %.6f s before the end)\n",
           text, (unsigned long long)heard->call,
           (double)(watch->last - heard->time) / 1e9);
}

static void watch_print(const watch_t *watch, const run_t *run, json_t *json,
                        uint32_t number, const flow_tx_t *tx,
                        const char *lacks)
{
    const watch_flow_t *flow = &watch->flows[number];
    const flow_peer_t  *peer = flow_tx_peer(run->core, tx);
    flow_addr_t         addr = flow_peer_addr(run->core, peer);
    char                text[64];

    text_addr(text, sizeof(text), &addr);
    json_object(json, NULL);
    json_count(json, "flow", number);
    json_text(json, "peer", text);
    json_text(json, "waits_for", lacks);
    json_number(json, "blocked_s", (flow->blocked_call == 0) ? NAN :
                (double)(watch->last - flow->blocked) / 1e9);
    json_end_object(json);
    printf("flow %u to %s waits for %s\n", number, text, lacks);
    printf("  next %u, limit %u, %u out, %llu refused; ", flow_tx_psn(tx),
           flow_tx_last_limit(tx), flow_tx_outstanding(tx),
           (unsigned long long)flow->refused);
    if (flow->blocked_call != 0) {
        printf("blocked since call %llu%s, %.6f s%s before the end\n",
               (unsigned long long)flow->blocked_call,
               flow->known ? "" : " or before this recording",
               (double)(watch->last - flow->blocked) / 1e9,
               flow->known ? "" : " or more");
    } else {
        printf("its user did not try to send since\n");
    }
    if (!flow_peer_spoke(peer)) {
        printf("  its peer was never heard, nor did anything get through\n");
        return;
    }
    watch_print_heard(watch, peer);
}

/* Prints why the sender of a receiving flow cannot go on, if it cannot. */
static unsigned watch_print_rx(const watch_t *watch, const run_t *run,
                               uint32_t number, const flow_image_rx_t *rx)
{
    const watch_told_t *told = &watch->told[number];
    flow_addr_t         addr = flow_peer_addr(run->core, rx->peer);
    char                text[64];

    if ((rx->held == 0) && (rx->next != rx->limit) &&
        ((told->call == 0) || (told->limit == told->before) ||
         (rx->next != told->before))) {
        return 0;
    }
    text_addr(text, sizeof(text), &addr);
    printf("flow from %s, endpoint %u: ", text, rx->ep);
    if (rx->ready) {
        printf("%u packets from %u on wait for the program to make progress\n",
               rx->held, rx->next);
    } else if (rx->held != 0) {
        printf("packet %u did not come, %u later ones did\n", rx->next,
               rx->held);
    } else if (rx->next == rx->limit) {
        printf("it has used all before its limit %u, and this interface has "
               "allowed no more\n",
               rx->limit);
    } else {
        printf("it stands at its last but one limit, %u; limit %u was sent to "
               "it in call %llu, %.6f s before the end: it did not get it, or "
               "has nothing to send\n",
               told->before, told->limit, (unsigned long long)told->call,
               (double)(watch->last - told->time) / 1e9);
    }
    watch_print_heard(watch, rx->peer);
    return 1;
}

static unsigned watch_why_rx(const watch_t *watch, const run_t *run,
                             uint32_t qpn, unsigned *there)
{
    uint32_t        count = flow_image_rx_count(run->core), i;
    unsigned        found = 0;
    flow_image_rx_t rx;

    for (i = 1; i < count; ++i) {
        if (flow_image_rx(run->core, i, &rx) &&
            ((qpn == 0) ||
             (flow_peer_qpn(rx.peer) == qpn))) {
            ++*there;
            found += watch_print_rx(watch, run, i, &rx);
        }
    }
    return found;
}

unsigned watch_why(const watch_t *watch, const run_t *run, json_t *json,
                   uint32_t flow, uint32_t qpn)
{
    uint32_t         count = flow_image_tx_count(run->core), i;
    unsigned         found = 0, there = 0; /* of those that are asked for */
    const char      *lacks;
    flow_tx_t       *tx;

    for (i = 1; i < count; ++i) {
        tx = flow_image_tx(run->core, i);
        if ((tx == NULL) || ((flow != 0) && (i != flow)) ||
            ((qpn != 0) &&
             (flow_peer_qpn(flow_tx_peer(run->core, tx)) != qpn))) {
            continue;
        }
        ++there;
        lacks = watch_lacks(tx);
        if (lacks != NULL) {
            ++found;
            watch_print(watch, run, json, i, tx, lacks);
        }
    }
    if (flow == 0) {
        found += watch_why_rx(watch, run, qpn, &there);
    }
    if ((there == 0) && (flow != 0)) {
        printf("no sending flow %u is there (--flow; --text names them)\n",
               flow);
    } else if ((there == 0) && (qpn != 0)) {
        printf("no flow to or from QPN %u is there (--peer)\n", qpn);
    } else if (found == 0) {
        printf("no flow is blocked\n");
    }
    return found;
}
