/* SPDX-License-Identifier: BSD-3-Clause */
#include "base_counters.h"

const char *const base_counter_names[] = BASE_COUNTER_NAMES;

static uint64_t base_counters_dropped(const flow_counters_t *counters)
{
    uint64_t sum = 0;
    unsigned i;

    for (i = 0; i < FLOW_DROP_LAST; ++i) {
        sum += counters->drops[i];
    }
    return sum;
}

void base_counters_read(const base_iface_t *iface, uint64_t *values)
{
    const base_rxq_t *rxq = &iface->rxq;
    flow_counters_t   counters;

    flow_core_counters(iface->core, &counters);
    values[BASE_COUNTER_SENT]         = iface->ops_posted - iface->rma_posted;
    values[BASE_COUNTER_RMA]          = iface->rma_posted;
    values[BASE_COUNTER_RECEIVED]     = iface->received;
    values[BASE_COUNTER_EARLY]        = counters.held;
    values[BASE_COUNTER_DROPPED]      = base_counters_dropped(&counters);
    values[BASE_COUNTER_STALLS]       = counters.stalls;
    values[BASE_COUNTER_NOT_READY]    = counters.rnr;
    values[BASE_COUNTER_RESENT]       = counters.timeouts +
                                       counters.fast_resends;
    values[BASE_COUNTER_GRANTED]      = counters.owed;
    values[BASE_COUNTER_POSTED]       = rxq->posted;
    values[BASE_COUNTER_POSTED_LEAST] = rxq->least;
    values[BASE_COUNTER_BUFFERS]      = rxq->total;
    values[BASE_COUNTER_KEPT]         = rxq->kept;
    values[BASE_COUNTER_IN_FLIGHT]    = iface->ops_posted - iface->ops_done +
                                       iface->ctl_ops;
    values[BASE_COUNTER_PEERS]    = counters.peers;
    values[BASE_COUNTER_FLOWS_IN] = counters.rx_flows;
    values[BASE_COUNTER_HANDLES]  = iface->ahs.gids.count;
}
