/* SPDX-License-Identifier: BSD-3-Clause */
/* The beginning of each post: an operation, and the call of the queue. */
#include "base_post.h"
#include "base_flow.h"

int base_post_rdma(base_iface_t *iface, const base_ep_t *ep, base_op_t *op)
{
    base_post_log(iface, &ep->dest, op);
    return efa_post_rdma(&iface->qp, &op->wr, &ep->dest,
                         base_op_rdma(op->out.kind), op->remote_addr, op->rkey);
}

base_op_t *base_post_reserve_op(base_iface_t *iface, base_ep_t *ep)
{
    int moves = flow_reserve_moves(flow_tx_busy(ep->tx), &ep->reserve_seen);

    iface->todo |= BASE_TODO_DRAIN;
    if (!base_op_is_left(&iface->ops) ||
        !flow_reserve_may(&iface->ops.reserve, &ep->ah->share, moves,
                          base_flow_clock(iface))) {
        iface->dispatch.lacked = 1;
        return NULL;
    }
    return iface->ops.free_reserve;
}
