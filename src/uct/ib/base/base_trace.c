/* SPDX-License-Identifier: BSD-3-Clause */
#include "base_trace.h"

#include <record/record_format.h>

#include <stdio.h>

/* The user's tracer describes a message, of which `length` bytes are at hand;
 * of other packets it says nothing. */
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

static const char *base_trace_rdma(efa_rdma_t rdma)
{
    switch (rdma) {
    case EFA_RDMA_READ:
        return "read";
    case EFA_RDMA_WRITE:
        return "write";
    }
    return "?";
}

void base_trace_log_tx(base_iface_t *iface, const base_op_t *op, uint32_t qpn)
{
    const efa_sge_t *first = efa_send_wr_pieces(&op->wr);
    char             line[BASE_TRACE_LINE], text[BASE_TRACE_TEXT];
    size_t           length = 0;
    int              i;

    for (i = 0; i < efa_send_wr_count(&op->wr); ++i) {
        length += efa_send_wr_pieces(&op->wr)[i].length;
    }
    if (base_op_is_rma(op->out.kind)) {
        snprintf(line, sizeof(line), "%s, %zu bytes",
                 base_trace_rdma(base_op_rdma(op->out.kind)), length);
        base_trace_log(iface, "TX", qpn, line, "");
        return;
    }
    /* The headers lie in the first piece; the others may be of a GPU, whose
     * memory nobody can read here */
    record_packet_text(line, sizeof(line), (const void*)(uintptr_t)first->addr,
                      length);
    base_trace_am(iface, UCT_AM_TRACE_TYPE_SEND,
                  (const void*)(uintptr_t)first->addr, first->length, text);
    base_trace_log(iface, "TX", qpn, line, text);
}

void base_trace_log_nothing(base_iface_t *iface, uint32_t qpn)
{
    base_trace_log(iface, "TX", qpn, "nothing, 0 bytes", "");
}

void base_trace_log_rx(base_iface_t *iface, const void *packet, size_t length,
                       uint32_t qpn)
{
    char line[BASE_TRACE_LINE], text[BASE_TRACE_TEXT];

    record_packet_text(line, sizeof(line), packet, length);
    base_trace_am(iface, UCT_AM_TRACE_TYPE_RECV, packet, length, text);
    base_trace_log(iface, "RX", qpn, line, text);
}
