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

/* What gets and puts share. */

/* Out of line part of srd_rma_start: the peer has no handle for us yet.
 * UCS_ERR_NO_RESOURCE, or UCS_ERR_UNREACHABLE when it never will. */
ucs_status_t srd_rma_not_ready(base_iface_t *iface, base_ep_t *ep);

/*
 * UCS_OK when an RDMA operation may be posted now: then *op_p is it.
 * UCS_ERR_NO_RESOURCE, UCS_ERR_UNREACHABLE, or why the endpoint failed.
 */
static inline ucs_status_t
srd_rma_start(base_iface_t *iface, base_ep_t *ep, base_op_t **op_p)
{
    *op_p = base_post_first_op(iface, ep);
    if (__builtin_expect((flow_tx_paused(ep->tx) != 0) || (*op_p == NULL), 0) &&
        ((*op_p == NULL) || !base_pending_permits_rma(iface, ep))) {
        return base_fail_ep_blocked(ep);
    }
    if (__builtin_expect(!flow_tx_rma_ready(iface->core, ep->tx), 0)) {
        return srd_rma_not_ready(iface, ep);
    }
    return UCS_OK;
}

/* Where the bytes lie at the other end. */
typedef struct srd_remote {
    uint64_t   address;
    uct_rkey_t rkey;
} srd_remote_t;

/* Local pieces of one RDMA operation. */
static inline unsigned srd_rma_max_iov(const base_iface_t *iface)
{
    const efa_device_t *device = base_iface_md(iface)->device;
    unsigned            most   = (device->max_sq_sge < BASE_OP_SGE) ?
                                         device->max_sq_sge :
                                         BASE_OP_SGE;

    return (device->max_rdma_sge < most) ? device->max_rdma_sge : most;
}

/*
 * Puts those pieces of user memory that have bytes at op->sge.
 * UCS_INPROGRESS; UCS_OK: none has any; UCS_ERR_INVALID_PARAM: more than what
 * iface_query says, or a memory handle of another domain.
 */
ucs_status_t srd_rma_gather(const base_iface_t *iface, base_op_t *op,
                            const uct_iov_t *iov, size_t iovcnt);

/* Of one piece on the direct data path, in place; else by base_post_rdma. */
static inline __attribute__((always_inline)) int
srd_rma_to_device(base_iface_t *iface, const base_ep_t *ep, base_op_t *op)
{
    efa_direct_sq_t *sq = &iface->qp.direct.sq;

    if (!iface->qp.direct.in_place || iface->traced ||
        (efa_send_wr_count(&op->wr) != 1) || efa_send_wr_is_inside(&op->wr)) {
        return base_post_rdma(iface, ep, op);
    }
    op->wr.inside = 0;
    if (efa_direct_rdma_piece(sq, &ep->dest.direct, op->wr.id,
                              (op->out.kind == BASE_OUT_PUT) ?
                                      EFA_IO_WR_WRITE : EFA_IO_WR_READ,
                              op->remote_addr, op->rkey,
                              efa_send_wr_pieces(&op->wr))) {
        (void)efa_direct_sq_turn(&iface->qp);
    }
    return 0;
}

/*
 * Posts `op` (what srd_rma_start found), with the pieces that were set.
 * UCS_INPROGRESS; else what base_fail_post says, and op is still free.
 */
static inline __attribute__((always_inline)) ucs_status_t
srd_rma_post(base_iface_t *iface, base_ep_t *ep, base_op_t *op, unsigned kind,
             const srd_remote_t *remote, uct_completion_t *comp)
{
    int err;

    op->ep          = ep;
    op->out.kind    = kind;
    op->out.comp    = comp;
    op->remote_addr = remote->address;
    op->rkey        = remote->rkey;
    err = srd_rma_to_device(iface, ep, op);
    if (__builtin_expect(err != 0, 0)) {
        return base_fail_post(ep, err);
    }

    base_op_take_any(&iface->ops, op, &ep->ah->share);
    base_outstanding_append(ep, &op->out);
    ++ep->rma_ops;
    ++iface->rma_ops;
    ++iface->ops_posted;
    ++iface->rma_posted;
    if (base_wireup_ep_is_replayed(ep)) {
        base_outstanding_fence(ep);
    }
    return UCS_INPROGRESS;
}

/* The same from or into op->bounce, of `length` bytes. */
static inline __attribute__((always_inline)) ucs_status_t
srd_rma_post_bounce(base_iface_t *iface, base_ep_t *ep, base_op_t *op,
                    unsigned kind, size_t length, const srd_remote_t *remote,
                    uct_completion_t *comp)
{
    base_op_set_bounce(op, length);
    return srd_rma_post(iface, ep, op, kind, remote, comp);
}

/* A whole operation from or into user memory: srd_rma_start, srd_rma_gather,
 * srd_rma_post. */
static inline __attribute__((always_inline)) ucs_status_t
srd_rma_zcopy(base_ep_t *ep, unsigned kind, const uct_iov_t *iov, size_t iovcnt,
              const srd_remote_t *remote, uct_completion_t *comp)
{
    base_iface_t   *iface = base_ep_iface(ep);
    const efa_md_t *md    = base_iface_md(iface);
    base_op_t      *op;
    ucs_status_t    status = srd_rma_start(iface, ep, &op);

    if (__builtin_expect(status != UCS_OK, 0)) {
        return status;
    }
    if (__builtin_expect((iovcnt == 1) && (iov->count == 1) &&
                                 (iov->length - 1 < md->device->max_rdma) &&
                                 efa_memh_is_of(iov->memh, md),
                         1)) {
        base_op_set_piece(op, 0, iov->buffer, iov->length,
                          efa_memh_lkey(iov->memh));
        base_op_set_pieces(op, op->sge, 1, 0);
    } else {
        status = srd_rma_gather(iface, op, iov, iovcnt);
        if (status != UCS_INPROGRESS) {
            return status;
        }
    }
    return srd_rma_post(iface, ep, op, kind, remote, comp);
}

#endif
