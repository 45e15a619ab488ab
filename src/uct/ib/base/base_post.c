/* SPDX-License-Identifier: BSD-3-Clause */
#include "base_post.h"

int base_post_rdma(base_iface_t *iface, const base_ep_t *ep, base_op_t *op)
{
    if (__builtin_expect(iface->traced, 0)) {
        base_trace_log_tx(iface, op, ep->dest.remote_qpn);
    }
    return efa_post_rdma(&iface->qp, &op->wr, &ep->dest,
                         op->out.kind == BASE_OUT_PUT, op->remote_addr,
                         op->rkey);
}
