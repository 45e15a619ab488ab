/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets of receiving flows: everything but the next packet of an open flow
 * (flow_rx_short in rx.h). rx_life.c has the states.
 */
#include "flow/ctl_priv.h"
#include "flow/ctl_rx_priv.h"
#include "flow/ctl_wire.h"
#include "flow/drop_priv.h"
#include "flow/due_priv.h"
#include "flow/end_priv.h"
#include "flow/grant_priv.h"
#include "flow/peer_priv.h"
#include "flow/pool_priv.h"
#include "flow/resend_priv.h"
#include "flow/ring.h"
#include "flow/rx_life_priv.h"
#include "flow/rx_priv.h"
#include "flow/rx_record_priv.h"
#include "flow/rx_stranger_priv.h"
#include "flow/stranger_priv.h"
#include "flow/tx_priv.h"

/* A ring for a flow that has none. NULL: the core has to grow first. */
static flow_ring_t *flow_rx_ring_open(flow_core_t *core, flow_rx_t *rx)
{
    flow_ring_t *ring;

    rx->ring = flow_pool_ring_get(core);
    if (rx->ring == 0) {
        return NULL;
    }
    ring        = flow_core_ring(core, rx->ring);
    ring->bytes = 0;
    return ring;
}

int flow_rx_early_first(flow_core_t *core, flow_rx_t *rx, flow_psn_t psn,
                        void *handle)
{
    flow_ring_t *ring = flow_rx_ring_open(core, rx);

    if (ring == NULL) {
        return 0;
    }
    flow_rx_keep(core, ring, psn, handle);
    return 1;
}

/* Put an early packet into its slot. */
static flow_rx_verdict_t flow_rx_hold(flow_core_t *core, flow_rx_t *rx,
                                      flow_psn_t psn, void *handle,
                                      size_t len, flow_rx_out_t *out)
{
    flow_ring_t *ring;

    ring = (rx->ring != 0) ? flow_core_ring(core, rx->ring) :
                             flow_rx_ring_open(core, rx);
    if (ring == NULL) {
        return FLOW_RX_NO_MEMORY;
    }
    if (flow_ring_holds(ring, psn)) {
        return flow_drop_packet(core, FLOW_DROP_DUPLICATE, out);
    }
    flow_rx_keep(core, ring, psn, handle);
    if (rx->state == FLOW_RX_STRANGER) {
        flow_stranger_hold(core, ring, len);
        flow_rx_stranger_bound(core, rx);
    }
    return FLOW_RX_HOLD;
}

void flow_rx_consumed(flow_core_t *core, flow_rx_t *rx)
{
    if ((rx->flags & FLOW_RXF_FINAL) &&
        (flow_rx_final(rx) == flow_rx_psn(rx))) {
        flow_rx_end(core, rx);
        return;
    }

    flow_peer_heard(core, flow_core_peer(core, rx->peer));
    flow_grant_flow_used(core, rx);
}

/* Packets are handed out: number, counter, grant. */
static void flow_rx_step(flow_core_t *core, flow_rx_t *rx, unsigned count)
{
    unsigned left = (uint8_t)(rx->look_low - flow_rx_psn(rx));

    rx->expect += count * FLOW_WIRE_PSN_ONE;
    core->counters.delivered += count;
    if ((rx->state == FLOW_RX_ACTIVE) && (left != 0) && (left <= count)) {
        flow_rx_consumed(core, rx);
    }
}

unsigned flow_rx_run(flow_core_t *core, uint32_t token, void **handles,
                     unsigned max)
{
    uint32_t index = token & (FLOW_INDEX_MAX - 1);
    flow_ring_t *ring;
    unsigned count;
    flow_rx_t *rx;

    if ((index == 0) || (index >= core->rx_count)) {
        return 0;
    }
    rx = flow_core_rx(core, index);
    if ((flow_rx_token(rx) != token) || (rx->ring == 0)) {
        return 0;
    }

    ring  = flow_core_ring(core, rx->ring);
    count = flow_ring_take(ring, flow_rx_psn(rx), handles, max);
    if (count == 0) {
        return 0;
    }
    if (ring->mask == 0) {
        if (flow_unlikely(ring->bytes != 0)) {
            flow_stranger_unhold(core, ring);
        }
        flow_pool_ring_release(core, rx->ring);
        rx->ring = 0;
    }
    flow_rx_step(core, rx, count);
    return count;
}

