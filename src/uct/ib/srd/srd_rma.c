/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gets, by RDMA READ. The device of a peer serves them only when it has an
 * address handle for us, so none is posted before the peer's answer said so
 * (DESIGN.md decision 7); active messages flow meanwhile.
 */
#include "srd.h"

/* UCS_OK when a read may be posted now. */
static inline ucs_status_t srd_rma_start(efa_iface_t *iface, efa_ep_t *ep)
{
    if (__builtin_expect((ep->tx->pins != 0) || (iface->ops.free == NULL),
                         0)) {
        return efa_ep_blocked(ep);
    }
    if (__builtin_expect(!flow_tx_rma_ready(iface->core, ep->tx), 0)) {
        if (flow_tx_rma_refused(ep->tx)) {
            host_error(iface->super.host,
                       "%s: QPN %u has no address handle left for us: it "
                       "cannot be read from; raise UCX_SRD_MAX_AH there",
                       efa_ep_device(ep), ep->qpn);
            return UCS_ERR_UNREACHABLE;
        }
        return UCS_ERR_NO_RESOURCE;
    }
    return UCS_OK;
}

static inline ucs_status_t
srd_rma_post(efa_iface_t *iface, efa_ep_t *ep, efa_op_t *op, unsigned kind,
             uint64_t remote_addr, uct_rkey_t rkey, uct_completion_t *comp)
{
    int err;

    op->ep       = ep;
    op->out.kind = kind;
    op->out.comp = comp;
    op->num_sge  = 1;
    err          = efa_post_read(iface, ep, op, remote_addr, rkey);
    if (__builtin_expect(err != 0, 0)) {
        return efa_post_failed(ep, err);
    }

    efa_op_take(&iface->ops);
    efa_out_append(ep, &op->out);
    ++ep->rma_ops;
    ++iface->rma_ops;
    ++iface->user_ops;
    return UCS_INPROGRESS;
}

ucs_status_t srd_ep_get_bcopy(uct_ep_h tl_ep, uct_unpack_callback_t unpack_cb,
                              void *arg, size_t length, uint64_t remote_addr,
                              uct_rkey_t rkey, uct_completion_t *comp)
{
    efa_ep_t    *ep     = (efa_ep_t*)tl_ep;
    efa_iface_t *iface  = efa_ep_iface(ep);
    ucs_status_t status = srd_rma_start(iface, ep);
    efa_op_t    *op     = iface->ops.free;

    if (status != UCS_OK) {
        return status;
    }
    if (length > iface->max_payload) {
        return UCS_ERR_INVALID_PARAM;
    }
    if (length == 0) {
        unpack_cb(arg, NULL, 0);
        return UCS_OK;
    }
    op->bounce = efa_bounce_get(&iface->ops);
    if (op->bounce == NULL) {
        return UCS_ERR_NO_RESOURCE;
    }

    op->unpack.func   = unpack_cb;
    op->unpack.arg    = arg;
    op->sge[0].addr   = (uintptr_t)op->bounce->data;
    op->sge[0].length = length;
    op->sge[0].lkey   = op->bounce->lkey;
    status = srd_rma_post(iface, ep, op, EFA_OUT_GET_BCOPY, remote_addr, rkey,
                          comp);
    if (status != UCS_INPROGRESS) {
        efa_bounce_put(&iface->ops, op->bounce);
        op->bounce = NULL;
    }
    return status;
}

ucs_status_t srd_ep_get_zcopy(uct_ep_h tl_ep, const uct_iov_t *iov,
                              size_t iovcnt, uint64_t remote_addr,
                              uct_rkey_t rkey, uct_completion_t *comp)
{
    efa_ep_t    *ep     = (efa_ep_t*)tl_ep;
    efa_iface_t *iface  = efa_ep_iface(ep);
    ucs_status_t status = srd_rma_start(iface, ep);
    efa_op_t    *op     = iface->ops.free;
    size_t       length = (iovcnt > 0) ? iov->length * iov->count : 0;

    if (status != UCS_OK) {
        return status;
    }
    if ((iovcnt > 1) || (length > efa_iface_md(iface)->device->max_rdma)) {
        return UCS_ERR_INVALID_PARAM;
    }
    if (length == 0) {
        return UCS_OK;
    }

    op->sge[0].addr   = (uintptr_t)iov->buffer;
    op->sge[0].length = length;
    op->sge[0].lkey   = efa_memh_lkey(iov->memh);
    return srd_rma_post(iface, ep, op, EFA_OUT_GET_ZCOPY, remote_addr, rkey,
                        comp);
}
