/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Puts, by RDMA WRITE. The device completes a write when its bytes are placed
 * at the target (EFA-FACTS: completion and ordering), so flush and fence need
 * no read behind it; but for memory of some GPUs (UCX_SRD_PUT_FLUSH).
 */
#include "srd_rma.h"

#include <string.h>

/* A put of no byte waits for nothing, and is refused by an end only. */
static __attribute__((noinline)) ucs_status_t srd_put_nothing(uct_ep_h tl_ep)
{
    srd_rma_t    rma;
    ucs_status_t status = srd_rma_start(&rma, tl_ep, 0, 0);

    return ((status == UCS_OK) || (status == UCS_ERR_NO_RESOURCE)) ?
                   srd_rma_nothing(rma.ep) :
                   status;
}

ucs_status_t srd_ep_put_short(uct_ep_h tl_ep, const void *buffer,
                              unsigned length, uint64_t remote_addr,
                              uct_rkey_t rkey)
{
    srd_rma_t    rma;
    ucs_status_t status;

    if (__builtin_expect(length == 0, 0)) {
        return srd_put_nothing(tl_ep);
    }
    status = srd_rma_start(&rma, tl_ep, remote_addr, rkey);
    if (__builtin_expect(status != UCS_OK, 0)) {
        return status;
    }
    if (length > sizeof(rma.op->buf)) {
        return UCS_ERR_INVALID_PARAM;
    }

    memcpy(rma.op->buf, buffer, length);
    base_op_set_buf(rma.op, length, rma.iface->qp.inline_write);
    status = srd_rma_post(&rma, BASE_OUT_PUT, NULL);
    return (status == UCS_INPROGRESS) ? UCS_OK : status;
}

ssize_t srd_ep_put_bcopy(uct_ep_h tl_ep, uct_pack_callback_t pack_cb, void *arg,
                         uint64_t remote_addr, uct_rkey_t rkey)
{
    srd_rma_t    rma;
    ucs_status_t status = srd_rma_start(&rma, tl_ep, remote_addr, rkey);
    size_t       length;

    if (__builtin_expect(status != UCS_OK, 0)) {
        return status;
    }
    if (base_op_bounce(&rma.iface->ops, rma.op) == NULL) {
        return UCS_ERR_NO_RESOURCE;
    }

    length = pack_cb(rma.op->bounce->data, arg);
    if (length == 0) {
        return srd_rma_nothing(rma.ep);
    }
    status = srd_rma_post_bounce(&rma, BASE_OUT_PUT, length, NULL);
    return (status == UCS_INPROGRESS) ? (ssize_t)length : status;
}

ucs_status_t srd_ep_put_zcopy(uct_ep_h tl_ep, const uct_iov_t *iov,
                              size_t iovcnt, uint64_t remote_addr,
                              uct_rkey_t rkey, uct_completion_t *comp)
{
    return srd_rma_zcopy(tl_ep, BASE_OUT_PUT, iov, iovcnt, remote_addr, rkey,
                         comp);
}
