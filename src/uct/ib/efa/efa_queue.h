/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFA_QUEUE_H_
#define EFA_QUEUE_H_

#include "efa_direct_poll.h"
#include "efa_direct_post.h"
#include <util/efa_status.h>

/*
 * The data path's way to the device: posts and polls, by the functions that
 * libefa put into the verbs context, or directly (efa_direct.h). Nobody else
 * knows verbs' work requests and completions.
 *
 * A work request carries a pointer of its owner's, which comes back with its
 * completion.
 */

/* A piece of registered memory: addr, length, lkey. */
typedef struct ibv_sge efa_sge_t;

typedef struct efa_send_wr {
    struct ibv_send_wr wr;
    uint16_t           id;     /* in the table of efa_queue_users */
    uint32_t           inside; /* set by the shortest way of the direct path: so
                                  many bytes of its owner's went inside, and the
                                  pieces are not set; 0: they are */
} efa_send_wr_t;

typedef struct efa_recv_wr {
    struct ibv_recv_wr wr; /* wr.next links those that are free, too */
    efa_sge_t          sge;
    efa_io_recv_t      desc; /* the same for the direct path */
} efa_recv_wr_t;

typedef struct efa_wc {
    struct ibv_wc wc;
} efa_wc_t;

/* The owners of work requests by their ids, before the first is posted. The
 * tables stay the caller's, and may be filled later. */
static inline void efa_queue_users(efa_qp_t *qp, const efa_direct_users_t *tx,
                                   const efa_direct_users_t *rx)
{
    qp->direct.tx.users = *tx;
    qp->direct.rx.users = *rx;
}

/* More owners of receives, at the table's end. */
static inline void efa_queue_more_users(efa_qp_t *qp, unsigned count)
{
    qp->direct.rx.users.count = count;
}

/* ---- what to send ---- */

/* Fills in the members that never change: it is a SEND, and `user` is its
 * owner's, whose number in the table of users is `id`. */
static inline void efa_send_wr_init(efa_send_wr_t *wr, void *user, unsigned id)
{
    wr->wr.wr_id  = (uintptr_t)user;
    wr->wr.opcode = IBV_WR_SEND;
    wr->id        = id;
}

/* The request's payload: `count` pieces of memory, or, inlined, their bytes
 * themselves. The pieces stay the caller's. */
static inline void
efa_send_wr_set(efa_send_wr_t *wr, efa_sge_t *pieces, int count, int inlined)
{
    wr->wr.sg_list    = pieces;
    wr->wr.num_sge    = count;
    wr->wr.send_flags = IBV_SEND_SIGNALED | (inlined ? IBV_SEND_INLINE : 0);
}

static inline const efa_sge_t *efa_send_wr_pieces(const efa_send_wr_t *wr)
{
    return wr->wr.sg_list;
}

static inline int efa_send_wr_count(const efa_send_wr_t *wr)
{
    return wr->wr.num_sge;
}

/* Whether its bytes travel inside the work request. */
static inline int efa_send_wr_is_inside(const efa_send_wr_t *wr)
{
    return (wr->wr.send_flags & IBV_SEND_INLINE) != 0;
}

/* The queue pair to which it was posted last. */
static inline uint32_t efa_send_wr_qpn(const efa_send_wr_t *wr)
{
    return wr->wr.wr.ud.remote_qpn;
}

/* Posts a SEND by libefa. */
static inline int
efa_post_send_verbs(efa_qp_t *qp, efa_send_wr_t *wr, const efa_dest_t *dest)
{
    struct ibv_send_wr *bad;

    wr->wr.wr.ud = dest->verbs;
    return qp->qp->context->ops.post_send(qp->qp, &wr->wr, &bad);
}

/* Posts a SEND. Returns 0, or an errno value, and then nothing was posted. */
static inline int
efa_post_send(efa_qp_t *qp, efa_send_wr_t *wr, const efa_dest_t *dest)
{
    if (!qp->is_direct) {
        return efa_post_send_verbs(qp, wr, dest);
    }
    wr->inside              = 0;
    wr->wr.wr.ud.remote_qpn = dest->remote_qpn;
    efa_direct_send(qp, dest, wr->id, wr->wr.sg_list, wr->wr.num_sge,
                    wr->wr.send_flags & IBV_SEND_INLINE);
    return 0;
}

/* SENDs to one destination that are posted together. */
typedef struct efa_chain {
    efa_send_wr_t *first, *last;
} efa_chain_t;

