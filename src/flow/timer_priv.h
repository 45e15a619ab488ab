/* SPDX-License-Identifier: BSD-3-Clause */
/* timer.c, for the core alone. */
#ifndef FLOW_TIMER_PRIV_H_
#define FLOW_TIMER_PRIV_H_

#include "flow/core_priv.h"
#include "flow/timer.h"

/* Come back after the back-off of this level; not queued so far. */
void flow_timer_tx(flow_core_t *core, uint32_t index, unsigned level,
                   flow_time_t now);
void flow_timer_rx(flow_core_t *core, uint32_t index, unsigned level,
                   flow_time_t now);
void flow_timer_op(flow_core_t *core, flow_op_t *op, unsigned level,
                   flow_time_t now);
/* UD: as flow_timer_tx, where the time is not known. */
void flow_timer_tx_later(flow_core_t *core, uint32_t index, unsigned level);
/* UD: a ring of a sending flow expires after the delay of its level. */
void flow_timer_ring(flow_core_t *core, uint32_t ring, unsigned level,
                     flow_time_t now);
void flow_timer_ring_later(flow_core_t *core, uint32_t ring, unsigned level);
/* flow_grant_tick is called after a while, unless that is due already. */
void flow_timer_tick(flow_core_t *core);
/* UD: a receiving flow that was closed rests. */
void flow_timer_parted(flow_core_t *core, uint32_t index);
/* The level after this one, held at the last whose delay is <= rnr_max. */
unsigned flow_timer_level_next(const flow_core_t *core, unsigned level);

#endif
