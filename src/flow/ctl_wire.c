/* SPDX-License-Identifier: BSD-3-Clause */
/* The offsets of ctl_wire.h; beside wire.h the only place that has any. */
#include "flow/ctl_wire.h"
#include "flow/drop.h"

_Static_assert((int)FLOW_CTL_HELLO_LEN <= (int)FLOW_CTL_MAX,
               "there is room for the longest one");

static const uint8_t flow_ctl_lens[FLOW_CTL_TYPE_LAST] = {
    [FLOW_CTL_HELLO]  = FLOW_CTL_HELLO_LEN,
    [FLOW_CTL_ANSWER] = FLOW_CTL_ANSWER_LEN,
    [FLOW_CTL_LIMIT]  = FLOW_CTL_LIMIT_LEN,
    [FLOW_CTL_WHO]    = FLOW_CTL_BASE_LEN,
    [FLOW_CTL_WANT]   = FLOW_CTL_BASE_LEN,
    [FLOW_CTL_RESET]  = FLOW_CTL_BASE_LEN,
    [FLOW_CTL_PING]   = FLOW_CTL_BASE_LEN,
    [FLOW_CTL_ACK]    = FLOW_CTL_ACK_LEN,
    [FLOW_CTL_PARTED] = FLOW_CTL_BASE_LEN
};

static void flow_ctl_encode_hello(const flow_ctl_msg_t *msg, uint8_t *buf)
{
    buf[1] = msg->version;
    buf[2] = msg->flags;
    buf[3] = msg->window;
    memcpy(buf + 24, msg->addr.gid, sizeof(msg->addr.gid));
    flow_wire_store32(buf + 40, msg->addr.qpn);
    flow_wire_store32(buf + 44, msg->addr.qkey);
}

unsigned flow_ctl_encode(const flow_ctl_msg_t *msg, uint8_t *buf)
{
    unsigned len = flow_ctl_lens[msg->type];

    memset(buf, 0, len);
    buf[0] = msg->type | FLOW_WIRE_CTL;
    flow_wire_store32(buf + 4, msg->ep);
    flow_wire_store64(buf + 8, msg->src);
    flow_wire_store64(buf + 16, msg->dst);
    switch (msg->type) {
    case FLOW_CTL_HELLO:
        flow_ctl_encode_hello(msg, buf);
        break;
    case FLOW_CTL_ANSWER:
        flow_wire_store16(buf + 2, msg->limit);
        flow_wire_store32(buf + 28, msg->token);
        flow_wire_store32(buf + 32, msg->pair);
        buf[36] = msg->rma;
        buf[37] = msg->flags;
        break;
    case FLOW_CTL_ACK:
        flow_wire_store32(buf + 24, msg->clock);
        flow_wire_store16(buf + 28, msg->ack);
        flow_wire_store16(buf + 30, msg->heard);
        flow_wire_store64(buf + 32, msg->acked);
        /* fall through */
    case FLOW_CTL_LIMIT:
        buf[1] = msg->flags;
        flow_wire_store16(buf + 2, msg->limit);
        break;
    case FLOW_CTL_WANT:
        flow_wire_store16(buf + 2, msg->limit);
        break;
    case FLOW_CTL_RESET:
        buf[1] = msg->flags;
        break;
    }
    return len;
}

static flow_drop_t flow_ctl_decode_hello(const uint8_t *buf,
                                         flow_ctl_msg_t *msg)
{
    msg->version = buf[1];
    msg->flags   = buf[2];
    msg->window  = buf[3];
    memcpy(msg->addr.gid, buf + 24, sizeof(msg->addr.gid));
    msg->addr.qpn         = flow_wire_load32(buf + 40);
    msg->addr.qkey        = flow_wire_load32(buf + 44);
    msg->addr.incarnation = msg->src;
    return ((msg->flags & ~FLOW_HELLO_RMA) || (msg->window == 0) ||
            (msg->window > FLOW_INIT_WINDOW_MAX) || (msg->src == 0) ||
            (msg->addr.qpn > FLOW_QPN_MAX)) ?
                   FLOW_DROP_FIELD :
                   FLOW_DROP_NONE;
}

static flow_drop_t flow_ctl_decode_answer(const uint8_t *buf,
                                          flow_ctl_msg_t *msg)
{
    msg->token = flow_wire_load32(buf + 28);
    msg->pair  = flow_wire_load32(buf + 32);
    msg->rma   = buf[36];
    msg->flags = buf[37];
    return ((msg->token > FLOW_WIRE_TOKEN_MASK) ||
            ((msg->token & (FLOW_INDEX_MAX - 1)) == 0) || (msg->rma > 2) ||
            (msg->flags & ~FLOW_LIMIT_RECALL)) ?
                   FLOW_DROP_FIELD :
                   FLOW_DROP_NONE;
}

void flow_ctl_decode_base(const uint8_t *buf, flow_ctl_msg_t *msg)
{
    msg->type = buf[0] & FLOW_WIRE_AM_MASK;
    msg->ep   = flow_wire_load32(buf + 4);
    msg->src  = flow_wire_load64(buf + 8);
    msg->dst  = flow_wire_load64(buf + 16);
    if ((msg->type == FLOW_CTL_ANSWER) || (msg->type == FLOW_CTL_LIMIT) ||
        (msg->type == FLOW_CTL_WANT) || (msg->type == FLOW_CTL_ACK)) {
        msg->limit = flow_wire_load16(buf + 2);
    }
}

flow_drop_t flow_ctl_decode(const uint8_t *buf, size_t len,
                            flow_ctl_msg_t *msg)
{
    unsigned most = 1; /* of flags */

    if (len < 2) {
        return FLOW_DROP_SHORT;
    }

    memset(msg, 0, sizeof(*msg));
    msg->type = buf[0] & FLOW_WIRE_AM_MASK;
    if ((msg->type >= FLOW_CTL_TYPE_LAST) ||
        (flow_ctl_lens[msg->type] == 0)) {
        return FLOW_DROP_TYPE;
    }
    if (buf[0] & (FLOW_WIRE_LONG | FLOW_WIRE_LIMIT)) {
        return FLOW_DROP_FLAGS;
    }
    if ((msg->type == FLOW_CTL_HELLO) && (buf[1] != FLOW_VERSION)) {
        return FLOW_DROP_VERSION; /* its length may differ, too */
    }
    if (len != flow_ctl_lens[msg->type]) {
        return FLOW_DROP_LENGTH;
    }

    flow_ctl_decode_base(buf, msg);
    if (msg->ep == 0) {
        return FLOW_DROP_FIELD;
    }
    switch (msg->type) {
    case FLOW_CTL_HELLO:
        return flow_ctl_decode_hello(buf, msg);
    case FLOW_CTL_ANSWER:
        return flow_ctl_decode_answer(buf, msg);
    case FLOW_CTL_ACK:
        msg->clock = flow_wire_load32(buf + 24);
        msg->ack   = flow_wire_load16(buf + 28);
        msg->heard = flow_wire_load16(buf + 30);
        msg->acked = flow_wire_load64(buf + 32);
        /* fall through */
    case FLOW_CTL_LIMIT:
        msg->flags = buf[1];
        break;
    case FLOW_CTL_RESET:
        msg->flags = buf[1];
        most       = FLOW_RESET_LOST;
        break;
    }
    return (msg->flags > most) ? FLOW_DROP_FIELD : FLOW_DROP_NONE;
}
