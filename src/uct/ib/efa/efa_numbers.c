/* SPDX-License-Identifier: BSD-3-Clause */
#include "efa_numbers.h"

ucx_stats_class_t efa_numbers_class = {
    .name  = "srd",
    .count = EFA_NUMBER_LAST,
    .names =
        {
            [EFA_NUMBER_SENT]         = "messages_sent",
            [EFA_NUMBER_RMA]          = "rma_posted",
            [EFA_NUMBER_RECEIVED]     = "messages_received",
            [EFA_NUMBER_EARLY]        = "messages_early",
            [EFA_NUMBER_STALLS]       = "window_stalls",
            [EFA_NUMBER_NOT_READY]    = "receiver_not_ready",
            [EFA_NUMBER_GRANTED]      = "granted",
            [EFA_NUMBER_POSTED]       = "receives_posted",
            [EFA_NUMBER_POSTED_LEAST] = "receives_posted_least",
            [EFA_NUMBER_BUFFERS]      = "receive_buffers",
            [EFA_NUMBER_KEPT]         = "receive_buffers_kept",
            [EFA_NUMBER_IN_FLIGHT]    = "requests_in_flight",
            [EFA_NUMBER_PEERS]        = "peers",
            [EFA_NUMBER_FLOWS_IN]     = "flows_in",
            [EFA_NUMBER_HANDLES]      = "address_handles",
        },
};

void efa_numbers_read(const efa_iface_t *iface, uint64_t *values)
{
    const efa_rxq_t *rxq = &iface->rxq;
    flow_counters_t  counters;

    flow_core_counters(iface->core, &counters);
    values[EFA_NUMBER_SENT]         = iface->ops_posted - iface->rma_posted;
    values[EFA_NUMBER_RMA]          = iface->rma_posted;
    values[EFA_NUMBER_RECEIVED]     = iface->received;
    values[EFA_NUMBER_EARLY]        = counters.held;
    values[EFA_NUMBER_STALLS]       = counters.stalls;
    values[EFA_NUMBER_NOT_READY]    = counters.rnr;
    values[EFA_NUMBER_GRANTED]      = counters.owed;
    values[EFA_NUMBER_POSTED]       = rxq->posted;
    values[EFA_NUMBER_POSTED_LEAST] = rxq->least;
    values[EFA_NUMBER_BUFFERS]      = rxq->total;
    values[EFA_NUMBER_KEPT]         = rxq->kept;
    values[EFA_NUMBER_IN_FLIGHT]    = iface->ops_posted - iface->ops_done +
                                      iface->ctl_ops;
    values[EFA_NUMBER_PEERS]        = counters.peers;
    values[EFA_NUMBER_FLOWS_IN]     = counters.rx_flows;
    values[EFA_NUMBER_HANDLES]      = iface->ahs.count;
}
