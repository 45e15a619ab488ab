/* SPDX-License-Identifier: BSD-3-Clause */
/* resend.c, for the core alone: sending on UD. */
#ifndef FLOW_RESEND_PRIV_H_
#define FLOW_RESEND_PRIV_H_

#include "flow/state_priv.h"
#include "flow/resend.h"

/* Give the flow a ring if it has none. 0: the pool is empty. */
int  flow_resend_prepare(flow_core_t *core, flow_tx_t *tx);
/* The receiver has everything before ack, and number ack + 1 + i for each bit i
 * of map. flow_tx_window follows. */
void flow_resend_ack(flow_core_t *core, flow_tx_t *tx, flow_psn_t ack,
                     uint64_t map);
/* The same packet tells of the receiver itself (flow_path_told); before
 * flow_resend_ack. */
void flow_resend_told(flow_core_t *core, const flow_tx_t *tx, uint32_t clock,
                      uint16_t heard, flow_psn_t ack);
/* Its receiver answered the hello: a first round trip, unless there were
 * several hellos and nobody knows which one was answered. */
void flow_resend_answered(flow_core_t *core, const flow_tx_t *tx);
/* The receiver of this flow answered something: it can be reached. */
void flow_resend_heard(flow_tx_t *tx);
/* Send it again unless it is out or about to be. Nonzero: it will be. */
int  flow_resend_push(flow_core_t *core, flow_op_t *op);
/* How many new packets the congestion window allows now. */
unsigned flow_resend_room(const flow_core_t *core, const flow_tx_t *tx);
/* It may send nothing now: look again when the pause between two is over. */
void flow_resend_blocked(flow_core_t *core, const flow_tx_t *tx);
/* Find lost packets and send those again that the congestion window allows.
 * flow_tx_window follows. */
void flow_resend_run(flow_core_t *core, flow_tx_t *tx);
/* The oldest packet that is out and does not count as lost, or NULL. */
flow_op_t *flow_resend_oldest(const flow_core_t *core, const flow_tx_t *tx);
/* ns until nothing has arrived for too long. */
flow_time_t flow_resend_silence(const flow_core_t *core, const flow_tx_t *tx);
/* The flow failed: so do its operations. */
void flow_resend_fail(flow_core_t *core, flow_tx_t *tx);
/* The flow is gone: its ring is released at its next time-out. */
void flow_resend_detach(flow_core_t *core, flow_tx_t *tx);
/* Before it is sent again: nonzero if it was acknowledged meanwhile (then it is
 * released). */
int  flow_resend_over(flow_core_t *core, flow_op_t *op);

#endif
