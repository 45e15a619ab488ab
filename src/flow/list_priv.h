/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * list.c, for the core alone: the flows of a peer. Leaving a list costs the
 * same wherever a flow stands: it is marked as gone, and taken out later; the
 * head is never one.
 */
#ifndef FLOW_LIST_PRIV_H_
#define FLOW_LIST_PRIV_H_

#include "flow/state_priv.h"

void flow_list_add_tx(flow_peer_t *peer, flow_tx_t *tx);
void flow_list_add_rx(flow_peer_t *peer, flow_rx_t *rx);
/* Take the flow off the list of the peer and free it. */
void flow_list_free_tx(flow_core_t *core, flow_peer_t *peer, flow_tx_t *tx);
void flow_list_free_rx(flow_core_t *core, flow_peer_t *peer, flow_rx_t *rx);
/* Take a flow off the list that lives on; free it later. */
void flow_list_unlist_rx(flow_core_t *core, flow_peer_t *peer, flow_rx_t *rx);
void flow_list_free_unlisted_rx(flow_core_t *core, flow_rx_t *rx);
/* The next that is not gone; 0: none. */
uint32_t flow_list_next_tx(const flow_core_t *core, const flow_tx_t *tx);
uint32_t flow_list_next_rx(const flow_core_t *core, const flow_rx_t *rx);
/* Take out those that went, if there are many. Not while a list is walked. */
void flow_list_sweep(flow_core_t *core);

#endif
