/* SPDX-License-Identifier: BSD-3-Clause */
/* grant.c, for the core alone: how many packets each sender may send. */
#ifndef FLOW_GRANT_PRIV_H_
#define FLOW_GRANT_PRIV_H_

#include "flow/state_priv.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The flow is in use, and consumed up to look_low: more credits, now or in its
 * turn. */
void flow_grant_flow_used(flow_core_t *core, flow_rx_t *rx);
/* A flow was introduced; it ends. */
void flow_grant_flow_open(flow_core_t *core, flow_rx_t *rx);
void flow_grant_flow_close(flow_core_t *core, flow_rx_t *rx);
/* Choose look_low: where flow_grant_flow_used is called next. */
void flow_grant_next_look(flow_rx_t *rx);
/* UD: the sender says that it sent all before this limit and is blocked. */
void flow_grant_limit_asked(flow_core_t *core, flow_rx_t *rx, flow_psn_t limit);
/* Credits came free: give them to flows that starve. */
void flow_grant_starved_serve(flow_core_t *core);
/* The flow fell silent: recall its credits but FLOW_IDLE_WINDOW, which are not
 * counted. Only where flow_grant_may_recall says so. */
int  flow_grant_may_recall(const flow_rx_t *rx);
void flow_grant_recall(flow_core_t *core, flow_rx_t *rx);
/* Look for silent flows. 0: enough for now, as nobody lacks credits. */
int  flow_grant_hand_round(flow_core_t *core);

#ifdef __cplusplus
}
#endif

#endif
