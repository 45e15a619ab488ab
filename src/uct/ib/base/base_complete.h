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

/* First half of base_complete_am, for which the direct path has registers: no
 * callback runs, and no operation changes. */
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
    flow_tx_t *tx = op->ep->tx;

    if (flow_tx_end(tx, op->flow.psn) && !flow_tx_wants_limit(tx)) {
        flow_tx_done_slow(iface->core, tx);
    }
    ++iface->ops_done;
    base_op_give(&iface->ops, op);
}

/* A read into our buffer ended well: its user takes the bytes. From now on it
 * is as one into his memory, and nobody but the caller ends it. A callback
 * runs. */
static inline void base_complete_unpack(base_op_t *op)
{
    op->out.kind = BASE_OUT_GET_TAKEN;
    op->unpack.func(op->unpack.arg, op->bounce->data, op->bounce->sge.length);
}

/*
 * An RDMA operation that ended well and at whose end there is nothing to do but
 * to tell its user: at its endpoint no flush waits, and either others are out
 * or no fence does.
 */
static inline int
base_complete_rma_is_short(const base_iface_t *iface, const base_op_t *op)
{
    const base_ep_t *ep = op->ep;

    return (op->out.kind >= BASE_OUT_GET_TAKEN) &&
           ((ep->flushes | op->reserved | iface->put_flush) == 0) &&
           ((ep->rma_ops > 1) ||
            (!ep->fenced && (ep->tx != NULL) &&
             (iface->ops.sink == &iface->ops.free)));
}

/* base_complete_op of one that is short; the caller counts it, gives it back,
 * and then calls what is returned, if it is not NULL. */
static inline uct_completion_t *
base_complete_rma(base_iface_t *iface, base_op_t *op)
{
    uct_completion_t *comp = op->out.comp;
    base_ep_t        *ep   = op->ep;

    base_outstanding_remove(&op->out);
    --ep->rma_ops;
    --iface->rma_ops;
    ep->rma_worked = 1;
    return ((comp != NULL) && (--comp->count == 0)) ? comp : NULL;
}

#endif
