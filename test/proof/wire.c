/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * src/flow/wire.h and ctl_wire.c: the decoder of control packets reads within
 * the packet, takes no field that the core could not bear, and agrees with the
 * encoder, which writes within its buffer.
 */
#include "proof.h"

#include "flow/ctl_wire.h"

/* Facts that the rest of the core takes for granted of a decoded packet */
static void prove_fields(const flow_ctl_msg_t *msg)
{
    PROVE((msg->type > 0) && (msg->type < FLOW_CTL_TYPE_LAST));
    PROVE(msg->type != FLOW_CTL_GOODBYE);
    PROVE(msg->ep != 0);
    if (msg->type == FLOW_CTL_HELLO) {
        PROVE(msg->version == FLOW_VERSION);
        PROVE((msg->window >= 1) && (msg->window <= FLOW_INIT_WINDOW_MAX));
        PROVE((msg->src != 0) && (msg->addr.incarnation == msg->src));
        PROVE(msg->addr.qpn <= FLOW_QPN_MAX);
    } else if (msg->type == FLOW_CTL_ANSWER) {
        PROVE(msg->token <= FLOW_WIRE_TOKEN_MASK);
        PROVE((msg->token & (FLOW_INDEX_MAX - 1)) != 0);
        PROVE(msg->rma <= 2);
    } else if (msg->type == FLOW_CTL_RESET) {
        PROVE(msg->flags <= FLOW_RESET_LOST);
    }
    PROVE((msg->type == FLOW_CTL_RESET) || (msg->flags <= 1));
}

static void prove_same(const flow_ctl_msg_t *a, const flow_ctl_msg_t *b)
{
    unsigned i = nondet_u8();

    ASSUME(i < sizeof(a->addr.gid));
    PROVE((a->type == b->type) && (a->version == b->version) &&
          (a->flags == b->flags) && (a->rma == b->rma) &&
          (a->window == b->window) && (a->limit == b->limit) &&
          (a->ack == b->ack) && (a->ep == b->ep) && (a->token == b->token) &&
          (a->pair == b->pair) && (a->src == b->src) && (a->dst == b->dst) &&
          (a->acked == b->acked) && (a->addr.qpn == b->addr.qpn) &&
          (a->addr.qkey == b->addr.qkey) &&
          (a->addr.gid[i] == b->addr.gid[i]));
}

static void prove_decode(void)
{
    flow_ctl_msg_t msg, again;
    uint8_t *bytes, *copy;
    unsigned written;
    size_t len;

    bytes = proof_packet(&len, PROOF_PACKET_MAX);
    ASSUME((len == 0) || (bytes[0] & FLOW_WIRE_CTL));
    if (flow_ctl_decode(bytes, len, &msg) != FLOW_DROP_NONE) {
        return;
    }

    prove_fields(&msg);
    copy = malloc(len);
    ASSUME(copy != NULL);
    written = flow_ctl_encode(&msg, copy);
    PROVE(written == len);
    PROVE(flow_ctl_decode(copy, written, &again) == FLOW_DROP_NONE);
    prove_same(&msg, &again);
}

/* The words of a header: what one sets the other gets, and nothing else moves. */
static void prove_words(void)
{
    uint64_t word = nondet_u64();
    flow_psn_t to = nondet_u16();
    uint64_t set  = flow_wire_set_limit(word, to);
    uint8_t buf[sizeof(word)];

    flow_wire_store64(buf, word);
    PROVE(flow_wire_load64(buf) == word);
    PROVE(buf[0] == (uint8_t)word);
    PROVE((flow_psn_t)(set >> FLOW_WIRE_LIMIT_SHIFT) == to);
    PROVE(((set ^ word) & ~(0xffffull << FLOW_WIRE_LIMIT_SHIFT)) == 0);
    PROVE(flow_wire_word_len(word) == flow_wire_hdr_len(buf));
    PROVE(flow_wire_is_long(word) ==
          (flow_wire_word_len(word) == FLOW_LONG_HDR));
    PROVE(flow_wire_am_id(buf) < FLOW_AM_ID_MAX);

    flow_wire_store32(buf, (uint32_t)word);
    PROVE(flow_wire_load32(buf) == (uint32_t)word);
    flow_wire_store16(buf, to);
    PROVE(flow_wire_load16(buf) == to);
}

int main(void)
{
    prove_decode();
    prove_words();
    PROOF_END();
    return 0;
}