/* Takes the first off, which is not NULL. */
static inline efa_send_wr_t *efa_chain_take(efa_chain_t *chain)
{
    efa_send_wr_t *wr = chain->first;

    chain->first = (efa_send_wr_t*)wr->wr.next; /* its first member, or NULL */
    wr->wr.next  = NULL;
    return wr;
}

static inline void *efa_send_wr_user(const efa_send_wr_t *wr)
{
    return (void*)(uintptr_t)wr->wr.wr_id;
}

static inline void efa_chain_add(efa_chain_t *chain, efa_send_wr_t *wr,
                                 const efa_dest_t *dest)
{
    wr->wr.wr.ud = dest->verbs;
    if (chain->first == NULL) {
        chain->first = wr;
    } else {
        chain->last->wr.next = &wr->wr;
    }
    chain->last = wr;
}

/* Posts them and takes them off. Returns 0, or an errno value: then those that
 * are left were not posted. */
int efa_chain_post(efa_qp_t *qp, efa_chain_t *chain, const efa_dest_t *dest);

/* One request between ibv_wr_start and ibv_wr_complete, whose owner was set: of
 * libefa's calls only the ibv_wr_ ones post RDMA (EFA-FACTS). `count` pieces; 0
 * is one, inside. */
static inline __attribute__((always_inline)) void
efa_rdma_verbs(struct ibv_qp_ex *qpx, const efa_dest_t *dest, efa_rdma_t rdma,
               uint64_t remote_addr, uint32_t rkey, const efa_sge_t *pieces,
               int count)
{
    qpx->wr_flags = IBV_SEND_SIGNALED;
    switch (rdma) {
    case EFA_RDMA_READ:
        ibv_wr_rdma_read(qpx, rkey, remote_addr);
        break;
    case EFA_RDMA_WRITE:
        ibv_wr_rdma_write(qpx, rkey, remote_addr);
        break;
    }
    if (__builtin_expect(count == 1, 1)) {
        ibv_wr_set_sge(qpx, pieces->lkey, pieces->addr, pieces->length);
    } else if (count == 0) {
        ibv_wr_set_inline_data(qpx, (void*)(uintptr_t)pieces->addr,
                               pieces->length);
    } else {
        ibv_wr_set_sge_list(qpx, count, pieces);
    }
    ibv_wr_set_ud_addr(qpx, dest->ah, dest->remote_qpn, dest->remote_qkey);
}

/* Posts one of them, as efa_post_rdma, of a queue pair that is not direct. */
static inline __attribute__((always_inline)) int
efa_post_rdma_verbs(efa_qp_t *qp, efa_send_wr_t *wr, const efa_dest_t *dest,
                    efa_rdma_t rdma, uint64_t remote_addr, uint32_t rkey)
{
    struct ibv_qp_ex *qpx    = qp->qpx;
    const efa_sge_t  *pieces = wr->wr.sg_list; /* before calls: most know */
    int               count  = wr->wr.num_sge;

    if (wr->wr.send_flags & IBV_SEND_INLINE) {
        count = 0;
    }
    ibv_wr_start(qpx);
    qpx->wr_id = wr->wr.wr_id;
    efa_rdma_verbs(qpx, dest, rdma, remote_addr, rkey, pieces, count);
    return ibv_wr_complete(qpx);
}

/* Posts the pieces as an RDMA WRITE to `remote_addr`, or an RDMA READ from
 * there into them. As efa_post_send. */
int efa_post_rdma(efa_qp_t *qp, efa_send_wr_t *wr, const efa_dest_t *dest,
                  efa_rdma_t rdma, uint64_t remote_addr, uint32_t rkey);

/*
 * A list of RDMA operations of one piece each: begun, then each is added, then
 * it is posted, all or none of it. Nothing else may be posted meanwhile.
 */
static inline void efa_list_begin(efa_qp_t *qp)
{
    if (!qp->is_direct) {
        ibv_wr_start(qp->qpx);
    }
}

/* As efa_post_rdma, but cannot fail: a failed one does so at the end. */
void efa_list_add(efa_qp_t *qp, efa_send_wr_t *wr, const efa_dest_t *dest,
                  efa_rdma_t rdma, uint64_t remote_addr, uint32_t rkey);

/* Returns 0, or an errno value, and then nothing was posted. */
static inline int efa_list_end(efa_qp_t *qp)
{
    if (qp->is_direct) {
        efa_direct_list_end(qp);
        return 0;
    }
    return ibv_wr_complete(qp->qpx);
}

/* Is the errno value of a failed post a matter of time? */
static inline int efa_post_is_shortage(int err)
{
    return (err == ENOMEM) || (err == EAGAIN);
}

/* ---- what to receive into ---- */

