/* SPDX-License-Identifier: BSD-3-Clause */
/* grant.c, for the core alone: how many packets each sender may send. */
#ifndef FLOW_GRANT_PRIV_H_
#define FLOW_GRANT_PRIV_H_

#include "flow/state_priv.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The flow consumed up to look_low: gives it more credits, now or in its turn,
 * and sets look_low anew. */
void flow_grant_flow_used(flow_core_t *core, flow_rx_t *rx);
/* tx is about to send, perhaps after a silence: raises the limit that its
 * headers carry where that is due. */
void flow_grant_pair_sends(flow_core_t *core, const flow_tx_t *tx);
/* The flow's hello was seen; the flow ends. The packets that it may send before
 * an answer are counted only where there is room for two windows: elsewhere new
 * flows may have more on their way than there are buffers. */
void flow_grant_flow_open(flow_core_t *core, flow_rx_t *rx);
void flow_grant_flow_close(flow_core_t *core, flow_rx_t *rx);
/* Sets look_low, where flow_grant_flow_used is called next: when half of its
 * credits are left, or three quarters if a pair carries its limits; of a calm
 * flow FLOW_CALM_LOW, or half. Never behind the limit that its sender knows. */
void flow_grant_next_look(flow_rx_t *rx);
/* UD: the sender says that it sent all before this limit and is blocked. */
void flow_grant_limit_asked(flow_core_t *core, flow_rx_t *rx, flow_psn_t limit);
/* Credits came free: give them to flows that starve. */
void flow_grant_starved_serve(flow_core_t *core);
/* Could not all flows have a full window? */
int  flow_grant_is_short(const flow_core_t *core);
/* Has an active flow less than it had if it were calm? */
int  flow_grant_is_tight(const flow_core_t *core);
/* For hand.c. Credits that the flow consumed are owed no more. */
void flow_grant_owed_sync(flow_core_t *core, flow_rx_t *rx);
/* The flow's credits are counted no more. Choose look_low afterwards. */
void flow_grant_flow_calm(flow_core_t *core, flow_rx_t *rx);
/* Credits that a flow keeps which fell silent. */
int  flow_grant_idle_window(const flow_core_t *core);
/* It fell silent: recall its other credits. Not where it waits for credits, or
 * for its last packets. */
void flow_grant_recall(flow_core_t *core, flow_rx_t *rx);

#ifdef __cplusplus
}
#endif

#endif
