/* SPDX-License-Identifier: BSD-3-Clause */
#include "efa_queue.h"

int efa_queue_arm(efa_qp_t *qp)
{
    int err;

    if (qp->is_direct) {
        efa_direct_arm(&qp->direct.rx);
        efa_direct_arm(&qp->direct.tx);
        return 0;
    }
    err = qp->rx_cq->context->ops.req_notify_cq(qp->rx_cq, 0);
    return (err == 0) ? qp->tx_cq->context->ops.req_notify_cq(qp->tx_cq, 0) :
                        err;
}

void efa_queue_event(efa_qp_t *qp, int is_rx)
{
    ++(is_rx ? &qp->direct.rx : &qp->direct.tx)->events;
}

/* The other end of requests that go directly. */
static inline efa_io_piece_t
efa_rdma_direct(efa_send_wr_t *wr, const efa_dest_t *dest, uint64_t remote_addr,
                uint32_t rkey)
{
    efa_io_piece_t remote = {
        .length = wr->wr.sg_list->length,
        .key    = rkey,
        .addr   = remote_addr
    };

    wr->inside              = 0;
    wr->wr.wr.ud.remote_qpn = dest->remote_qpn;
    return remote;
}

/* One request between ibv_wr_start and ibv_wr_complete: of libefa's calls only
 * the ibv_wr_ ones post RDMA (EFA-FACTS). */
static inline __attribute__((always_inline)) void
efa_rdma_verbs(struct ibv_qp_ex *qpx, efa_send_wr_t *wr, const efa_dest_t *dest,
               efa_rdma_t rdma, uint64_t remote_addr, uint32_t rkey)
{
    qpx->wr_id    = wr->wr.wr_id;
    qpx->wr_flags = IBV_SEND_SIGNALED;
    switch (rdma) {
    case EFA_RDMA_READ:
        ibv_wr_rdma_read(qpx, rkey, remote_addr);
        break;
    case EFA_RDMA_WRITE:
        ibv_wr_rdma_write(qpx, rkey, remote_addr);
        break;
    }
    if (wr->wr.send_flags & IBV_SEND_INLINE) {
        ibv_wr_set_inline_data(qpx, (void*)(uintptr_t)wr->wr.sg_list->addr,
                               wr->wr.sg_list->length);
    } else {
        ibv_wr_set_sge_list(qpx, wr->wr.num_sge, wr->wr.sg_list);
    }
    ibv_wr_set_ud_addr(qpx, dest->ah, dest->remote_qpn, dest->remote_qkey);
}

static int
efa_post_rdma_direct(efa_qp_t *qp, efa_send_wr_t *wr, const efa_dest_t *dest,
                     efa_rdma_t rdma, uint64_t remote_addr, uint32_t rkey)
{
    efa_io_piece_t remote = efa_rdma_direct(wr, dest, remote_addr, rkey);

    efa_direct_rdma(qp, &dest->direct, wr->id, rdma, &remote, wr->wr.sg_list,
                    wr->wr.send_flags & IBV_SEND_INLINE);
    return 0;
}

int efa_post_rdma(efa_qp_t *qp, efa_send_wr_t *wr, const efa_dest_t *dest,
                  efa_rdma_t rdma, uint64_t remote_addr, uint32_t rkey)
{
    struct ibv_qp_ex *qpx = qp->qpx;

    if (qp->is_direct) {
        return efa_post_rdma_direct(qp, wr, dest, rdma, remote_addr, rkey);
    }
    ibv_wr_start(qpx);
    efa_rdma_verbs(qpx, wr, dest, rdma, remote_addr, rkey);
    return ibv_wr_complete(qpx);
}

void efa_list_add(efa_qp_t *qp, efa_send_wr_t *wr, const efa_dest_t *dest,
                  efa_rdma_t rdma, uint64_t remote_addr, uint32_t rkey)
{
    efa_io_piece_t remote;

    if (qp->is_direct) {
        remote = efa_rdma_direct(wr, dest, remote_addr, rkey);
        efa_direct_list_add(qp, &dest->direct, wr->id, rdma, &remote,
                            wr->wr.sg_list);
    } else {
        efa_rdma_verbs(qp->qpx, wr, dest, rdma, remote_addr, rkey);
    }
}
