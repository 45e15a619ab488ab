/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What gets and puts share. The device of a peer serves them only when it has
 * an address handle for us, so none is posted before the peer's answer said so
 * (DESIGN.md decision 7); active messages flow meanwhile.
 */
#include "srd_rma.h"

#include <uct/ib/base/base_out.h>
#include <uct/ib/base/base_post.h>
#include <uct/ib/base/base_wireup.h>
#include <uct/ib/efa/efa_mr.h>

ucs_status_t srd_rma_not_ready(base_iface_t *iface, base_ep_t *ep)
{
    if (!flow_tx_rma_refused(ep->tx)) {
        ep->rma_asked = 1;
        return UCS_ERR_NO_RESOURCE;
    }
    if (!ep->rma_refused) {
        ep->rma_refused = 1;
        host_error(iface->super.host,
                   "%s: QPN %u has no address handle left for us: its memory "
                   "cannot be read or written; raise UCX_SRD_MAX_AH there",
                   base_ep_device(ep), ep->dest.remote_qpn);
    }
    return UCS_ERR_UNREACHABLE;
}

ucs_status_t srd_rma_post(base_iface_t *iface, base_ep_t *ep, base_op_t *op,
                          unsigned kind, const srd_remote_t *remote,
                          uct_completion_t *comp)
{
    int err;

    op->ep          = ep;
    op->out.kind    = kind;
    op->out.comp    = comp;
    op->remote_addr = remote->address;
    op->rkey        = remote->rkey;
    err = base_post_rdma(iface, ep, op);
    if (__builtin_expect(err != 0, 0)) {
        return base_post_failed(ep, err);
    }

    base_op_take_any(&iface->ops, op, &ep->ah->share);
    base_out_append(ep, &op->out);
    ++ep->rma_ops;
    ++iface->rma_ops;
    ++iface->ops_posted;
    ++iface->rma_posted;
    if (base_ep_is_replayed(ep)) {
        base_ep_fence_now(ep);
    }
    return UCS_INPROGRESS;
}

ucs_status_t srd_rma_post_bounce(base_iface_t *iface, base_ep_t *ep,
                                 base_op_t *op, unsigned kind, size_t length,
                                 const srd_remote_t *remote,
                                 uct_completion_t *comp)
{
    base_op_set_bounce(op, length);
    return srd_rma_post(iface, ep, op, kind, remote, comp);
}

ucs_status_t
srd_rma_zcopy(base_ep_t *ep, unsigned kind, const uct_iov_t *iov, size_t iovcnt,
              const srd_remote_t *remote, uct_completion_t *comp)
{
    base_iface_t *iface  = base_ep_iface(ep);
    base_op_t    *op;
    ucs_status_t  status = srd_rma_start(iface, ep, &op);
    size_t        total  = 0, length, i;
    int           pieces = 0;

    if (__builtin_expect(status != UCS_OK, 0)) {
        return status;
    }
    if (iovcnt > srd_rma_max_iov(iface)) {
        return UCS_ERR_INVALID_PARAM;
    }
    for (i = 0; i < iovcnt; ++i) {
        length = base_iov_size(&iov[i]);
        if (length > base_iface_md(iface)->device->max_rdma - total) {
            return UCS_ERR_INVALID_PARAM;
        }
        if (length > 0) {
            if (!efa_memh_is_of(iov[i].memh, base_iface_md(iface))) {
                return efa_memh_refuse(base_iface_md(iface), iov[i].memh);
            }
            op->sge[pieces].addr   = (uintptr_t)iov[i].buffer;
            op->sge[pieces].length = length;
            op->sge[pieces].lkey   = efa_memh_lkey(iov[i].memh);
            ++pieces;
            total += length;
        }
    }
    if (total == 0) {
        return UCS_OK;
    }
    base_op_set_pieces(op, op->sge, pieces, 0);
    return srd_rma_post(iface, ep, op, kind, remote, comp);
}
