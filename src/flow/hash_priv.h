/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hash.c, for the core alone: heads of chains (they hold an index), and records
 * inserted and removed.
 */
#ifndef FLOW_HASH_PRIV_H_
#define FLOW_HASH_PRIV_H_

#include "flow/state_priv.h"

uint32_t *flow_hash_incarnation(flow_core_t *core, uint64_t incarnation);
uint32_t *flow_hash_addr(flow_core_t *core, const flow_peer_t *peer);
uint32_t *flow_hash_rx(flow_core_t *core, uint32_t peer, uint32_t ep);
void      flow_hash_insert_peer(flow_core_t *core, flow_peer_t *peer);
void      flow_hash_remove_peer(flow_core_t *core, flow_peer_t *peer);
void      flow_hash_insert_addr(flow_core_t *core, flow_peer_t *peer);
void      flow_hash_remove_addr(flow_core_t *core, flow_peer_t *peer);
void      flow_hash_insert_rx(flow_core_t *core, flow_rx_t *rx);
void      flow_hash_remove_rx(flow_core_t *core, flow_rx_t *rx);
/* Move everything to the table at mem; the old one, NULL if there was none. */
void     *flow_hash_move(flow_core_t *core, void *mem);
/* Heads of the table to be handed over next; is it time for that? */
uint32_t  flow_hash_next_size(const flow_core_t *core);
static inline int flow_hash_full(const flow_core_t *core)
{
    uint64_t used = (core->counters.peers > core->counters.rx_flows) ?
                            core->counters.peers :
                            core->counters.rx_flows;

    return used + FLOW_RX_BATCH >= (uint64_t)core->hash_size * FLOW_HASH_LOAD;
}

#endif
