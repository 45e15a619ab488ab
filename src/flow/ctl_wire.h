/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Layout of control packets. Offsets in bytes, numbers little endian.
 *
 *   all but goodbye:  0 type | FLOW_WIRE_CTL   1 see below   2 see below (16)
 *                     4 endpoint number (32)   8 incarnation of the sender
 *                    16 incarnation of the receiver
 *   hello    64 B  1 version  2 flags  3 initial window  24 GID  40 QPN
 *                  44 QKEY  48 zero (128)
 *   answer   40 B  1 zero  2 limit  24 zero  28 token  32 number
 *                  of the endpoint whose limits we take from your headers, 0
 *                  none  36 RMA (flow_rma_t)  37 flags  38 zero
 *   limit    32 B  1 flags  2 limit  24 zero
 *   who      24 B  1, 2 zero
 *   want     24 B  UD; 1 zero  2 the limit it is blocked at
 *   reset    24 B  1 which (FLOW_RESET_BY_TX and so on)  2 zero
 *   ping     24 B  1, 2 zero; no effect, its completion tells
 *   ack      40 B  UD, in place of limit. 1 flags  2 limit  24 the sender's
 *                  clock, in 64 ns, 0 not told (32)  28 lowest number not
 *                  received  30 messages that it has delivered, of all flows,
 *                  and a sixteenth of its own that others acknowledged (16,
 *                  wraps)  32 bit i: that number + 1 + i was received (64)
 *   parted   24 B  UD; 1, 2 zero: confirms goodbye and reset of direction 0
 *   goodbye        short or long header with FLOW_WIRE_CTL; PSN: the number
 *                  after the last packet
 * The endpoint number is the one of the endpoint whose flow it is about: the
 * sender's in hello, want, ping, goodbye and reset of direction 0, else the
 * receiver's.
 */
#ifndef FLOW_CTL_WIRE_H_
#define FLOW_CTL_WIRE_H_

#include "flow/types.h"
#include "flow/wire.h"

enum flow_ctl_type {
    FLOW_CTL_HELLO = 1,
    FLOW_CTL_ANSWER,
    FLOW_CTL_LIMIT,
    FLOW_CTL_WHO,
    FLOW_CTL_WANT,
    FLOW_CTL_RESET,
    FLOW_CTL_PING,
    FLOW_CTL_GOODBYE,
    FLOW_CTL_ACK,
    FLOW_CTL_PARTED,
    FLOW_CTL_TYPE_LAST
};

enum flow_ctl_len {
    FLOW_CTL_BASE_LEN   = 24,
    FLOW_CTL_HELLO_LEN  = 64,
    FLOW_CTL_ANSWER_LEN = 40,
    FLOW_CTL_LIMIT_LEN  = 32,
    FLOW_CTL_ACK_LEN    = 40
};

enum flow_ctl_flags {
    FLOW_HELLO_RMA   = 1u << 0, /* hello: keep a handle for me: I want RMA    */
    FLOW_LIMIT_RECALL = 1u << 0, /* answer, limit, ack: use no more than this,
                                   though an earlier limit was higher         */
    FLOW_RESET_BY_TX = 0,       /* reset: my flow ends here                   */
    FLOW_RESET_BY_RX = 1,       /* reset: I lost packets of your flow         */
    FLOW_RESET_LOST  = 2        /* reset: my flow ends here, as you could not
                                   be reached: so does yours of the pair      */
};

/* A control packet in the host's form; each type uses the fields it names. */
typedef struct flow_ctl_msg {
    uint8_t     type;
    uint8_t     version, flags, rma, window;
    flow_psn_t  limit, ack;
    uint16_t    heard;
    uint32_t    ep, token, pair, clock;
    uint64_t    src, dst, acked;
    flow_addr_t addr; /* hello: addr.incarnation is src                       */
} flow_ctl_msg_t;

/*
 * Limit, the most frequent one, has an encoder and a decoder of its own: fields
 * type, flags, limit, ep, src and dst, FLOW_CTL_LIMIT_LEN bytes. Nothing is
 * checked.
 */
static inline void
flow_ctl_encode_limit(const flow_ctl_msg_t *msg, uint8_t *buf)
{
    flow_wire_store64(buf, FLOW_CTL_LIMIT | FLOW_WIRE_CTL |
                                   ((uint64_t)msg->flags << 8) |
                                   ((uint64_t)msg->limit << 16) |
                                   ((uint64_t)msg->ep << 32));
    flow_wire_store64(buf + 8, msg->src);
    flow_wire_store64(buf + 16, msg->dst);
    flow_wire_store64(buf + 24, 0);
}

static inline void
flow_ctl_decode_limit(const uint8_t *buf, flow_ctl_msg_t *msg)
{
    uint64_t word = flow_wire_load64(buf);

    msg->type  = word & FLOW_WIRE_AM_MASK;
    msg->flags = (uint8_t)(word >> 8);
    msg->limit = (flow_psn_t)(word >> 16);
    msg->ep    = (uint32_t)(word >> 32);
    msg->src   = flow_wire_load64(buf + 8);
    msg->dst   = flow_wire_load64(buf + 16);
}

/* Write msg to buf (FLOW_CTL_MAX bytes); the length. Not for goodbye. */
unsigned flow_ctl_encode(const flow_ctl_msg_t *msg, uint8_t *buf);

/*
 * Read the fields that all of them have at the same place: type, endpoint
 * number, incarnations, and the limit if any; other fields stay. For any
 * FLOW_CTL_BASE_LEN bytes that have FLOW_WIRE_CTL set and are no goodbye;
 * nothing is checked.
 */
void flow_ctl_decode_base(const uint8_t *buf, flow_ctl_msg_t *msg);

/*
 * Read len bytes at buf, which have FLOW_WIRE_CTL set and are no goodbye.
 * FLOW_DROP_NONE, or why they are no packet; every length is checked first.
 */
flow_drop_t flow_ctl_decode(const uint8_t *buf, size_t len,
                            flow_ctl_msg_t *msg);

#endif
