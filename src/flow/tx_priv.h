/* SPDX-License-Identifier: BSD-3-Clause */
/* tx.c, for the core alone. */
#ifndef FLOW_TX_PRIV_H_
#define FLOW_TX_PRIV_H_

#include "flow/state_priv.h"
#include "flow/timer_priv.h"
#include "flow/tx.h"

/* The receiver advertised this limit; an older or impossible one is ignored. */
void flow_tx_limit(flow_core_t *core, flow_tx_t *tx, flow_psn_t limit);
/* The receiver recalls credits: send nothing from this number on, until it
 * advertises a limit again. */
void flow_tx_recall(flow_core_t *core, flow_tx_t *tx, flow_psn_t limit);
/* UD: the congestion window changed, or what is out. */
void flow_tx_window(flow_core_t *core, flow_tx_t *tx);
/* Neither failed nor closed: it may send, or will. */
static inline int flow_tx_is_live(const flow_tx_t *tx)
{
    return (tx->state == FLOW_TX_HELLO) || (tx->state == FLOW_TX_OPEN);
}
/* A hello ended, or was answered. Refused (receiver-not-ready): nothing of the
 * flow goes until the next one has ended otherwise. */
void flow_tx_hello_ended(flow_core_t *core, flow_tx_t *tx, int refused);
/* A closed flow: say goodbye, or let it go, if nothing of it is out. */
void flow_tx_try_release(flow_core_t *core, flow_tx_t *tx);
/* The flow to this peer with this endpoint number, or NULL. */
flow_tx_t *flow_tx_find(flow_core_t *core, const flow_peer_t *peer,
                        uint32_t ep);

/* Not answered yet, or its first messages did not all arrive yet. */
static inline int flow_tx_begins(const flow_core_t *core, const flow_tx_t *tx)
{
    flow_psn_t taken = flow_tx_psn(tx) - core->params.first_psn;

    return (tx->state == FLOW_TX_HELLO) ||
           ((taken <= FLOW_INIT_WINDOW_MAX) && (tx->busy != 0));
}
/* The level of its next back-off after receiver-not-ready. A flow that begins
 * comes back sooner. */
static inline unsigned flow_tx_backoff_level(const flow_core_t *core,
                                             const flow_tx_t *tx)
{
    return flow_tx_begins(core, tx) ? flow_timer_fresh_level(tx->backoff) :
                                      tx->backoff;
}

#endif