/* UD: the sender repeats its goodbye until it knows that we have it. */
static void flow_rx_confirm(flow_core_t *core, flow_rx_t *rx)
{
    if (flow_is_ud(core)) {
        flow_due_rx_ctl(core, rx, FLOW_CTL_RX_PARTED);
    }
}

/* The sender will send nothing from psn on. */
static flow_rx_verdict_t flow_rx_goodbye(flow_core_t *core, flow_rx_t *rx,
                                         flow_psn_t psn, flow_rx_out_t *out)
{
    int distance = flow_psn_diff(psn, flow_rx_psn(rx));

    if (rx->flags & FLOW_RXF_FINAL) {
        flow_rx_confirm(core, rx);
        return flow_drop_packet(core, FLOW_DROP_DUPLICATE, out);
    }
    if ((distance < 0) || (flow_psn_diff(psn, rx->limit) > 0)) {
        return flow_drop_packet(core, FLOW_DROP_FIELD, out);
    }

    rx->flags    |= FLOW_RXF_FINAL;
    rx->final_low = (uint8_t)psn;
    if (rx->state == FLOW_RX_ACTIVE) {
        flow_rx_confirm(core, rx);
        if (distance == 0) {
            flow_rx_end(core, rx);
        } else {
            flow_grant_next_look(rx);
        }
    }
    return FLOW_RX_CONTROL;
}

/* A packet for a flow that ended. */
static flow_rx_verdict_t flow_rx_ended(flow_core_t *core, flow_rx_t *rx,
                                       uint64_t word, flow_rx_out_t *out)
{
    if ((rx->state == FLOW_RX_PARTED) && (word & FLOW_WIRE_CTL)) {
        flow_rx_confirm(core, rx);
    } else if (rx->state == FLOW_RX_FAILED) { /* a reset may wait for this */
        flow_peer_heard(core, flow_core_peer(core, rx->peer));
    }
    return flow_drop_packet(core, FLOW_DROP_CLOSED, out);
}

/* SRD: a dropped packet is lost, so the flow fails; its sender must be
 * known. */
static void flow_rx_overrun(flow_core_t *core, flow_rx_t *rx)
{
    ++core->counters.overflows;
    if (rx->state == FLOW_RX_ACTIVE) {
        flow_rx_fail(core, rx);
    } else {
        rx->flags |= FLOW_RXF_OVERRUN;
    }
}

/* A numbered packet of a known flow. */
static flow_rx_verdict_t flow_rx_numbered(flow_core_t *core, flow_rx_t *rx,
                                          uint64_t word, void *handle,
                                          size_t len, flow_rx_out_t *out)
{
    flow_psn_t psn = flow_wire_psn(word);
    int distance   = flow_psn_diff(psn, flow_rx_psn(rx));
    flow_rx_verdict_t verdict;

    out->token = flow_rx_token(rx);
    if (word & FLOW_WIRE_CTL) {
        return flow_rx_goodbye(core, rx, psn, out);
    }
    if (flow_is_ud(core) && (rx->state == FLOW_RX_ACTIVE)) {
        flow_due_rx_ctl(core, rx, FLOW_CTL_RX_ACK); /* whatever it is */
    }
    if (distance < 0) {
        return flow_drop_packet(core, FLOW_DROP_DUPLICATE, out);
    }
    if ((flow_psn_diff(psn, rx->limit) >= 0) ||
        ((rx->flags & FLOW_RXF_FINAL) &&
         (flow_psn_diff(psn, flow_rx_final(rx)) >= 0))) {
        if (!flow_is_ud(core)) {
            flow_rx_overrun(core, rx);
        }
        return flow_drop_packet(core, FLOW_DROP_BEYOND, out);
    }
    if ((distance > 0) || core->hold_all || flow_rx_holds_next(core, rx)) {
        verdict   = flow_rx_hold(core, rx, psn, handle, len, out);
        out->more = (distance == 0) && (verdict == FLOW_RX_HOLD);
        return verdict;
    }

    out->more   = rx->ring != 0;
    out->am_id  = word & FLOW_WIRE_AM_MASK;
    out->offset = (uint16_t)flow_wire_word_len(word);
    flow_rx_step(core, rx, 1);
    return FLOW_RX_DELIVER;
}

