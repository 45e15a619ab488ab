/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SRD_RMA_H_
#define SRD_RMA_H_

#include "srd.h"

#include <uct/ib/base/base_am.h>
#include <uct/ib/base/base_fail.h>
#include <uct/ib/base/base_outstanding.h>
#include <uct/ib/base/base_pending.h>
#include <uct/ib/base/base_post.h>
#include <uct/ib/base/base_wireup.h>
#include <uct/ib/efa/efa_mr.h>

/* Steps that gets and puts share. */

/* Out of line parts of srd_rma_start. The endpoint's request has to wait:
 * returns what base_fail_ep_blocked says. */
ucs_status_t srd_rma_blocked(base_ep_t *ep);

/* An operation of the reserve, or for the request that is being dispatched, or
 * NULL. */
base_op_t *srd_rma_other_op(base_iface_t *iface, base_ep_t *ep);

/* The peer has no handle for us yet.
 * UCS_ERR_NO_RESOURCE, or UCS_ERR_UNREACHABLE when it never will. */
ucs_status_t srd_rma_not_ready(base_iface_t *iface, base_ep_t *ep);

/* One of no byte is done: nothing is posted, and UCX_LOG_LEVEL=data shows it.
 * UCS_OK. */
ucs_status_t srd_rma_nothing(base_ep_t *ep);

/* One was, or a list, and ep->rma_unusual is set. */
void srd_rma_posted(base_iface_t *iface, base_ep_t *ep);

/* One of them, until it is posted. */
typedef struct srd_rma {
    base_ep_t    *ep;
    base_iface_t *iface;
    base_op_t    *op;
    uint64_t      remote_addr; /* where the bytes lie at the other end */
    uct_rkey_t    rkey;
} srd_rma_t;

/*
 * UCS_OK when an RDMA operation may be posted now: then rma->op is it, free
 * still, and where nothing is posted nothing has changed.
 * UCS_ERR_NO_RESOURCE, UCS_ERR_UNREACHABLE, or why the endpoint failed.
 */
static inline __attribute__((always_inline)) ucs_status_t
srd_rma_start(srd_rma_t *rma, uct_ep_h tl_ep, uint64_t remote_addr,
              uct_rkey_t rkey)
{
    base_ep_t    *ep    = (base_ep_t*)tl_ep;
    base_iface_t *iface = base_ep_iface(ep);

    rma->ep          = ep;
    rma->iface       = iface;
    rma->op          = iface->ops.free;
    rma->remote_addr = remote_addr;
    rma->rkey        = rkey;
    if (__builtin_expect((flow_tx_paused(ep->tx) != 0) || (rma->op == NULL),
                         0)) {
        if ((flow_tx_paused(ep->tx) != 0) && (iface->serving != ep)) {
            return srd_rma_blocked(ep); /* as short as can be: UCP tries each
                                           time, though requests wait */
        }
        rma->op = srd_rma_other_op(iface, ep);
        if (rma->op == NULL) {
            return srd_rma_blocked(ep);
        }
    }
    if (__builtin_expect(!flow_tx_rma_ready(iface->core, ep->tx), 0)) {
        return srd_rma_not_ready(iface, ep);
    }
    return UCS_OK;
}

/* Local pieces of one RDMA operation. */
static inline unsigned srd_rma_max_iov(const base_iface_t *iface)
{
    const efa_device_t *device = base_iface_md(iface)->device;
    unsigned            most   = (device->max_sq_sge < BASE_OP_SGE) ?
                                         device->max_sq_sge :
                                         BASE_OP_SGE;

    return (device->max_rdma_sge < most) ? device->max_rdma_sge : most;
}

/* Posts it: on the direct data path one piece in place, else by libefa or, also
 * where packets are traced, by base_post_rdma. */
