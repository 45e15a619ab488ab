/* SPDX-License-Identifier: BSD-3-Clause */
#include "base_numbers.h"

const char *const base_number_names[] = BASE_NUMBER_NAMES;

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
    values[BASE_NUMBER_RESENT]       = counters.timeouts +
                                       counters.fast_resends;
    values[BASE_NUMBER_GRANTED]      = counters.owed;
    values[BASE_NUMBER_POSTED]       = rxq->posted;
    values[BASE_NUMBER_POSTED_LEAST] = rxq->least;
    values[BASE_NUMBER_BUFFERS]      = rxq->total;
    values[BASE_NUMBER_KEPT]         = rxq->kept;
    values[BASE_NUMBER_IN_FLIGHT]    = iface->ops_posted - iface->ops_done +
                                       iface->ctl_ops;
    values[BASE_NUMBER_PEERS]    = counters.peers;
    values[BASE_NUMBER_FLOWS_IN] = counters.rx_flows;
    values[BASE_NUMBER_HANDLES]  = iface->ahs.gids.count;
}
