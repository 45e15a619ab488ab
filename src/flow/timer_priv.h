/* SPDX-License-Identifier: BSD-3-Clause */
/* timer.c, for the core alone. */
#ifndef FLOW_TIMER_PRIV_H_
#define FLOW_TIMER_PRIV_H_

#include "flow/state_priv.h"
#include "flow/timer.h"

/* Make due again after the back-off of this level, or of the last one whose
 * wait is within rnr_max: a flow's control packets (it is on no queue), an
 * operation. */
void flow_timer_tx(flow_core_t *core, uint32_t index, unsigned level,
                   flow_time_t now);
void flow_timer_rx(flow_core_t *core, uint32_t index, unsigned level,
                   flow_time_t now);
void flow_timer_op(flow_core_t *core, flow_op_t *op, unsigned level,
                   flow_time_t now);
/* UD: as flow_timer_tx, for callers that do not know the time. */
void flow_timer_tx_later(flow_core_t *core, uint32_t index, unsigned level);
/* flow_hand_tick is called after a while. */
void flow_timer_tick(flow_core_t *core);
/* UD: free this receiving flow when nothing of it can be on the way any
 * more. */
void flow_timer_parted(flow_core_t *core, uint32_t index);
/* The wait of a level, ns. */
flow_time_t flow_timer_delay(const flow_core_t *core, unsigned level);
/* The level after this one, which a field of four bits holds. */
static inline unsigned flow_timer_level_next(unsigned level)
{
    return level + (level + 1 < FLOW_LEVELS);
}
/* The level after so many refusals (< FLOW_LEVELS) of a flow whose first
 * message did not arrive yet. */
unsigned flow_timer_fresh_level(unsigned refusals);

/* The same as flow_timer_run, without a call where nothing is due: nearly
 * always. */
static inline void flow_timer_run_due(flow_core_t *core, flow_time_t now)
{
    core->now = now;
    if (flow_unlikely(now >= core->timer_next)) {
        flow_timer_run(core, now);
    }
}

#endif
