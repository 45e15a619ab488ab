/* SPDX-License-Identifier: BSD-3-Clause */
/* Active messages by the shortest way: an operation and a number are at hand,
 * the header is short. All else is base_am.c's. A queue pair that is direct
 * comes here only where packets are traced (srd_direct_ops). */
#include "srd_am.h"

#include <uct/ib/base/base_am.h>
#include <uct/ib/base/base_fail.h>
#include <uct/ib/base/base_post.h>

#include <string.h>

/* The operation was posted (or not, with `err`): on success it is the device's.
 */
static inline ucs_status_t
srd_am_posted(base_iface_t *iface, base_ep_t *ep, base_op_t *op, int err)
{
    if (__builtin_expect(err != 0, 0)) {
        return base_fail_post(ep, err);
    }
    base_op_take(&iface->ops, op);
    op->flow.psn = flow_tx_commit(ep->tx);
    ++iface->ops_posted;
    return UCS_OK;
}

/* Posts the filled operation, the first of all. */
static inline ucs_status_t
srd_am_post(base_iface_t *iface, base_ep_t *ep, base_op_t *op)
{
    op->ep       = ep;
    op->out.kind = BASE_OUT_AM;
    return srd_am_posted(iface, ep, op,
                         __builtin_expect(iface->traced, 0) ?
                                 base_post_send(iface, &ep->dest, op) :
                                 efa_post_send_verbs(&iface->qp, &op->wr,
                                                     &ep->dest));
}

/* The same of the first `length` bytes of op->buf, inside, not traced. */
static inline __attribute__((always_inline)) ucs_status_t
srd_am_post_buf(base_iface_t *iface, base_ep_t *ep, base_op_t *op,
                unsigned length)
{
    op->buf_sge.length = length;
    base_op_set_pieces(op, &op->buf_sge, 1, 1);
    op->ep       = ep;
    op->out.kind = BASE_OUT_AM;
    return srd_am_posted(iface, ep, op,
                         efa_post_send_verbs(&iface->qp, &op->wr, &ep->dest));
}

/* 68 instructions (bench_post_short, libefa), without libefa's. */
ucs_status_t srd_ep_am_short(uct_ep_h tl_ep, uint8_t id, uint64_t header,
                             const void *payload, unsigned length)
{
    base_ep_t    *ep    = (base_ep_t*)tl_ep;
    base_iface_t *iface = base_ep_iface(ep);
    base_op_t    *op    = iface->ops.free;
    flow_tx_t    *tx    = ep->tx;

    if (__builtin_expect(!srd_am_is_open(tx) || (op == NULL) ||
                                 (length >= iface->short_max),
                         0)) {
        return base_am_short(tl_ep, id, header, payload, length);
    }

    flow_tx_header_short(tx, id, op->buf);
    memcpy(op->buf + FLOW_SHORT_HDR, &header, sizeof(header));
    base_am_copy_few(op->buf + FLOW_SHORT_HDR + sizeof(header), payload,
                     length);
    return srd_am_post_buf(iface, ep, op,
                           FLOW_SHORT_HDR + sizeof(header) + length);
}

ucs_status_t srd_ep_am_short_iov(uct_ep_h tl_ep, uint8_t id,
                                 const uct_iov_t *iov, size_t iovcnt)
{
    base_ep_t    *ep     = (base_ep_t*)tl_ep;
    base_iface_t *iface  = base_ep_iface(ep);
    base_op_t    *op     = iface->ops.free;
    size_t        length = srd_am_gather(ep, op, iov, iovcnt);

    if (__builtin_expect(length < sizeof(uint64_t), 0)) {
        return base_am_short_iov(tl_ep, id, iov, iovcnt);
    }
    flow_tx_header_short(ep->tx, id, op->buf);
    return srd_am_post_buf(iface, ep, op, FLOW_SHORT_HDR + length);
}

ssize_t srd_ep_am_bcopy(uct_ep_h tl_ep, uint8_t id, uct_pack_callback_t pack_cb,
                        void *arg, unsigned flags)
{
    (void)flags; /* none has a meaning here */
    return srd_am_bcopy(tl_ep, id, pack_cb, arg, srd_am_post);
}
