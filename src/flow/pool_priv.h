/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pool.c, for the core alone: objects by index, zeroed but for index (and
 * generation). 0: none, for peers and rings; the others must be asked for
 * before. A flow goes back in two steps: clear, after which nothing finds it,
 * and release, after which it is used again.
 */
#ifndef FLOW_POOL_PRIV_H_
#define FLOW_POOL_PRIV_H_

#include "flow/state_priv.h"
#include "flow/pool.h"

uint32_t flow_pool_tx_get(flow_core_t *core);
void     flow_pool_tx_release(flow_core_t *core, uint32_t index);
void     flow_pool_tx_clear(flow_core_t *core, uint32_t index);
uint32_t flow_pool_rx_get(flow_core_t *core);
void     flow_pool_rx_release(flow_core_t *core, uint32_t index);
void     flow_pool_rx_clear(flow_core_t *core, uint32_t index);
uint32_t flow_pool_peer_get(flow_core_t *core);
void     flow_pool_peer_release(flow_core_t *core, uint32_t index);
/* Receive flows that can be had without growing; is there a peer? */
uint32_t flow_pool_rx_free(const flow_core_t *core);
int      flow_pool_peer_free(const flow_core_t *core);
uint32_t flow_pool_ring_get(flow_core_t *core);
void     flow_pool_ring_release(flow_core_t *core, uint32_t index);


/* Are only FLOW_SPARE indices left, with which to refuse further flows? */
int      flow_pool_is_full(const flow_core_t *core, int new_peer);

#endif
