/* SPDX-License-Identifier: BSD-3-Clause */
/* Timers, which the caller runs from its progress. */
#ifndef FLOW_TIMER_H_
#define FLOW_TIMER_H_

#include "flow/state_priv.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Earliest time at which flow_timer_run or flow_tx_repost_next has something to
 * do, FLOW_TIME_NEVER when nothing runs and nothing waits to be posted again.
 * One load.
 */
static inline flow_time_t flow_timer_next(const flow_core_t *core)
{
    return core->timer_next;
}

/*
 * UD: the time, as of now. Round trips are measured by it, so tell it before
 * packets are received, and before some are sent after a pause. All calls that
 * take a time tell it, too.
 */
static inline void flow_timer_set_now(flow_core_t *core, flow_time_t now)
{
    core->now = now;
}

/*
 * Run the timers that are due: afterwards flow_ctl_next and flow_tx_repost_next
 * may have something. Cheap when called early.
 */
void flow_timer_run(flow_core_t *core, flow_time_t now);

#ifdef __cplusplus
}
#endif

#endif
