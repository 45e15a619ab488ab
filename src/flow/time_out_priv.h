/* SPDX-License-Identifier: BSD-3-Clause */
/* time_out.c, for the core alone: UD. */
#ifndef FLOW_TIME_OUT_PRIV_H_
#define FLOW_TIME_OUT_PRIV_H_

#include "flow/state_priv.h"

/* The time-out of this ring: send overdue packets again. */
void flow_time_out_ring(flow_core_t *core, uint32_t ring, flow_time_t now);
/* A control packet was sent: repeat it later if it is not answered. */
void flow_time_out_ctl(flow_core_t *core, flow_tx_t *tx, flow_time_t now);

#endif
