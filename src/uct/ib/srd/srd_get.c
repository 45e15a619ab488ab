/* SPDX-License-Identifier: BSD-3-Clause */
/* Gets, by RDMA READ. */
#include "srd_rma.h"

#include <uct/ib/base/base_polled.h>

#include <string.h>

ucs_status_t srd_ep_get_bcopy(uct_ep_h tl_ep, uct_unpack_callback_t unpack_cb,
                              void *arg, size_t length, uint64_t remote_addr,
                              uct_rkey_t rkey, uct_completion_t *comp)
{
    base_ep_t    *ep    = (base_ep_t*)tl_ep;
    base_iface_t *iface = base_ep_iface(ep);
    srd_remote_t  remote = {remote_addr, rkey};
    base_op_t    *op;
    ucs_status_t  status = srd_rma_start(iface, ep, &op);

    if (__builtin_expect(status != UCS_OK, 0)) {
        return status;
    }
    if (length > iface->max_payload) {
        return UCS_ERR_INVALID_PARAM;
    }
    if (length == 0) {
        unpack_cb(arg, NULL, 0);
        return UCS_OK;
    }
    if (base_op_bounce(&iface->ops, op) == NULL) {
        return UCS_ERR_NO_RESOURCE;
    }

    op->unpack.func = unpack_cb;
    op->unpack.arg  = arg;
    return srd_rma_post_bounce(iface, ep, op, BASE_OUT_GET_BCOPY, length,
                               &remote, comp);
}

ucs_status_t srd_ep_get_zcopy(uct_ep_h tl_ep, const uct_iov_t *iov,
                              size_t iovcnt, uint64_t remote_addr,
                              uct_rkey_t rkey, uct_completion_t *comp)
{
    srd_remote_t remote = {remote_addr, rkey};

    return srd_rma_zcopy((base_ep_t*)tl_ep, BASE_OUT_GET_ZCOPY, iov, iovcnt,
                         &remote, comp);
}

/*
 * UCT gives get_short no completion: it returns with the data in place. So it
 * waits, for its own completion only; what else completes meanwhile is kept
 * for progress, since no callback may run in here. It reads into the operation:
 * when the time is over the device may still write there, not at the user's.
 */
ucs_status_t srd_ep_get_short(uct_ep_h tl_ep, void *buffer, unsigned length,
                              uint64_t remote_addr, uct_rkey_t rkey)
{
    base_ep_t    *ep    = (base_ep_t*)tl_ep;
    base_iface_t *iface = base_ep_iface(ep);
    srd_remote_t  remote = {remote_addr, rkey};
    ucs_status_t  status;
    base_op_t    *op;

    status = srd_rma_start(iface, ep, &op);
    if (status != UCS_OK) {
        return status;
    }
    if (length > sizeof(op->buf)) {
        return UCS_ERR_INVALID_PARAM;
    }
    if (length == 0) {
        return UCS_OK;
    }

    base_op_set_buf(op, length, 0);
    status = srd_rma_post(iface, ep, op, BASE_OUT_GET_ZCOPY, &remote, NULL);
    if (status != UCS_INPROGRESS) {
        return status;
    }
    status = base_polled_wait(iface, op, iface->get_short_time);
    if (status == UCS_OK) {
        memcpy(buffer, op->buf, length); /* free again, but nobody took it */
    } else if (status == UCS_ERR_TIMED_OUT) {
        host_error(iface->super.host,
                   "%s: get_short: QPN %u did not answer in time "
                   "(UCX_SRD_GET_SHORT)",
                   base_ep_device(ep), ep->dest.remote_qpn);
    }
    return status;
}