/* One buffer, whose wr->sge is set. */
static inline void efa_recv_wr_init(efa_recv_wr_t *wr, void *user, unsigned id)
{
    wr->wr.wr_id   = (uintptr_t)user;
    wr->wr.sg_list = &wr->sge;
    wr->wr.num_sge = 1;
    wr->desc       = efa_direct_recv_desc(&wr->sge, id);
}

static inline void *efa_recv_wr_user(const efa_recv_wr_t *wr)
{
    return (void*)(uintptr_t)wr->wr.wr_id;
}

/* They are posted in chains. */
static inline efa_recv_wr_t *efa_recv_wr_next(const efa_recv_wr_t *wr)
{
    return (efa_recv_wr_t*)wr->wr.next;
}

static inline void efa_recv_wr_link(efa_recv_wr_t *wr, efa_recv_wr_t *next)
{
    wr->wr.next = (next == NULL) ? NULL : &next->wr;
}

/* Posts a chain. Returns 0, or an errno value: then *bad_p is the first that
 * was not posted, or NULL where none was. */
static inline int
efa_post_recv(efa_qp_t *qp, efa_recv_wr_t *first, efa_recv_wr_t **bad_p)
{
    struct ibv_recv_wr *bad   = NULL;
    unsigned            count = 0;
    int                 err;

    if (qp->is_direct) {
        for (; first != NULL; first = efa_recv_wr_next(first), ++count) {
            efa_direct_recv(&qp->direct.rq, &first->desc);
        }
        efa_direct_recv_ring(&qp->direct.rq, count);
        return 0;
    }
    err    = qp->qp->context->ops.post_recv(qp->qp, &first->wr, &bad);
    *bad_p = (efa_recv_wr_t*)bad;
    return err;
}

/* ---- what came ---- */

/* Asks for an event at the next completion of either queue. Returns 0, or an
 * errno value. */
int efa_queue_arm(efa_qp_t *qp);

/* An event of a queue came. */
void efa_queue_event(efa_qp_t *qp, int is_rx);

/* Polls for up to `max` completions. Returns how many there were, or a negative
 * errno value. (_verbs: of a queue pair that is not direct.) */
static inline int efa_poll_tx_verbs(efa_qp_t *qp, int max, efa_wc_t *wc)
{
    return qp->tx_cq->context->ops.poll_cq(qp->tx_cq, max, &wc->wc);
}

static inline int efa_poll_tx(efa_qp_t *qp, int max, efa_wc_t *wc)
{
    return qp->is_direct ?
                   efa_direct_poll(qp, &qp->direct.tx, max, &wc->wc) :
                   efa_poll_tx_verbs(qp, max, wc);
}

static inline int efa_poll_rx_verbs(efa_qp_t *qp, int max, efa_wc_t *wc)
{
    return qp->rx_cq->context->ops.poll_cq(qp->rx_cq, max, &wc->wc);
}

static inline int efa_poll_rx(efa_qp_t *qp, int max, efa_wc_t *wc)
{
    return qp->is_direct ?
                   efa_direct_poll(qp, &qp->direct.rx, max, &wc->wc) :
                   efa_poll_rx_verbs(qp, max, wc);
}

static inline void *efa_wc_user(const efa_wc_t *wc)
{
    return (void*)(uintptr_t)wc->wc.wr_id;
}

static inline int efa_wc_is_ok(const efa_wc_t *wc)
{
    return wc->wc.status == IBV_WC_SUCCESS;
}

/*
 * A receive's success without an immediate, which nobody of us sends. A
 * peer's RDMA WRITE with one takes a receive and places nothing there: the
 * length is that of bytes that were written elsewhere, the buffer is as it was.
 */
static inline int efa_wc_is_usual(const efa_wc_t *wc)
{
    return (wc->wc.status | wc->wc.wc_flags) == 0;
}

/* Status of a completion as the device gave it; 0 is success. */
static inline unsigned efa_wc_status(const efa_wc_t *wc)
{
    if (__builtin_expect(efa_wc_is_ok(wc), 1)) {
        return 0;
    }
    return (wc->wc.vendor_err != 0) ? wc->wc.vendor_err : EFA_STATUS_BAD_ANSWER;
}

/* A receive's bytes, the sender's queue pair, and the number of our address
 * handle for it or EFA_AH_UNKNOWN. */
static inline uint32_t efa_wc_length(const efa_wc_t *wc)
{
    return wc->wc.byte_len;
}

static inline uint32_t efa_wc_qpn(const efa_wc_t *wc)
{
    return wc->wc.src_qp;
}

static inline uint16_t efa_wc_ah(const efa_wc_t *wc)
{
    return wc->wc.slid;
}

#endif
