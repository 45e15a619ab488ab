/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A ring of the last events, for a debugger, and a hash over all events: two
 * runs from one seed must agree in it. Packets that are delivered or held are
 * not traced, so the data path pays nothing; a limit packet would pay 120
 * instructions, so a transport whose calls nobody will repeat ends it.
 */
#include "flow/trace.h"
#include "flow/trace_priv.h"

void flow_trace_note(flow_core_t *core, flow_trace_what_t what, uint32_t ep,
                     flow_psn_t psn, uint64_t arg)
{
    flow_trace_entry_t *entry;

    entry       = &core->trace[core->trace_pos++ % FLOW_TRACE_LEN];
    entry->what = (uint16_t)what;
    entry->psn  = psn;
    entry->ep   = ep;
    entry->arg  = arg;

    core->trace_hash = flow_trace_mix(core->trace_hash,
                                      ((uint64_t)what << 48) |
                                              ((uint64_t)psn << 32) | ep);
    core->trace_hash = flow_trace_mix(core->trace_hash, arg);
}

void flow_trace_end(flow_core_t *core)
{
    core->trace_off = 1;
}

uint64_t flow_trace_hash(const flow_core_t *core)
{
    return core->trace_hash;
}
