/* SPDX-License-Identifier: BSD-3-Clause */
/* tx.c, for the core alone. */
#ifndef FLOW_TX_PRIV_H_
#define FLOW_TX_PRIV_H_

#include "flow/core_priv.h"
#include "flow/tx.h"

void flow_tx_event(flow_core_t *core, flow_tx_t *tx, unsigned due);
void flow_tx_ctl_due(flow_core_t *core, flow_tx_t *tx, unsigned due);
void flow_tx_limit(flow_core_t *core, flow_tx_t *tx, flow_psn_t limit);
/* It shall send nothing from this number on until it hears of a limit again. */
void flow_tx_recall(flow_core_t *core, flow_tx_t *tx, flow_psn_t limit);
void flow_tx_died(flow_core_t *core, flow_tx_t *tx, flow_end_t why);
/* Open or waiting for its answer: it may send, or will. */
static inline int flow_tx_is_live(const flow_tx_t *tx)
{
    return (tx->state == FLOW_TX_HELLO) || (tx->state == FLOW_TX_OPEN);
}
void flow_tx_try_release(flow_core_t *core, flow_tx_t *tx);
/* The flow to this peer with this endpoint number, or NULL. */
flow_tx_t *flow_tx_find(flow_core_t *core, const flow_peer_t *peer,
                        uint32_t ep);
static inline uint32_t flow_tx_index(const flow_tx_t *tx)
{
    return tx->ep & (FLOW_INDEX_MAX - 1);
}

#endif
