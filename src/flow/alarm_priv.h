/* SPDX-License-Identifier: BSD-3-Clause */
/* alarm.c, for the core alone: UD. */
#ifndef FLOW_ALARM_PRIV_H_
#define FLOW_ALARM_PRIV_H_

#include "flow/state_priv.h"

/* flow_time_out_ring is called for the ring then, or somewhat later. */
void flow_alarm_set(flow_core_t *core, uint32_t ring, flow_time_t due);
/* The same, unless it is called earlier anyhow. */
void flow_alarm_sooner(flow_core_t *core, uint32_t ring, flow_time_t due);
/* Take the ring whose time has come off the heap; 0: there is none. */
uint32_t flow_alarm_pop(flow_core_t *core, flow_time_t now);

/* When the first of them is due, FLOW_TIME_NEVER when there is none. */
static inline flow_time_t flow_alarm_next(const flow_core_t *core)
{
    return (core->alarms == 0) ?
                   FLOW_TIME_NEVER :
                   flow_core_ring(core, flow_core_ring(core, 1)->unacked.heap)
                           ->unacked.due;
}

#endif
