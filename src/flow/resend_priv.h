/* SPDX-License-Identifier: BSD-3-Clause */
/* resend.c, for the core alone: sending on UD. */
#ifndef FLOW_RESEND_PRIV_H_
#define FLOW_RESEND_PRIV_H_

#include "flow/state_priv.h"
#include "flow/resend.h"

/* Give the flow a ring if it has none. 0: the pool is empty. */
int  flow_resend_prepare(flow_core_t *core, flow_tx_t *tx);
/* The receiver has everything before ack, and number ack + 1 + i for each bit i
 * of map. */
void flow_resend_ack(flow_core_t *core, flow_tx_t *tx, flow_psn_t ack,
                     uint64_t map);
/* The receiver of this flow answered something: it can be reached. */
void flow_resend_heard(flow_tx_t *tx);
/* Send it again unless it is out or about to be. Nonzero: it will be. */
int  flow_resend_push(flow_core_t *core, flow_op_t *op);
/* The wait for what was overtaken is over: send again what is missing still.
 * Nonzero: it waits once more, for what was overtaken meanwhile. */
int  flow_resend_gap_over(flow_core_t *core, uint32_t ring);
/* The flow failed: so do its operations. */
void flow_resend_fail(flow_core_t *core, flow_tx_t *tx);
/* The flow is gone: its ring is released at its next time-out. */
void flow_resend_detach(flow_core_t *core, flow_tx_t *tx);
/* Before it is sent again: nonzero if it was acknowledged meanwhile (then it is
 * released). */
int  flow_resend_over(flow_core_t *core, flow_op_t *op);

#endif
