/* SPDX-License-Identifier: BSD-3-Clause */
#include "base_trace.h"

#include <flow/ctl_wire.h>
#include <flow/wire.h>

#include <stdio.h>

static const char *const base_ctl_names[FLOW_CTL_TYPE_LAST] = {
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
static void base_trace_data(char *line, size_t size, const uint8_t *packet,
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

static void base_trace_ctl(char *line, size_t size, const uint8_t *packet,
                           unsigned type, size_t length)
{
    const char *name = (type < FLOW_CTL_TYPE_LAST) ? base_ctl_names[type] :
                                                     NULL;
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

void base_trace_packet(char *line, size_t size, const void *packet,
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
        base_trace_ctl(line, size, packet, type, length);
    } else {
        base_trace_data(line, size, packet, word, length);
    }
}

/* What the user's tracer says of a message, of which `length` bytes are at
 * hand; nothing of other packets. */
static void base_trace_am(base_iface_t *iface, uct_am_trace_type_t type,
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
                          BASE_TRACE_TEXT);
    }
}

static void base_trace_log(base_iface_t *iface, const char *direction,
                           uint32_t qpn, const char *line, const char *text)
{
    host_log(iface->super.host, (ucs_log_level_t)iface->trace_level,
             "%s: QPN %u %s %s%s%s", base_iface_md(iface)->device->name, qpn,
             direction, line, (text[0] != '\0') ? " " : "", text);
}

void base_trace_log_tx(base_iface_t *iface, const base_op_t *op, uint32_t qpn)
{
    const efa_sge_t *first = efa_send_wr_pieces(&op->wr);
    char             line[BASE_TRACE_LINE], text[BASE_TRACE_TEXT];
    size_t           length = 0;
    int              i;

    if (!(iface->traced & BASE_TRACED_LOG)) {
        return;
    }
    for (i = 0; i < efa_send_wr_count(&op->wr); ++i) {
        length += efa_send_wr_pieces(&op->wr)[i].length;
    }
    if (base_op_is_rma(op->out.kind)) {
        snprintf(line, sizeof(line), "%s, %zu bytes",
                 (op->out.kind == BASE_OUT_PUT) ? "write" : "read", length);
        base_trace_log(iface, "TX", qpn, line, "");
        return;
    }
    /* The headers lie in the first piece; the others may be of a GPU, whose
     * memory nobody can read here */
    base_trace_packet(line, sizeof(line), (const void*)(uintptr_t)first->addr,
                      length);
    base_trace_am(iface, UCT_AM_TRACE_TYPE_SEND,
                  (const void*)(uintptr_t)first->addr, first->length, text);
    base_trace_log(iface, "TX", qpn, line, text);
}

void base_trace_log_rx(base_iface_t *iface, const void *packet, size_t length,
                       uint32_t qpn)
{
    char line[BASE_TRACE_LINE], text[BASE_TRACE_TEXT];

    if (!(iface->traced & BASE_TRACED_LOG)) {
        return;
    }
    base_trace_packet(line, sizeof(line), packet, length);
    base_trace_am(iface, UCT_AM_TRACE_TYPE_RECV, packet, length, text);
    base_trace_log(iface, "RX", qpn, line, text);
}
