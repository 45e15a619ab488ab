/* SPDX-License-Identifier: BSD-3-Clause */
/* RDMA work requests: only the ibv_wr_ calls can post them (EFA-FACTS). */
#include "base_post.h"

int base_post_rdma(base_iface_t *iface, const base_ep_t *ep, base_op_t *op)
{
    struct ibv_qp_ex *qpx = iface->qp.qpx;

    if (__builtin_expect(iface->traced, 0)) {
        base_trace_log_tx(iface, op, ep->dest.remote_qpn);
    }
    ibv_wr_start(qpx);
    qpx->wr_id    = (uintptr_t)op;
    qpx->wr_flags = IBV_SEND_SIGNALED;
    if (op->out.kind == BASE_OUT_PUT) {
        ibv_wr_rdma_write(qpx, op->rkey, op->remote_addr);
    } else {
        ibv_wr_rdma_read(qpx, op->rkey, op->remote_addr);
    }
    if (op->wr.send_flags & IBV_SEND_INLINE) {
        ibv_wr_set_inline_data(qpx, (void*)(uintptr_t)op->wr.sg_list->addr,
                               op->wr.sg_list->length);
    } else {
        ibv_wr_set_sge_list(qpx, op->wr.num_sge, op->wr.sg_list);
    }
    ibv_wr_set_ud_addr(qpx, ep->dest.ah, ep->dest.remote_qpn,
                       ep->dest.remote_qkey);
    return ibv_wr_complete(qpx);
}
