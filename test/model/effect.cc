/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The effects that a packet on the wire can still have. States that differ only
 * in packets that can do nothing, or in fields of theirs that nobody will ask
 * for, have the same future; on UD, where its arrival is no news to the sender,
 * either, a packet that can do nothing is taken off the wire (on SRD it
 * completes later). This divides the number of states by 10 to 100.
 *
 * Nothing here is taken back by time, so what is said once stays true:
 *   - acknowledgements only grow; one that says nothing new to the sending flow
 *     never will. Below a gap of three it may call for a resend: that is left
 * alone. Limits likewise, but for recalls: then packets that were sent are
 * never allowed or forbidden any more.
 *   - endpoint numbers are not used twice: what is for a sending flow that is
 *     gone is for nobody.
 *   - a number that was received stays so: the packet is a repeat for ever. On
 *     UD a repeat asks for an acknowledgement, whatever its number; its limit
 *     is not read.
 *   - a receiving flow that rests (UD) takes nothing but goodbyes, and rests
 *     longer than any packet is on its way (EARLY).
 * --prove checks all of that on the core itself: see model.cc.
 */
#include "model.h"

namespace model {

static_assert(FAULTS_MAX * EARLY < 1 << FLOW_PART_LEVEL,
              "a closed flow must rest longer than packets are on their way");

enum { REPEATED = 0x5ea1 };

/* The part of a cookie that is the index of the peer's record, which says
 * nothing here. */
static const uint64_t PEER_BITS = (uint64_t)(FLOW_INDEX_MAX - 1) << 32;

/* 0: it says nothing new. */
static uint64_t limit_news(const flow_tx_t *tx, flow_psn_t limit, bool recall)
{
    const bool recalls    = (bounds.recalls != 0) || has_second();
    const flow_psn_t dead = recalls ? flow_tx_psn(tx) : tx->limit;

    if (flow_psn_diff(limit, dead) <= 0) {
        return 0;
    }
    return 1u + ((unsigned)limit << 1) + recall;
}

/* 0: it acknowledges nothing new. */
static uint64_t acks_what(const flow_core_t *core, const flow_tx_t *tx,
                          flow_psn_t ack, uint64_t map)
{
    uint64_t fresh = 0;

    if (tx->ring == 0) {
        return 0;
    }
    const flow_ring_t *ring = flow_core_ring(core, tx->ring);
    for (uint64_t left = ring->mask; left != 0; left &= left - 1) {
        unsigned slot       = (unsigned)__builtin_ctzll(left);
        const flow_op_t *op = (const flow_op_t*)ring->slot[slot];
        int after           = flow_psn_diff(op->psn, ack);
        if ((after < 0) ||
            ((after > 0) && (after <= FLOW_WINDOW_MAX) &&
             ((map >> (after - 1)) & 1))) {
            fresh |= 1ull << slot;
        }
    }
    return fresh;
}

/* An acknowledgement and a limit, in a packet of their own or in a header. */
static uint64_t news_to(const flow_core_t *core, const flow_tx_t *tx,
                        const flow_ctl_msg_t &msg)
{
    uint64_t limit = limit_news(tx, msg.limit, msg.flags & FLOW_LIMIT_RECALL);
    uint64_t acked = acks_what(core, tx, msg.ack, msg.acked);

    return ((acked | limit) == 0) ? 0 : mix_word(mix_word(1, acked), limit) | 1;
}

/* Not counting its limit. */
static bool answer_is_old(const flow_tx_t *tx, const flow_ctl_msg_t &msg)
{
    if (flow_wire_is_long(tx->hdr)) {
        return false;
    }
    return (tx->state == FLOW_TX_LINGER) ||
           ((tx->state == FLOW_TX_OPEN) && (tx->rma == msg.rma) &&
            ((msg.pair == 0) ||
             (tx->flags & (FLOW_TXF_CARRIES | FLOW_TXF_AWAITS)) ||
             ((tx->flags & FLOW_TXF_PAIRED) && (tx->carries == 0))));
}

static uint64_t effect_on_tx(const flow_core_t *core, const flow_tx_t *tx,
                             const flow_ctl_msg_t &msg, uint64_t raw)
{
    uint64_t news;

    if (tx == nullptr) {
        return 0;
    }
    switch (msg.type) {
    case FLOW_CTL_ANSWER:
        news = limit_news(tx, msg.limit, msg.flags & FLOW_LIMIT_RECALL);
        if (answer_is_old(tx, msg)) {
            return (news == 0) ? 0 : mix_word(news, msg.ep) | 1;
        }
        return mix_word(raw, news) | 1;
    case FLOW_CTL_ACK:
    case FLOW_CTL_LIMIT:
        news = news_to(core, tx, msg);
        return (news == 0) ? 0 : mix_word(mix_word(news, msg.type), msg.ep);
    case FLOW_CTL_WHO:
        return (tx->state == FLOW_TX_HELLO) ? raw : 0;
    case FLOW_CTL_PARTED:
        return (tx->flags & FLOW_TXF_LAST) ? 0 : raw;
    default:
        return raw;
    }
}

static bool was_received(const flow_core_t *core, const flow_rx_t *rx,
                         flow_psn_t psn)
{
    return (flow_psn_diff(psn, flow_rx_psn(rx)) < 0) ||
           ((rx->ring != 0) &&
            (flow_core_ring(core, rx->ring)->mask & flow_psn_bit(psn)));
}

/* News in the header of a data packet for the flow that goes the other way. */
static uint64_t header_news(flow_core_t *core, const flow_rx_t *rx,
                            const uint8_t *bytes, uint64_t word)
{
    flow_ctl_msg_t msg;

    if (!(word & FLOW_WIRE_LIMIT) || (rx->pair == 0)) {
        return 0; /* a flow that left its pair gets no other */
    }
    memset(&msg, 0, sizeof(msg));
    msg.limit = (flow_psn_t)(word >> FLOW_WIRE_LIMIT_SHIFT);
    if (ud()) {
        uint64_t acked = flow_wire_load64(bytes + FLOW_SHORT_HDR);
        msg.ack        = (flow_psn_t)acked;
        msg.acked      = acked >> FLOW_WIRE_MAP_SHIFT;
    }
    return news_to(core, flow_core_tx(core, rx->pair), msg);
}

/* The flow that a numbered packet is for, if it is there. */
static const flow_rx_t *rx_of(flow_core_t *core, const uint8_t *bytes,
                              uint64_t word, uint64_t from)
{
    uint32_t token = (uint32_t)(word >> FLOW_WIRE_TOKEN_SHIFT) &
                     FLOW_WIRE_TOKEN_MASK;
    const flow_peer_t *peer = flow_peer_find(core, from);
    const flow_rx_t *rx;

    if (flow_wire_is_long(word)) {
        return (peer == nullptr) ?
                       nullptr :
                       flow_rx_find(core, peer, flow_wire_load32(bytes + 24));
    }
    rx = flow_core_rx(core, token & (FLOW_INDEX_MAX - 1));
    return ((rx->state != FLOW_RX_FREE) && (flow_rx_token(rx) == token)) ?
                   rx :
                   nullptr;
}

/* Fields that do not follow from the side. */
static uint64_t raw_hash(const Packet &packet)
{
    uint8_t bytes[FLOW_CTL_HELLO_LEN];
    uint64_t hash = 7;
    uint64_t word;

    memcpy(bytes, packet.bytes, sizeof(bytes));
    if (packet.ctl || flow_wire_is_long(bytes[0])) {
        memset(bytes + 8, 0, 16); /* incarnations */
    }
    if (bytes[0] == (FLOW_WIRE_CTL | FLOW_CTL_HELLO)) {
        memset(bytes + 40, 0, 8); /* QPN and QKEY */
    }
    if (bytes[0] == (FLOW_WIRE_CTL | FLOW_CTL_ANSWER)) {
        memset(bytes + 2, 0, 2); /* limit: effect_on_tx looks at it */
        bytes[37] = 0;
    }
    for (unsigned i = 0; i < packet.len; i += sizeof(word)) {
        memcpy(&word, bytes + i, sizeof(word)); /* the rest is zero */
        hash = mix_word(hash, word);
    }
    return hash | 1;
}

static uint64_t effect_of_data(flow_core_t *core, const Packet &packet,
                               uint64_t from)
{
    uint64_t word       = flow_wire_load64(packet.bytes);
    flow_psn_t psn      = (flow_psn_t)(word >> FLOW_WIRE_PSN_SHIFT);
    const flow_rx_t *rx = rx_of(core, packet.bytes, word, from);

    if (rx == nullptr) {
        return flow_wire_is_long(word) ? raw_hash(packet) : 0;
    }
    if (rx->state >= FLOW_RX_FAILED) {
        return 0;
    }
    if ((rx->state == FLOW_RX_ACTIVE) && was_received(core, rx, psn)) {
        return ud() ? REPEATED : 0;
    }
    if (flow_wire_is_long(word)) {
        return raw_hash(packet);
    }
    return mix_word(mix_word(word & ~(FLOW_WIRE_SEEN_MASK | FLOW_WIRE_ACK), 1),
                    header_news(core, rx, packet.bytes, word)) |
           1;
}

/* Hello, want, ping, reset by the sender. */
static uint64_t effect_on_rx(flow_core_t *core, const flow_ctl_msg_t &msg,
                             uint64_t raw)
{
    const flow_peer_t *peer = flow_peer_find(core, msg.src);
    const flow_rx_t *rx;

    rx = (peer == nullptr) ? nullptr : flow_rx_find(core, peer, msg.ep);
    if ((rx == nullptr) || (msg.type == FLOW_CTL_RESET)) {
        return raw;
    }
    return (rx->state >= FLOW_RX_FAILED) ? 0 : raw;
}

static uint64_t effect_on(flow_core_t *core, const Packet &packet)
{
    uint64_t from = (uint64_t)packet.from + 1; /* its incarnation */
    flow_ctl_msg_t msg;

    if (ud() && (who_gets(packet) == NODES)) {
        return 0;
    }
    if (!packet.ctl) {
        return effect_of_data(core, packet, from);
    }
    if ((packet.bytes[0] & FLOW_WIRE_AM_MASK) == FLOW_CTL_GOODBYE) {
        uint64_t word = flow_wire_load64(packet.bytes);
        return (flow_wire_is_long(word) ||
                (rx_of(core, packet.bytes, word, from) != nullptr)) ?
                       raw_hash(packet) : 0;
    }
    if (flow_ctl_decode(packet.bytes, packet.len, &msg) != FLOW_DROP_NONE) {
        broken("a control packet that cannot be read");
    }
    switch (msg.type) {
    case FLOW_CTL_HELLO:
    case FLOW_CTL_WANT:
    case FLOW_CTL_PING:
        return effect_on_rx(core, msg, raw_hash(packet));
    case FLOW_CTL_RESET:
        return raw_hash(packet);
    default:
        const flow_peer_t *peer = flow_peer_find(core, from);
        return effect_on_tx(core,
                            (peer == nullptr) ?
                                    nullptr :
                                    flow_tx_find(core, peer, msg.ep),
                            msg, raw_hash(packet));
    }
}

/* All of it. */
static uint64_t whole_hash(const Packet &packet)
{
    return mix_word(raw_hash(packet),
                    ((uint64_t)packet.bytes[37] << 16) |
                            ((uint64_t)packet.bytes[3] << 8) | packet.bytes[2]);
}

uint64_t effect_of(const Packet &packet)
{
    uint64_t where  = (bounds.nodes > 2) ? packet.to : 0;
    uint64_t what   = (where << 8) |
                    (packet.ctl ? 0 : handle_of(packet.flow, packet.op));
    uint64_t effect = (may_fail() && (!ud() || (who_gets(packet) != NODES))) ?
                              whole_hash(packet) :
                              effect_on(cores[packet.to], packet);

    if (!ud()) { /* its completion is to come */
        uint64_t cookie = packet.cookie & ~PEER_BITS;
        return mix_word(mix_word(effect + 1, cookie),
                        ((uint64_t)packet.ctl << 32) | what) | 1;
    }
    return (effect == 0) ? 0 : mix_word(effect, what) | 1;
}

} /* namespace model */
