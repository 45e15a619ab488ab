/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow/drop_priv.h"
#include "flow/rx.h"
#include "flow/trace_priv.h"

static const char *const flow_drop_names[] = {
    "none",
#define FLOW_DROP_NAME(_name) #_name,
    FLOW_DROP_LIST(FLOW_DROP_NAME)
#undef FLOW_DROP_NAME
};

const char *flow_drop_name(flow_drop_t reason)
{
    return ((unsigned)reason < FLOW_DROP_LAST) ? flow_drop_names[reason] : "?";
}

void flow_drop_count(flow_core_t *core, flow_drop_t reason)
{
    ++core->counters.drops[reason];
    flow_trace(core, FLOW_TRACE_DROP, 0, 0, reason);
}

flow_rx_verdict_t flow_drop_packet(flow_core_t *core, flow_drop_t reason,
                                   flow_rx_out_t *out)
{
    flow_drop_count(core, reason);
    out->reason = reason;
    return FLOW_RX_DROP;
}
