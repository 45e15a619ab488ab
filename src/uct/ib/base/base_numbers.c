/* SPDX-License-Identifier: BSD-3-Clause */
#include "base_numbers.h"

ucx_stats_class_t base_numbers_class = {
    .name  = "srd",
    .count = BASE_NUMBER_LAST,
    .names =
        {
            [BASE_NUMBER_SENT]         = "messages_sent",
            [BASE_NUMBER_RMA]          = "rma_posted",
            [BASE_NUMBER_RECEIVED]     = "messages_received",
            [BASE_NUMBER_EARLY]        = "messages_early",
            [BASE_NUMBER_STALLS]       = "window_stalls",
            [BASE_NUMBER_NOT_READY]    = "receiver_not_ready",
            [BASE_NUMBER_GRANTED]      = "granted",
            [BASE_NUMBER_POSTED]       = "receives_posted",
            [BASE_NUMBER_POSTED_LEAST] = "receives_posted_least",
            [BASE_NUMBER_BUFFERS]      = "receive_buffers",
            [BASE_NUMBER_KEPT]         = "receive_buffers_kept",
            [BASE_NUMBER_IN_FLIGHT]    = "requests_in_flight",
            [BASE_NUMBER_PEERS]        = "peers",
            [BASE_NUMBER_FLOWS_IN]     = "flows_in",
            [BASE_NUMBER_HANDLES]      = "address_handles",
        },
};

void base_numbers_read(const base_iface_t *iface, uint64_t *values)
{
    const base_rxq_t *rxq = &iface->rxq;
    flow_counters_t   counters;

    flow_core_counters(iface->core,  &counters);
    values[BASE_NUMBER_SENT]         = iface->ops_posted - iface->rma_posted;
    values[BASE_NUMBER_RMA]          = iface->rma_posted;
    values[BASE_NUMBER_RECEIVED]     = iface->received;
    values[BASE_NUMBER_EARLY]        = counters.held;
    values[BASE_NUMBER_STALLS]       = counters.stalls;
    values[BASE_NUMBER_NOT_READY]    = counters.rnr;
    values[BASE_NUMBER_GRANTED]      = counters.owed;
    values[BASE_NUMBER_POSTED]       = rxq->posted;
    values[BASE_NUMBER_POSTED_LEAST] = rxq->least;
    values[BASE_NUMBER_BUFFERS]      = rxq->total;
    values[BASE_NUMBER_KEPT]         = rxq->kept;
    values[BASE_NUMBER_IN_FLIGHT]    = iface->ops_posted - iface->ops_done +
                                       iface->ctl_ops;
    values[BASE_NUMBER_PEERS]    = counters.peers;
    values[BASE_NUMBER_FLOWS_IN] = counters.rx_flows;
    values[BASE_NUMBER_HANDLES]  = iface->ahs.count;
}