/* The flow of a packet with a long header; a new one becomes a stranger. */
static flow_rx_verdict_t flow_rx_accept_long(flow_core_t *core,
                                             const uint8_t *pkt, size_t len,
                                             void *handle, flow_src_t src,
                                             flow_rx_out_t *out)
{
    uint64_t word = flow_wire_load64(pkt);
    flow_rx_verdict_t verdict;
    flow_wire_names_t names;
    flow_peer_t *peer;
    flow_rx_t *rx;

    if (len < FLOW_LONG_HDR) {
        return flow_drop_packet(core, FLOW_DROP_SHORT, out);
    }
    names = flow_wire_load_names(pkt);
    if (names.to != core->params.self.incarnation) {
        return flow_drop_packet(core, FLOW_DROP_NOT_FOR_US, out);
    }
    if ((names.from == 0) || (names.ep == 0)) {
        return flow_drop_packet(core, FLOW_DROP_FIELD, out);
    }

    peer = flow_peer_find(core, names.from);
    if (peer == NULL) {
        rx = NULL;
    } else if (peer->state == FLOW_PEER_DEAD) {
        return flow_drop_packet(core, FLOW_DROP_DEAD, out);
    } else if (!flow_peer_sent(peer, src)) {
        return flow_drop_packet(core, FLOW_DROP_SENDER, out);
    } else {
        flow_peer_heard(core, peer);
        rx = flow_rx_find(core, peer, names.ep);
    }

    if ((rx == NULL) && (word & FLOW_WIRE_CTL)) {
        /* goodbye, again */
        return flow_drop_packet(core, FLOW_DROP_STALE, out);
    }
    if (rx == NULL) {
        if (flow_stranger_expired(core, names.from, names.ep)) {
            return flow_drop_packet(core, FLOW_DROP_CLOSED, out);
        }
        if (flow_pool_is_full(core, peer == NULL)) {
            flow_stranger_remember(core, names.from, names.ep);
            return flow_drop_packet(core, FLOW_DROP_FULL, out);
        }
        verdict = flow_rx_room(core, peer == NULL, out);
        if (verdict != FLOW_RX_CONTROL) {
            return verdict;
        }
        if (peer == NULL) {
            peer = flow_peer_create(core, names.from, src);
        }
        rx = flow_rx_create(core, peer, names.ep);
        flow_rx_stranger_add(core, rx);
        if (peer->state != FLOW_PEER_UNKNOWN) {
            flow_due_rx_ctl(core, rx, FLOW_CTL_RX_WHO);
        }
    } else if (rx->state >= FLOW_RX_FAILED) {
        return flow_rx_ended(core, rx, word, out);
    }
    return flow_rx_numbered(core, rx, word, handle, len, out);
}

/* The header's limit for our flow that goes the other way. */
static void flow_rx_take_limit(flow_core_t *core, flow_tx_t *tx,
                               const uint8_t *pkt)
{
    uint64_t word = flow_wire_load64(pkt);
    flow_psn_t ack;
    uint64_t map;

    if (word & FLOW_WIRE_LONG) {
        ack = flow_wire_load_ack(pkt, &map);
        flow_resend_heard(tx);
        flow_resend_ack(core, tx, ack, map);
        flow_tx_window(core, tx);
    }
    flow_tx_limit(core, tx, flow_wire_limit(word));
}

