/* SPDX-License-Identifier: BSD-3-Clause */
/* rx_record.c, for the core alone: the records of receiving flows. */
#ifndef FLOW_RX_RECORD_PRIV_H_
#define FLOW_RX_RECORD_PRIV_H_

#include "flow/rx_priv.h"

/* The flow from this peer with this endpoint number, or NULL. */
flow_rx_t *flow_rx_find(flow_core_t *core, const flow_peer_t *peer,
                        uint32_t ep);
/* A new flow, after flow_rx_room said CONTROL. It is a stranger until
 * flow_rx_introduce. */
flow_rx_t *flow_rx_create(flow_core_t *core, flow_peer_t *peer, uint32_t ep);
/* Is there room for a new flow (of a new peer)? CONTROL: yes. NO_MEMORY: after
 * growing. DROP: never. */
flow_rx_verdict_t flow_rx_room(flow_core_t *core, int new_peer,
                               flow_rx_out_t *out);
/* Free a closed flow that is on no queue. */
void flow_rx_try_release(flow_core_t *core, flow_rx_t *rx);

#endif
