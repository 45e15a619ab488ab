/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turn.c, for the core alone: in which order flows send their control packets,
 * and how many of each peer may be out.
 */
#ifndef FLOW_TURN_PRIV_H_
#define FLOW_TURN_PRIV_H_

#include "flow/state_priv.h"

/* Queue a flow that has control packets due. The caller has just set
 * FLOW_CTL_QUEUED. */
void flow_turn_add_tx(flow_core_t *core, flow_tx_t *tx);
void flow_turn_add_rx(flow_core_t *core, flow_rx_t *rx);
/* Take the next flow off its queue: its index, with FLOW_TURN_RX for a
 * receiving one. 0: none may send now. */
uint32_t flow_turn_next(flow_core_t *core);
/* The peer of the flow that flow_turn_next returned; to be called once for
 * each. */
flow_peer_t *flow_turn_peer(flow_core_t *core, uint32_t ref);
/* May one more packet be out to this peer, of a receiving flow (rx) or not? */
int  flow_turn_may_go(const flow_core_t *core, const flow_peer_t *peer, int rx);
/* The most frequent case in one: the next flow is a receiving one with nothing
 * due but its limit, and may send it. It is handed out, and the flow has left
 * its queue. NULL: it is not so, and nothing was done. */
flow_rx_t *flow_turn_take_limit(flow_core_t *core);
/* It may not: the flow waits with its peer. */
void flow_turn_park(flow_core_t *core, flow_peer_t *peer, uint32_t ref);
/* A packet was handed out; one ended. */
void flow_turn_take(flow_core_t *core, flow_peer_t *peer, int rx);
void flow_turn_give(flow_core_t *core, flow_peer_t *peer, int rx);
/* Flows that wait with the peer are queued again: as many as may send, or
 * all. */
void flow_turn_wake(flow_core_t *core, flow_peer_t *peer);
void flow_turn_wake_all(flow_core_t *core, flow_peer_t *peer);

#endif
