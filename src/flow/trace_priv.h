/* SPDX-License-Identifier: BSD-3-Clause */
/* trace.c, for the core alone. */
#ifndef FLOW_TRACE_PRIV_H_
#define FLOW_TRACE_PRIV_H_

#include "flow/state_priv.h"

/* Note an event, its endpoint number, its PSN, and a detail. */
typedef enum flow_trace_what {
    FLOW_TRACE_OPEN = 1, FLOW_TRACE_CLOSE, FLOW_TRACE_GONE, FLOW_TRACE_FAIL,
    FLOW_TRACE_STALL, FLOW_TRACE_DROP, FLOW_TRACE_GRANT,
    FLOW_TRACE_STARVED, FLOW_TRACE_LIMIT, FLOW_TRACE_CTL_TX,
    FLOW_TRACE_CTL_RX, FLOW_TRACE_CTL_DONE, FLOW_TRACE_RNR, FLOW_TRACE_PEER,
    FLOW_TRACE_RX_OPEN, FLOW_TRACE_RX_CLOSE, FLOW_TRACE_TIMEOUT,
    FLOW_TRACE_ACK, FLOW_TRACE_RECALL
} flow_trace_what_t;

/* A hash that has taken in one more word. */
static inline uint64_t flow_trace_mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
    return hash ^ (hash >> 29);
}

/* Out of line part of flow_trace. */
void flow_trace_note(flow_core_t *core, flow_trace_what_t what, uint32_t ep,
                     flow_psn_t psn, uint64_t arg);

static inline void flow_trace(flow_core_t *core, flow_trace_what_t what,
                              uint32_t ep, flow_psn_t psn, uint64_t arg)
{
    if (flow_unlikely(!core->trace_off)) {
        flow_trace_note(core, what, ep, psn, arg);
    }
}

#endif
