/* SPDX-License-Identifier: BSD-3-Clause */
/* lap.c, for the core alone: no limit outlives half of the numbers (SRD). */
#ifndef FLOW_LAP_PRIV_H_
#define FLOW_LAP_PRIV_H_

#include "flow/state_priv.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * May the limit of this flow's sender grow up to number next? 1: the caller
 * raises it now. 0: not before packets that carry old limits arrived; ask again
 * later, nothing tells when.
 */
int flow_lap_may_raise(flow_core_t *core, const flow_rx_t *rx,
                       flow_psn_t next);
/* Is that why a flow gets nothing? (For up to a window before the line it may
 * be for want of buffers as well.) */
int flow_lap_holds(const flow_core_t *core, const flow_rx_t *rx);

#ifdef __cplusplus
}
#endif

#endif
