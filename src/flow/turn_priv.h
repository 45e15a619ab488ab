/* SPDX-License-Identifier: BSD-3-Clause */
/* turn.c, for the core alone: whose control packets may go. */
#ifndef FLOW_TURN_PRIV_H_
#define FLOW_TURN_PRIV_H_

#include "flow/core_priv.h"

/* A flow that has some due, is not gone and has FLOW_CTL_QUEUED set, which was
 * not. */
void flow_turn_add_tx(flow_core_t *core, flow_tx_t *tx);
void flow_turn_add_rx(flow_core_t *core, flow_rx_t *rx);
/* The next one, 0: none may go. FLOW_TURN_RX: a receiving flow. */
#define FLOW_TURN_RX (1u << FLOW_INDEX_BITS)
uint32_t flow_turn_next(flow_core_t *core);
/* Its peer; once for each. */
flow_peer_t *flow_turn_peer(flow_core_t *core, uint32_t ref);
/* May a packet to this peer go now, of a receiving flow (rx) or a sending? */
int  flow_turn_may_go(const flow_core_t *core, const flow_peer_t *peer, int rx);
/* It may not: wait for another turn. */
void flow_turn_park(flow_core_t *core, flow_peer_t *peer, uint32_t ref);
/* One went, one ended. */
void flow_turn_take(flow_core_t *core, flow_peer_t *peer, int rx);
void flow_turn_give(flow_core_t *core, flow_peer_t *peer, int rx);
/* As many of the peer as may go now get their turn; all that wait do. */
void flow_turn_wake(flow_core_t *core, flow_peer_t *peer);
void flow_turn_wake_all(flow_core_t *core, flow_peer_t *peer);

#endif
