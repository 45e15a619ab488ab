/* SPDX-License-Identifier: BSD-3-Clause */
/* grant.c, for the core alone: how many packets each sender may send. */
#ifndef FLOW_GRANT_PRIV_H_
#define FLOW_GRANT_PRIV_H_

#include "flow/core_priv.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The flow consumed up to grant_at: grant more, or queue it as starved. */
void flow_grant_check(flow_core_t *core, flow_rx_t *rx);
/* A flow was introduced; it ends. */
void flow_grant_open(flow_core_t *core, flow_rx_t *rx);
void flow_grant_close(flow_core_t *core, flow_rx_t *rx);
/* Choose grant_at: where flow_grant_check is called next. */
void flow_grant_mark(flow_rx_t *rx);
/* UD: the sender says that it sent all before this limit and is blocked. */
void flow_grant_asked(flow_core_t *core, flow_rx_t *rx, flow_psn_t limit);
/* Credits came free: give them to flows that starve. */
void flow_grant_serve(flow_core_t *core);
/* The flow fell silent: recall its credits but FLOW_IDLE_WINDOW, which are not
 * counted. Only where flow_grant_may_leave says so. */
int  flow_grant_may_leave(const flow_rx_t *rx);
void flow_grant_leave(flow_core_t *core, flow_rx_t *rx);
/* Look for silent flows. 0: enough for now, as nobody lacks credits. */
int  flow_grant_tick(flow_core_t *core);

#ifdef __cplusplus
}
#endif

#endif
