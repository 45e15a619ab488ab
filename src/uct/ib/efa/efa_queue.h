/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFA_QUEUE_H_
#define EFA_QUEUE_H_

#include "efa_qp.h"

/*
 * The data path's way to the device: what is posted and polled, here by the
 * functions that libefa put into the verbs context. Nobody else knows verbs'
 * work requests and completions, so another way (its own writes to the queues)
 * needs another file like this one and no other change.
 *
 * A work request carries a pointer of its owner's, which comes back with its
 * completion.
 */

/* Status of a completion as the device gives it (EFA-FACTS). */
#define EFA_STATUS_FLUSHED 1  /* the queue pair is gone, and not by us */
#define EFA_STATUS_REFUSED 14 /* the peer's device has no handle for us */
#define EFA_STATUS_UNKNOWN 12 /* "bad status", for an error without a number */

/* A piece of registered memory: addr, length, lkey. */
typedef struct ibv_sge efa_sge_t;

/* Where a work request goes: address handle, remote_qpn, remote_qkey. */
typedef __typeof__(((struct ibv_send_wr*)NULL)->wr.ud) efa_dest_t;

typedef struct efa_send_wr {
    struct ibv_send_wr wr;
} efa_send_wr_t;

typedef struct efa_recv_wr {
    struct ibv_recv_wr wr; /* wr.next links those that are free, too */
    efa_sge_t          sge;
} efa_recv_wr_t;

typedef struct efa_wc {
    struct ibv_wc wc;
} efa_wc_t;

/* ---- what to send ---- */

/* Fills in what never changes: it is a SEND, and `user` is its owner's. */
static inline void efa_send_wr_init(efa_send_wr_t *wr, void *user)
{
    wr->wr.wr_id  = (uintptr_t)user;
    wr->wr.opcode = IBV_WR_SEND;
}

/* What it takes along: `count` pieces of memory, or, inlined, their bytes
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

/* Whose queue pair it was posted to last. */
static inline uint32_t efa_send_wr_qpn(const efa_send_wr_t *wr)
{
    return wr->wr.wr.ud.remote_qpn;
}

/* Posts a SEND. Returns 0, or an errno value, and then nothing was posted. */
static inline int
efa_post_send(efa_qp_t *qp, efa_send_wr_t *wr, const efa_dest_t *dest)
{
    struct ibv_send_wr *bad;

    wr->wr.wr.ud = *dest;
    return qp->qp->context->ops.post_send(qp->qp, &wr->wr, &bad);
}

/* Posts the pieces as an RDMA WRITE to `remote_addr`, or an RDMA READ from
 * there into them. As efa_post_send. */
int efa_post_rdma(efa_qp_t *qp, efa_send_wr_t *wr, const efa_dest_t *dest,
                  int is_write, uint64_t remote_addr, uint32_t rkey);

/* Is the errno value of a failed post a matter of time? */
static inline int efa_post_is_shortage(int err)
{
    return (err == ENOMEM) || (err == EAGAIN);
}

/* ---- what to receive into ---- */

/* One buffer, whose wr->sge is set. */
static inline void efa_recv_wr_init(efa_recv_wr_t *wr, void *user)
{
    wr->wr.wr_id   = (uintptr_t)user;
    wr->wr.sg_list = &wr->sge;
    wr->wr.num_sge = 1;
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
    struct ibv_recv_wr *bad = NULL;
    int                 err;

    err    = qp->qp->context->ops.post_recv(qp->qp, &first->wr, &bad);
    *bad_p = (efa_recv_wr_t*)bad;
    return err;
}

/* ---- what came ---- */

/* Polls for up to `max` completions. Returns how many there were, or a negative
 * errno value. */
static inline int efa_poll_tx(efa_qp_t *qp, int max, efa_wc_t *wc)
{
    return qp->tx_cq->context->ops.poll_cq(qp->tx_cq, max, &wc->wc);
}

static inline int efa_poll_rx(efa_qp_t *qp, int max, efa_wc_t *wc)
{
    return qp->rx_cq->context->ops.poll_cq(qp->rx_cq, max, &wc->wc);
}

static inline void *efa_wc_user(const efa_wc_t *wc)
{
    return (void*)(uintptr_t)wc->wc.wr_id;
}

static inline int efa_wc_is_ok(const efa_wc_t *wc)
{
    return wc->wc.status == IBV_WC_SUCCESS;
}

/* Status of a completion as the device gave it; 0 is success. */
static inline unsigned efa_wc_status(const efa_wc_t *wc)
{
    if (__builtin_expect(efa_wc_is_ok(wc), 1)) {
        return 0;
    }
    return (wc->wc.vendor_err != 0) ? wc->wc.vendor_err : EFA_STATUS_UNKNOWN;
}

/* Of a receive: bytes, the sender's queue pair, and the number of our address
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
