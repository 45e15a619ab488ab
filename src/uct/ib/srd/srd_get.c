/* SPDX-License-Identifier: BSD-3-Clause */
/* Gets, by RDMA READ. */
#include "srd_rma.h"

#include <uct/ib/base/base_polled.h>

#include <string.h>

ucs_status_t srd_ep_get_bcopy(uct_ep_h tl_ep, uct_unpack_callback_t unpack_cb,
                              void *arg, size_t length, uint64_t remote_addr,
                              uct_rkey_t rkey, uct_completion_t *comp)
{
    srd_rma_t    rma;
    ucs_status_t status = srd_rma_start(&rma, tl_ep, remote_addr, rkey);

    if (__builtin_expect(status != UCS_OK, 0)) {
        return status;
    }
    if (length > rma.iface->max_payload) {
        return UCS_ERR_INVALID_PARAM;
    }
    if (length == 0) {
        unpack_cb(arg, NULL, 0);
        return srd_rma_nothing(rma.ep);
    }
    if (base_op_bounce(&rma.iface->ops, rma.op) == NULL) {
        return UCS_ERR_NO_RESOURCE;
    }

    rma.op->unpack.func = unpack_cb;
    rma.op->unpack.arg  = arg;
    return srd_rma_post_bounce(&rma, BASE_OUT_GET_BCOPY, length, comp);
}

ucs_status_t srd_ep_get_zcopy(uct_ep_h tl_ep, const uct_iov_t *iov,
                              size_t iovcnt, uint64_t remote_addr,
                              uct_rkey_t rkey, uct_completion_t *comp)
{
    return srd_rma_zcopy(tl_ep, BASE_OUT_GET_ZCOPY, iov, iovcnt, remote_addr,
                         rkey, comp);
}

/*
 * UCT gives get_short no completion: it returns with the data in place. It
 * waits for its own completion only; others that come meanwhile are kept for
 * progress, since no callback may run in here. It reads into the operation:
 * when the time is over the device may still write there, not at the user's.
 */
ucs_status_t srd_ep_get_short(uct_ep_h tl_ep, void *buffer, unsigned length,
                              uint64_t remote_addr, uct_rkey_t rkey)
{
    srd_rma_t    rma;
    ucs_status_t status = srd_rma_start(&rma, tl_ep, remote_addr, rkey);

    if (status != UCS_OK) {
        return status;
    }
    if (length > sizeof(rma.op->buf)) {
        return UCS_ERR_INVALID_PARAM;
    }
    if (length == 0) {
        return srd_rma_nothing(rma.ep);
    }

    base_op_set_buf(rma.op, length, 0);
    status = srd_rma_post(&rma, BASE_OUT_GET_ZCOPY, NULL);
    if (status != UCS_INPROGRESS) {
        return status;
    }
    status = base_polled_wait(rma.iface, rma.op, rma.iface->get_short_time);
    if (status == UCS_OK) {
        memcpy(buffer, rma.op->buf, length); /* free again, nobody took it */
    } else if (status == UCS_ERR_TIMED_OUT) {
        host_error(rma.iface->super.host,
                   "%s: get_short: QPN %u did not answer in time "
                   "(UCX_SRD_GET_SHORT)",
                   base_ep_device(rma.ep), rma.ep->dest.remote_qpn);
    }
    return status;
}
