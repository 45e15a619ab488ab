/* SPDX-License-Identifier: BSD-3-Clause */
/* Timers, which the caller runs from its progress. */
#ifndef FLOW_TIMER_H_
#define FLOW_TIMER_H_

#include "flow/state_priv.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Earliest time at which flow_timer_run has something to do, FLOW_TIME_NEVER
 * when nothing runs. One load.
 */
static inline flow_time_t flow_timer_next(const flow_core_t *core)
{
    return core->timer_next;
}

/*
 * Run what is due: afterwards flow_ctl_next and flow_tx_repost_next may have
 * something. Cheap when called early.
 */
void flow_timer_run(flow_core_t *core, flow_time_t now);

#ifdef __cplusplus
}
#endif

#endif