/* A short header: index, generation and sender are checked one by one. */
static flow_rx_verdict_t flow_rx_accept_short(flow_core_t *core,
                                              const uint8_t *pkt,
                                              void *handle, flow_src_t src,
                                              flow_rx_out_t *out)
{
    uint64_t word  = flow_wire_load64(pkt);
    uint32_t token = flow_wire_token(word);
    uint32_t index = flow_rx_index_of(word);
    flow_rx_verdict_t verdict;
    flow_peer_t *peer;
    flow_rx_t *rx;
    uint32_t pair;

    if ((index == 0) || (index >= core->rx_count)) {
        return flow_drop_packet(core, FLOW_DROP_TOKEN, out);
    }
    rx = flow_core_rx(core, index);
    if ((rx->state < FLOW_RX_ACTIVE) || (flow_rx_token(rx) != token)) {
        return flow_drop_packet(core, FLOW_DROP_TOKEN, out);
    }
    if (rx->state > FLOW_RX_ACTIVE) {
        return flow_rx_ended(core, rx, word, out);
    }
    peer = flow_core_peer(core, rx->peer);
    if (!flow_peer_sent(peer, src)) {
        return flow_drop_packet(core, FLOW_DROP_SENDER, out);
    }
    if (flow_unlikely(peer->rival) && flow_peer_answered(peer, src)) {
        flow_peer_proved(core, peer, 0); /* it has the answer to its hello */
    }

    pair    = rx->pair;
    verdict = flow_rx_numbered(core, rx, word, handle, 0, out);
    if (((verdict == FLOW_RX_DELIVER) || (verdict == FLOW_RX_HOLD)) &&
        (word & FLOW_WIRE_LIMIT) && (pair != 0)) {
        flow_rx_take_limit(core, flow_core_tx(core, pair), pkt);
    }
    if ((verdict == FLOW_RX_DELIVER) && (rx->state == FLOW_RX_ACTIVE) &&
        !flow_is_ud(core)) { /* there every packet wants an answer */
        /* what the next one will most likely look like */
        rx->src    = flow_peer_src(peer, src);
        rx->expect = (rx->expect & ~(FLOW_WIRE_SEEN_MASK | FLOW_RX_SHUT)) |
                     (word & FLOW_WIRE_SEEN_MASK) |
                     ((rx->limit == flow_rx_psn(rx)) ? FLOW_RX_SHUT : 0);
    }
    return verdict;
}

/* A packet with a number. */
static __attribute__((noinline)) flow_rx_verdict_t
flow_rx_accept_flow(flow_core_t *core, const void *pkt, size_t len,
                    void *handle, flow_src_t src, flow_rx_out_t *out)
{
    unsigned first = flow_wire_first(pkt);

    if (len < FLOW_SHORT_HDR) {
        return flow_drop_packet(core, FLOW_DROP_SHORT, out);
    }
    if (flow_wire_is_long(first)) {
        return flow_rx_accept_long(core, pkt, len, handle, src, out);
    }
    if (first & FLOW_WIRE_LONG) {
        if (!flow_is_ud(core) || (first & FLOW_WIRE_CTL)) {
            return flow_drop_packet(core, FLOW_DROP_FLAGS, out);
        }
        if (len < FLOW_ACK_HDR) {
            return flow_drop_packet(core, FLOW_DROP_SHORT, out);
        }
    }
    return flow_rx_accept_short(core, pkt, handle, src, out);
}

flow_rx_verdict_t flow_rx_accept_slow(flow_core_t *core, const void *pkt,
                                      size_t len, void *handle, flow_src_t src,
                                      flow_rx_out_t *out)
{
    unsigned first;

    *out = (flow_rx_out_t){0};
    if (len < 1) {
        return flow_drop_packet(core, FLOW_DROP_SHORT, out);
    }

    first = flow_wire_first(pkt);
    return ((first & FLOW_WIRE_CTL) &&
            ((first & FLOW_WIRE_AM_MASK) != FLOW_CTL_GOODBYE)) ?
                   flow_ctl_rx_accept(core, pkt, len, src, out) :
                   flow_rx_accept_flow(core, pkt, len, handle, src, out);
}

flow_rx_verdict_t flow_rx_accept_held(flow_core_t *core, const void *pkt,
                                      size_t len, void *handle, flow_src_t src,
                                      flow_rx_out_t *out)
{
    flow_rx_verdict_t verdict;

    core->hold_all = 1;
    verdict        = flow_rx_accept_slow(core, pkt, len, handle, src, out);
    core->hold_all = 0;
    return verdict;
}
