/* SPDX-License-Identifier: BSD-3-Clause */
/* lap.c, for the core alone: no limit outlives half of the numbers (SRD). */
#ifndef FLOW_LAP_PRIV_H_
#define FLOW_LAP_PRIV_H_

#include "flow/state_priv.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Is there a line between two limits? */
static inline int flow_lap_crosses(const flow_core_t *core, flow_psn_t from,
                                   flow_psn_t to)
{
    return ((from ^ to) & ~(core->params.lap - 1u)) != 0;
}

/* Out of line part of flow_lap_may_raise: there is a line between. */
int flow_lap_cross(flow_core_t *core, const flow_rx_t *rx, flow_psn_t next);

/*
 * May the limit of this flow's sender grow up to number next? 1: the caller
 * raises it now; where that crosses a line, what carries older limits has to
 * arrive before more is sent to that peer. 0: they have not arrived since the
 * last line; ask again later, nothing tells when.
 */
static inline int flow_lap_may_raise(flow_core_t *core, const flow_rx_t *rx,
                                     flow_psn_t next)
{
    return flow_likely(!flow_lap_crosses(core, rx->limit, next)) ||
           flow_lap_cross(core, rx, next);
}
/* Is that why a flow gets nothing? (For up to a window before the line it may
 * be for want of buffers as well.) */
int flow_lap_holds(const flow_core_t *core, const flow_rx_t *rx);

#ifdef __cplusplus
}
#endif

#endif