static inline __attribute__((always_inline)) int
srd_rma_to_device(base_iface_t *iface, const base_ep_t *ep, base_op_t *op)
{
    efa_direct_sq_t *sq = &iface->qp.direct.sq;

    if (iface->qp.direct.in_place && !iface->traced &&
        (efa_send_wr_count(&op->wr) == 1) && !efa_send_wr_is_inside(&op->wr)) {
        op->wr.inside = 0;
        if (efa_direct_rdma_piece(sq, &ep->dest, op->wr.id,
                                  base_op_rdma(op->out.kind), op->remote_addr,
                                  op->rkey, efa_send_wr_pieces(&op->wr))) {
            (void)efa_direct_sq_turn(&iface->qp);
        }
        return 0;
    }
    if (iface->qp.is_direct || iface->traced) {
        return base_post_rdma(iface, ep, op);
    }
    return efa_post_rdma_verbs(&iface->qp, &op->wr, &ep->dest,
                               base_op_rdma(op->out.kind), op->remote_addr,
                               op->rkey);
}

/* The device has it, or will by the doorbell of its list. */
static inline __attribute__((always_inline)) void
srd_rma_took(const srd_rma_t *rma)
{
    base_iface_t *iface = rma->iface;
    base_ep_t    *ep    = rma->ep;

    base_op_take_any(&iface->ops, rma->op, &ep->ah->share);
    base_outstanding_append(ep, &rma->op->out);
    ++ep->rma_ops;
    ++iface->rma_ops;
    ++iface->ops_posted;
    ++iface->rma_posted;
    if (__builtin_expect(ep->rma_unusual, 0)) {
        srd_rma_posted(iface, ep);
    }
}

/*
 * Posts it with the pieces that were set. UCS_INPROGRESS; else the status of
 * base_fail_post, and the operation is still free.
 */
static inline __attribute__((always_inline)) ucs_status_t
srd_rma_post(const srd_rma_t *rma, base_out_kind_t kind, uct_completion_t *comp)
{
    base_iface_t *iface = rma->iface;
    base_ep_t    *ep    = rma->ep;
    base_op_t    *op    = rma->op;
    int           err;

    op->ep          = ep;
    op->out.kind    = kind;
    op->out.comp    = comp;
    op->remote_addr = rma->remote_addr;
    op->rkey        = rma->rkey;
    err = srd_rma_to_device(iface, ep, op);
    if (__builtin_expect(err != 0, 0)) {
        return base_fail_post(ep, err);
    }
    srd_rma_took(rma);
    return UCS_INPROGRESS;
}

/* The same from or into its bounce buffer, of `length` bytes. */
static inline __attribute__((always_inline)) ucs_status_t
srd_rma_post_bounce(const srd_rma_t *rma, base_out_kind_t kind, size_t length,
                    uct_completion_t *comp)
{
    base_op_set_bounce(rma->op, length);
    return srd_rma_post(rma, kind, comp);
}

/* As srd_rma_post, with any pieces of user memory. UCS_OK: none has a byte;
 * UCS_ERR_INVALID_PARAM: more than what iface_query says, or a memory handle of
 * another domain. */
ucs_status_t srd_rma_post_pieces(const srd_rma_t *rma, base_out_kind_t kind,
                                 const uct_iov_t *iov, size_t iovcnt,
                                 uct_completion_t *comp);

/* A whole operation from or into user memory. */
static inline __attribute__((always_inline)) ucs_status_t
srd_rma_zcopy(uct_ep_h tl_ep, base_out_kind_t kind, const uct_iov_t *iov,
              size_t iovcnt, uint64_t remote_addr, uct_rkey_t rkey,
              uct_completion_t *comp)
{
    srd_rma_t       rma, any;
    ucs_status_t    status = srd_rma_start(&rma, tl_ep, remote_addr, rkey);
    const efa_md_t *md     = base_iface_md(rma.iface);
    base_op_t      *op     = rma.op;

    if (__builtin_expect(status != UCS_OK, 0)) {
        return status;
    }
    if (__builtin_expect((iovcnt == 1) && (iov->count == 1) &&
                                 (iov->length - 1 < md->device->rdma_most) &&
                                 efa_memh_is_full(iov->memh, md),
                         1)) {
        base_op_set_piece(op, 0, iov->buffer, iov->length,
                          efa_memh_lkey(iov->memh));
        base_op_set_pieces(op, op->sge, 1, 0);
        return srd_rma_post(&rma, kind, comp);
    }
    any = rma; /* so that the other stays in registers */
    return srd_rma_post_pieces(&any, kind, iov, iovcnt, comp);
}

#endif
