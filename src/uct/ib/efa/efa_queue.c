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

static int
efa_post_rdma_direct(efa_qp_t *qp, efa_send_wr_t *wr, const efa_dest_t *dest,
                     efa_rdma_t rdma, uint64_t remote_addr, uint32_t rkey)
{
    efa_io_piece_t remote = efa_rdma_direct(wr, dest, remote_addr, rkey);

    efa_direct_rdma(qp, dest, wr->id, rdma, &remote, wr->wr.sg_list,
                    wr->wr.send_flags & IBV_SEND_INLINE);
    return 0;
}

int efa_post_rdma(efa_qp_t *qp, efa_send_wr_t *wr, const efa_dest_t *dest,
                  efa_rdma_t rdma, uint64_t remote_addr, uint32_t rkey)
{
    return qp->is_direct ?
                   efa_post_rdma_direct(qp, wr, dest, rdma, remote_addr, rkey) :
                   efa_post_rdma_verbs(qp, wr, dest, rdma, remote_addr, rkey);
}

int efa_chain_post(efa_qp_t *qp, efa_chain_t *chain, const efa_dest_t *dest)
{
    struct ibv_send_wr *bad;
    int                 err = 0;

    if (chain->first == NULL) {
        return 0;
    }
    if (!qp->is_direct) {
        bad = &chain->first->wr;
        err = qp->qp->context->ops.post_send(qp->qp, bad, &bad);
        if (err == 0) {
            bad = NULL;
        }
        while ((chain->first != NULL) && (&chain->first->wr != bad)) {
            (void)efa_chain_take(chain);
        }
        return err;
    }
    do {
        (void)efa_post_send(qp, efa_chain_take(chain), dest);
    } while (chain->first != NULL);
    return 0;
}

void efa_list_add(efa_qp_t *qp, efa_send_wr_t *wr, const efa_dest_t *dest,
                  efa_rdma_t rdma, uint64_t remote_addr, uint32_t rkey)
{
    efa_io_piece_t remote;

    if (qp->is_direct) {
        remote = efa_rdma_direct(wr, dest, remote_addr, rkey);
        efa_direct_list_add(qp, dest, wr->id, rdma, &remote,
                            wr->wr.sg_list);
    } else {
        qp->qpx->wr_id = wr->wr.wr_id;
        efa_rdma_verbs(qp->qpx, dest, rdma, remote_addr, rkey, wr->wr.sg_list,
                       1);
    }
}
