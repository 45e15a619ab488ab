/* SPDX-License-Identifier: BSD-3-Clause */
/* resend.c, for the core alone: sending on UD. */
#ifndef FLOW_RESEND_PRIV_H_
#define FLOW_RESEND_PRIV_H_

#include "flow/core_priv.h"
#include "flow/resend.h"

/* A ring for a flow that has none; 0: the pool is empty. */
int  flow_resend_prepare(flow_core_t *core, flow_tx_t *tx);
/* The receiver's word: everything before ack, and ack + 1 + i for bit i. */
void flow_resend_ack(flow_core_t *core, flow_tx_t *tx, flow_psn_t ack,
                     uint64_t map);
/* The peer was heard on behalf of this flow. */
void flow_resend_heard(flow_tx_t *tx);
/* The batch of this ring expired. */
void flow_resend_expired(flow_core_t *core, uint32_t ring, flow_time_t now);
/* The flow ends: all its operations are over, with an error. */
void flow_resend_fail(flow_core_t *core, flow_tx_t *tx);
/* The flow is gone: the ring goes when its batch expires. */
void flow_resend_detach(flow_core_t *core, flow_tx_t *tx);
/* A control packet is out of our hands: repeat what has not been answered. */
void flow_resend_ctl(flow_core_t *core, flow_tx_t *tx, flow_time_t now);
/* Is this operation not to be sent again but released? */
int  flow_resend_over(flow_core_t *core, flow_op_t *op);

#endif
