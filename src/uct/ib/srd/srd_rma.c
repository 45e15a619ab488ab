/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Steps that gets and puts share. A peer's device serves them only when it has
 * an address handle for us, so none is posted before the peer's answer said so
 * (DESIGN.md decision 7); active messages flow meanwhile.
 */
#include "srd_rma.h"

#include <uct/ib/base/base_trace.h>

ucs_status_t srd_rma_blocked(base_ep_t *ep)
{
    ep->rma_blocked = 1;
    return base_fail_ep_blocked(ep);
}

base_op_t *srd_rma_other_op(base_iface_t *iface, base_ep_t *ep)
{
    base_op_t *op = base_post_first_op(iface, ep);

    return ((op == NULL) || (flow_tx_paused(ep->tx) == 0) ||
            base_pending_permits_rma(iface, ep)) ?
                   op :
                   NULL;
}

ucs_status_t srd_rma_nothing(base_ep_t *ep)
{
    base_iface_t *iface = base_ep_iface(ep);

    if (iface->traced & BASE_TRACED_LOG) {
        base_trace_log_nothing(iface, ep->dest.remote_qpn);
    }
    return UCS_OK;
}

void srd_rma_posted(base_iface_t *iface, base_ep_t *ep)
{
    if (ep->permitted) {
        base_pending_took_rma(iface, ep);
    }
    if (base_wireup_ep_is_replayed(ep)) {
        base_outstanding_fence(ep);
    }
}

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

/*
 * Puts those pieces of user memory that have bytes at op->sge.
 * UCS_INPROGRESS; else as srd_rma_post_pieces.
 */
static ucs_status_t
srd_rma_gather(const base_iface_t *iface, base_op_t *op, base_out_kind_t kind,
               const uct_iov_t *iov, size_t iovcnt)
{
    efa_md_t    *md     = base_iface_md(iface);
    size_t       total  = 0, length, i;
    int          pieces = 0;
    uct_mem_h    memh;
    ucs_status_t status;

    if (iovcnt > srd_rma_max_iov(iface)) {
        return UCS_ERR_INVALID_PARAM;
    }
    for (i = 0; i < iovcnt; ++i) {
        length = base_am_iov_size(&iov[i]);
        if (length > md->device->rdma_most - total) {
            return UCS_ERR_INVALID_PARAM;
        }
        if (length > 0) {
            memh   = iov[i].memh;
            status = efa_memh_check(md, &memh, iov[i].buffer, length,
                                    kind == BASE_OUT_GET_ZCOPY);
            if (status != UCS_OK) {
                return status;
            }
            base_op_set_piece(op, pieces++, iov[i].buffer, length,
                              efa_memh_lkey(memh));
            total += length;
        }
    }
    base_op_set_pieces(op, op->sge, pieces, 0);
    return (total > 0) ? UCS_INPROGRESS : UCS_OK;
}

ucs_status_t srd_rma_post_pieces(const srd_rma_t *rma, base_out_kind_t kind,
                                 const uct_iov_t *iov, size_t iovcnt,
                                 uct_completion_t *comp)
{
    ucs_status_t status = srd_rma_gather(rma->iface, rma->op, kind, iov,
                                         iovcnt);

    if (status == UCS_INPROGRESS) {
        return srd_rma_post(rma, kind, comp);
    }
    return (status == UCS_OK) ? srd_rma_nothing(rma->ep) : status;
}
