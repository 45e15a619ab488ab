/* SPDX-License-Identifier: BSD-3-Clause */
/* Received packets, as record_call.c records the other calls. */
#define RECORD_CALL_NAMES_OFF
#include "record_call.h"
#include "record_begin.h"

typedef flow_rx_verdict_t (*record_accept_t)(flow_core_t *core,
                                             const void *pkt, size_t len,
                                             void *handle, flow_src_t src,
                                             flow_rx_out_t *out);

static inline unsigned record_verdict(flow_rx_verdict_t verdict,
                                      unsigned am_id, unsigned offset)
{
    return (unsigned)verdict | (am_id << 3) | (offset << 8);
}

/* Verdict, message id and offset in one number, in the other the flow that is
 * to be drained (odd), or why it is dropped (even). */
static flow_rx_verdict_t
record_accept(record_t *record, const void *pkt, size_t len, void *handle,
              flow_src_t src, flow_rx_out_t *out, record_accept_t accept)
{
    flow_rx_verdict_t verdict;
    flow_rx_out_t     said = {.token = 0};

    record_write_bytes(record, pkt, record_format_packet(pkt, len));
    record_write_number(record, len);
    record_write_handle(record, handle);
    record_write_src(record, src);
    verdict = accept(record->core, pkt, len, handle, src, &said);
    record_write_number(record, record_verdict(verdict, said.am_id,
                                               said.offset));
    record_write_number(record, said.more ? ((uint64_t)said.token << 1) | 1 :
                                      (uint64_t)said.reason << 1);
    record_write_end(record);
    if (verdict != FLOW_RX_NO_MEMORY) {
        *out = said;
    }
    return verdict;
}

flow_rx_verdict_t
record_call_rx_accept_slow(flow_core_t *core, const void *pkt, size_t len,
                           void *handle, flow_src_t src, flow_rx_out_t *out)
{
    record_t *record = record_begin(core, RECORD_RX_ACCEPT);

    return record_accept(record, pkt, len, handle, src, out,
                         flow_rx_accept_slow);
}

flow_rx_verdict_t
record_call_rx_accept_held(flow_core_t *core, const void *pkt, size_t len,
                           void *handle, flow_src_t src, flow_rx_out_t *out)
{
    record_t *record = record_begin(core, RECORD_RX_ACCEPT_HELD);

    return record_accept(record, pkt, len, handle, src, out,
                         flow_rx_accept_held);
}

/* Nothing is written where the core leaves the packet. */
flow_rx_verdict_t
record_call_rx_short(flow_core_t *core, const void *pkt, size_t len,
                     void *handle, int may_hold, flow_src_t src, uint64_t *word)
{
    record_t         *record;
    flow_rx_verdict_t verdict;
    uint8_t          *at;

    if (flow_core_user(core) == NULL) { /* it stopped */
        return flow_rx_short(core, pkt, len, handle, may_hold, src, word);
    }
    record  = record_begin_none(core);
    verdict = flow_rx_short(core, pkt, len, handle, may_hold, src, word);
    if (flow_unlikely(verdict == FLOW_RX_OTHER)) {
        return verdict;
    }
    at    = record->pos;
    *at++ = RECORD_RX_SHORT;
    at = record_put_header(at, *word);
    at = record_put_number(at, len);
    at = record_put_number(at, record_step(&record->base.handle,
                                           (uintptr_t)handle) + 1);
    at = record_put_number(at, record_step(&record->base.src, src));
    if (flow_unlikely(verdict == FLOW_RX_HOLD)) {
        at = record_put_number(at, FLOW_RX_HOLD);
    } else {
        at = record_put_number(at, record_verdict(FLOW_RX_DELIVER,
                                                  *word & FLOW_WIRE_AM_MASK,
                                                  FLOW_SHORT_HDR));
    }
    record->pos = record_put_number(at, (verdict == FLOW_RX_FILL) ?
                                        (flow_wire_token(*word) << 1) | 1 : 0);
    record_write_end(record);
    return verdict;
}

unsigned record_call_rx_run(flow_core_t *core, uint32_t token, void **handles,
                            unsigned max)
{
    record_t *record = record_begin_number(core, RECORD_RX_RUN, token);
    unsigned  count, i;

    record_write_number(record, max);
    count = flow_rx_run(core, token, handles, max);
    record_write_number(record, count);
    for (i = 0; i < count; ++i) {
        record_write_handle(record, handles[i]);
    }
    record_write_end(record);
    return count;
}
