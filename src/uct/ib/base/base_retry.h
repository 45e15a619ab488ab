/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_RETRY_H_
#define BASE_RETRY_H_

#include "base_types.h"

/* An operation, a control packet was refused (base_retry.c): may it be
 * tried again? Says so if an endpoint that works has to fail for it. */
int base_retry_may(base_iface_t *iface, const base_op_t *op);
int base_retry_ctl(base_iface_t *iface, base_op_t *op);

/* A control packet got through: the peer's device knows us. */
static inline void
base_retry_ctl_ended(const base_op_t *op, flow_send_status_t status)
{
    if (__builtin_expect(op->ctl.ah->refused.last != 0, 0) &&
        (status == FLOW_SEND_OK) &&
        (op->ctl.ah->refused_qpn == efa_send_wr_qpn(&op->wr))) {
        op->ctl.ah->refused = (base_refused_t){0, 0};
    }
}

/* Tries an operation again, later, if base_retry_may allows it. */
void base_retry_op(base_iface_t *iface, base_op_t *op);

/* Posts RDMA again whose time has come. Returns how much was done. */
unsigned base_retry_run(base_iface_t *iface);

/* Completes the operations of one endpoint that wait for that, with its
 * status. */
void base_retry_cancel_ep(base_iface_t *iface, const base_ep_t *ep);

/* Nothing waits any more: the caller completes it. */
void base_retry_forget(base_iface_t *iface);

#endif
