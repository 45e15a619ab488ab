/* SPDX-License-Identifier: BSD-3-Clause */
/* grant.c, for the core alone: how much each sender may send. */
#ifndef FLOW_GRANT_PRIV_H_
#define FLOW_GRANT_PRIV_H_

#include "flow/core_priv.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The flow consumed up to its mark: give it more, or queue it as starved. */
void flow_grant_check(flow_core_t *core, flow_rx_t *rx);
void flow_grant_open(flow_core_t *core, flow_rx_t *rx);
void flow_grant_close(flow_core_t *core, flow_rx_t *rx);
void flow_grant_mark(flow_rx_t *rx);
/* UD: it is blocked at this limit, having sent all up to it. */
void flow_grant_asked(flow_core_t *core, flow_rx_t *rx, flow_psn_t limit);
void flow_grant_serve(flow_core_t *core);
/* The flow fell silent: it keeps a little, which is not counted. Not one that
 * waits for credits, or has ended. */
int  flow_grant_may_leave(const flow_rx_t *rx);
void flow_grant_leave(flow_core_t *core, flow_rx_t *rx);
/* Look for silent flows. 0: no need to come back. */
int  flow_grant_tick(flow_core_t *core);

#ifdef __cplusplus
}
#endif

#endif
