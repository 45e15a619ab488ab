/* SPDX-License-Identifier: BSD-3-Clause */
#include "efa_queue.h"

/* Only the ibv_wr_ calls can post RDMA (EFA-FACTS). */
int efa_post_rdma(efa_qp_t *qp, efa_send_wr_t *wr, const efa_dest_t *dest,
                  int is_write, uint64_t remote_addr, uint32_t rkey)
{
    struct ibv_qp_ex *qpx = qp->qpx;

    ibv_wr_start(qpx);
    qpx->wr_id    = wr->wr.wr_id;
    qpx->wr_flags = IBV_SEND_SIGNALED;
    if (is_write) {
        ibv_wr_rdma_write(qpx, rkey, remote_addr);
    } else {
        ibv_wr_rdma_read(qpx, rkey, remote_addr);
    }
    if (wr->wr.send_flags & IBV_SEND_INLINE) {
        ibv_wr_set_inline_data(qpx, (void*)(uintptr_t)wr->wr.sg_list->addr,
                               wr->wr.sg_list->length);
    } else {
        ibv_wr_set_sge_list(qpx, wr->wr.num_sge, wr->wr.sg_list);
    }
    ibv_wr_set_ud_addr(qpx, dest->ah, dest->remote_qpn, dest->remote_qkey);
    return ibv_wr_complete(qpx);
}
