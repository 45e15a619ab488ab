/* SPDX-License-Identifier: BSD-3-Clause */
#include "efa_trace.h"

#include <flow/ctl_wire.h>
#include <flow/wire.h>

#include <stdio.h>

static const char *const efa_ctl_names[FLOW_CTL_TYPE_LAST] = {
    [FLOW_CTL_HELLO]   = "hello",
    [FLOW_CTL_ANSWER]  = "answer",
    [FLOW_CTL_LIMIT]   = "limit",
    [FLOW_CTL_WHO]     = "who are you",
    [FLOW_CTL_WANT]    = "want",
    [FLOW_CTL_RESET]   = "reset",
    [FLOW_CTL_PING]    = "ping",
    [FLOW_CTL_GOODBYE] = "goodbye",
    [FLOW_CTL_ACK]     = "ack",
    [FLOW_CTL_PARTED]  = "parted"
};

/* Messages, and goodbye, which has their header. */
static void efa_trace_data(char *line, size_t size, const uint8_t *packet,
                           uint64_t word, size_t length)
{
    unsigned header  = flow_wire_word_len(word);
    char     what[16];
    int      written;

    snprintf(what, sizeof(what), (word & FLOW_WIRE_CTL) ? "goodbye" : "am %u",
             (unsigned)(word & FLOW_WIRE_AM_MASK));
    written = snprintf(line, size, "%s psn %u, %zu bytes", what,
                       (unsigned)flow_wire_psn(word),
                       (length > header) ? length - header : 0);
    if ((written < 0) || ((size_t)written >= size)) {
        return;
    }
    line += written;
    size -= written;
    if (flow_wire_is_long(word) && (length >= FLOW_LONG_HDR)) {
        snprintf(line, size, ", from %016llx endpoint %u to %016llx",
                 (unsigned long long)flow_wire_load_names(packet).from,
                 flow_wire_load_names(packet).ep,
                 (unsigned long long)flow_wire_load_names(packet).to);
        return;
    }
    written = snprintf(line, size, ", token %06x",
                       (unsigned)flow_wire_token(word));
    if ((word & FLOW_WIRE_LIMIT) && (written > 0) && ((size_t)written < size)) {
        snprintf(line + written, size - written, ", limit %u",
                 (unsigned)flow_wire_limit(word));
    }
}

static void efa_trace_ctl(char *line, size_t size, const uint8_t *packet,
                          unsigned type, size_t length)
{
    const char *name = (type < FLOW_CTL_TYPE_LAST) ? efa_ctl_names[type] : NULL;
    char        limit[24] = "";
    flow_ctl_msg_t msg = {0};

    if ((name == NULL) || (length < FLOW_CTL_BASE_LEN)) {
        snprintf(line, size, "control packet of unknown type %u, %zu bytes",
                 type, length);
        return;
    }
    flow_ctl_decode_base(packet, &msg);
    if ((type == FLOW_CTL_ANSWER) || (type == FLOW_CTL_LIMIT) ||
        (type == FLOW_CTL_WANT) || (type == FLOW_CTL_ACK)) {
        snprintf(limit, sizeof(limit), " %u,", msg.limit);
    }
    snprintf(line, size, "%s,%s endpoint %u, from %016llx to %016llx", name,
             limit, msg.ep, (unsigned long long)msg.src,
             (unsigned long long)msg.dst);
}

void efa_trace_packet(char *line, size_t size, const void *packet,
                      size_t length)
{
    uint64_t word;
    unsigned type;

    if (length < FLOW_SHORT_HDR) {
        snprintf(line, size, "packet of %zu bytes, too short for a header",
                 length);
        return;
    }
    word = flow_wire_load64(packet);
    type = word & FLOW_WIRE_AM_MASK;
    if ((word & FLOW_WIRE_CTL) && (type != FLOW_CTL_GOODBYE)) {
        efa_trace_ctl(line, size, packet, type, length);
    } else {
        efa_trace_data(line, size, packet, word, length);
    }
}

/* What the user's tracer says of a message, of which `length` bytes are at
 * hand; nothing of other packets. */
static void efa_trace_am(efa_iface_t *iface, uct_am_trace_type_t type,
                         const uint8_t *packet, size_t length, char *text)
{
    uint64_t word;
    unsigned header;

    text[0] = '\0';
    if (length < FLOW_SHORT_HDR) {
        return;
    }
    word   = flow_wire_load64(packet);
    header = flow_wire_word_len(word);
    if (!(word & FLOW_WIRE_CTL) && (length >= header)) {
        ucx_iface_dump_am(&iface->super, type, word & FLOW_WIRE_AM_MASK,
                          packet + header, length - header, text,
                          EFA_TRACE_TEXT);
    }
}

static void efa_trace_log(efa_iface_t *iface, const char *direction,
                          uint32_t qpn, const char *line, const char *text)
{
    host_log(iface->super.host, (ucs_log_level_t)iface->trace_level,
             "%s: QPN %u %s %s%s%s", efa_iface_md(iface)->device->name, qpn,
             direction, line, (text[0] != '\0') ? " " : "", text);
}

void efa_trace_log_tx(efa_iface_t *iface, const efa_op_t *op, uint32_t qpn)
{
    const struct ibv_sge *first = op->wr.sg_list;
    char                  line[EFA_TRACE_LINE], text[EFA_TRACE_TEXT];
    size_t                length = 0;
    int                   i;

    if (!(iface->traced & EFA_TRACED_LOG)) {
        return;
    }
    for (i = 0; i < op->wr.num_sge; ++i) {
        length += op->wr.sg_list[i].length;
    }
    if (op->out.kind != EFA_OUT_CTL && efa_out_is_rma(op->out.kind)) {
        snprintf(line, sizeof(line), "%s, %zu bytes",
                 (op->out.kind == EFA_OUT_PUT) ? "write" : "read", length);
        efa_trace_log(iface, "TX", qpn, line, "");
        return;
    }
    /* The headers lie in the first piece; the others may be of a GPU, whose
     * memory nobody can read here */
    efa_trace_packet(line, sizeof(line), (const void*)(uintptr_t)first->addr,
                     length);
    efa_trace_am(iface, UCT_AM_TRACE_TYPE_SEND,
                 (const void*)(uintptr_t)first->addr, first->length, text);
    efa_trace_log(iface, "TX", qpn, line, text);
}

void efa_trace_log_rx(efa_iface_t *iface, const void *packet, size_t length,
                      uint32_t qpn)
{
    char line[EFA_TRACE_LINE], text[EFA_TRACE_TEXT];

    if (!(iface->traced & EFA_TRACED_LOG)) {
        return;
    }
    efa_trace_packet(line, sizeof(line), packet, length);
    efa_trace_am(iface, UCT_AM_TRACE_TYPE_RECV, packet, length, text);
    efa_trace_log(iface, "RX", qpn, line, text);
}
