/* SPDX-License-Identifier: BSD-3-Clause */
/* pair.c, for the core alone: which flow's headers carry whose limit. */
#ifndef FLOW_PAIR_PRIV_H_
#define FLOW_PAIR_PRIV_H_

#include "flow/state_priv.h"

/* A flow begins: look for one of the other direction to pair it with. */
void flow_pair_hello(flow_core_t *core, flow_rx_t *rx);
void flow_pair_open(flow_core_t *core, flow_tx_t *tx);
/* The peer takes limits from this flow's headers for its endpoint ep; 0:
 * none. */
void flow_pair_answer(flow_core_t *core, flow_tx_t *tx, uint32_t ep);
/* One of a pair ends. */
void flow_pair_rx_gone(flow_core_t *core, flow_rx_t *rx);
void flow_pair_tx_gone(flow_core_t *core, flow_tx_t *tx);
/* A sending flow failed: limits in its headers may not have arrived. */
void flow_pair_tx_failed(flow_core_t *core, flow_tx_t *tx);

#endif
