/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_COMPLETE_H_
#define BASE_COMPLETE_H_

#include "base_outstanding.h"

/* The operation is over and its number released: tells its user. A callback
 * runs, and may destroy endpoints. */
void base_complete_op(base_iface_t *iface, base_op_t *op, ucs_status_t status);

/* The device will never return this operation: completes it. */
void base_complete_cancelled(base_iface_t *iface, base_op_t *op,
                             ucs_status_t status);

/* An active message that waited to be sent again never will be: its endpoint
 * failed, or the post did (`err`, an errno value, else 0). */
void base_complete_abandoned(base_iface_t *iface, base_op_t *op, int err);

/* First half of base_complete_am: no callback runs, and no operation
 * changes. */
static inline void
base_complete_am_end(base_iface_t *iface, const base_op_t *op)
{
    flow_tx_t *tx = op->ep->tx;

    if (flow_tx_end(tx, op->flow.psn)) {
        flow_tx_done_slow(iface->core, tx);
    }
}

/* An active message that nobody waits for arrived: base_complete_op without the
 * kinds that it cannot be. (Its flow is not gone, since the core waits for its
 * number.) */
static inline void base_complete_am(base_iface_t *iface, base_op_t *op)
{
    base_complete_am_end(iface, op);
    ++iface->ops_done;
    base_op_give(&iface->ops, op);
}

/*
 * An RDMA operation of user memory that ended well and that nobody is told of:
 * its user's completion has others that are out, and so has its endpoint, where
 * no flush waits. One of many of a list, say.
 */
static inline int
base_complete_rma_is_quiet(const base_iface_t *iface, const base_op_t *op)
{
    const base_ep_t *ep = op->ep;

    return (op->out.kind >= BASE_OUT_GET_ZCOPY) && (op->out.comp != NULL) &&
           (op->out.comp->count > 1) && (ep->rma_ops > 1) &&
           ((ep->flushes | op->reserved | iface->put_flush) == 0);
}

/* base_complete_op of one that is; the caller counts it and gives it back. */
static inline void base_complete_rma(base_iface_t *iface, base_op_t *op)
{
    base_ep_t *ep = op->ep;

    base_outstanding_remove(&op->out);
    --op->out.comp->count;
    --ep->rma_ops;
    --iface->rma_ops;
    ep->rma_worked = 1;
}

#endif
