/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Active messages on the direct data path, by the shortest way: as srd_am.c,
 * but the work request is written in place, and cannot fail.
 */
#include "srd_direct.h"
#include "srd_am.h"

#include <uct/ib/base/base_am.h>
#include <uct/ib/base/base_post.h>
#include <uct/ib/base/base_progress.h>

/* It will be posted, as that cannot fail: the operation is the device's. */
static inline void
srd_direct_commit(base_iface_t *iface, base_ep_t *ep, base_op_t *op)
{
    op->flow.psn = flow_tx_commit(ep->tx);
    op->ep       = ep;
    op->out.kind = BASE_OUT_AM;
    base_op_take(&iface->ops, op);
    ++iface->ops_posted;
}

/* Posts a message of up to 16 bytes behind its two words, which are also kept,
 * for a receiver that is not ready. */
static inline __attribute__((always_inline)) ucs_status_t
srd_direct_send(base_iface_t *iface, base_ep_t *ep, base_op_t *op, uint8_t id,
                uint64_t header, const void *payload, unsigned length)
{
    uint64_t am = flow_tx_word(ep->tx, id);

    srd_direct_commit(iface, ep, op);
    memcpy(op->buf, &am, sizeof(am));
    memcpy(op->buf + FLOW_SHORT_HDR, &header, sizeof(header));
    op->wr.inside = FLOW_SHORT_HDR + sizeof(header) + length;
    if (length > 0) {
        base_am_copy_few(op->buf + FLOW_SHORT_HDR + sizeof(header), payload,
                        length);
    }
    if (efa_direct_send_words(&iface->qp.direct.sq, &ep->dest,
                              op->wr.id, am, header,
                              op->buf + FLOW_SHORT_HDR + sizeof(header),
                              length)) {
        return (ucs_status_t)efa_direct_sq_turn(&iface->qp);
    }
    return UCS_OK;
}

/* With srd_direct_am_short: 91 instructions (bench_post_payload, direct). */
static __attribute__((noinline)) ucs_status_t
srd_direct_am_few(uct_ep_h tl_ep, uint8_t id, uint64_t header,
                  const void *payload, unsigned length)
{
    base_ep_t    *ep    = (base_ep_t*)tl_ep;
    base_iface_t *iface = base_ep_iface(ep);
    base_op_t    *op    = iface->ops.free;

    if (__builtin_expect(!srd_am_is_open(ep->tx) || (op == NULL) ||
                                 (length >= iface->short_max),
                         0)) {
        return base_am_short(tl_ep, id, header, payload, length);
    }
    if (length == 0) {
        __builtin_unreachable(); /* see srd_direct_am_short */
    }
    return srd_direct_send(iface, ep, op, id, header, payload, length);
}

static inline __attribute__((always_inline)) ucs_status_t
srd_direct_am_none(uct_ep_h tl_ep, uint8_t id, uint64_t header)
{
    base_ep_t    *ep    = (base_ep_t*)tl_ep;
    base_iface_t *iface = base_ep_iface(ep);
    base_op_t    *op    = iface->ops.free;

    if (__builtin_expect(!srd_am_is_open(ep->tx) || (op == NULL), 0)) {
        return base_am_short(tl_ep, id, header, NULL, 0);
    }
    return srd_direct_send(iface, ep, op, id, header, NULL, 0);
}

/* The shortest message of all apart, for which there are registers enough:
 * 65 instructions (bench_post_short, direct). */
static ucs_status_t
srd_direct_am_short(uct_ep_h tl_ep, uint8_t id, uint64_t header,
                    const void *payload, unsigned length)
{
    return __builtin_expect(length > 0, 0) ?
                   srd_direct_am_few(tl_ep, id, header, payload, length) :
                   srd_direct_am_none(tl_ep, id, header);
}

static ucs_status_t
srd_direct_am_short_iov(uct_ep_h tl_ep, uint8_t id, const uct_iov_t *iov,
                        size_t iovcnt)
{
    base_ep_t    *ep     = (base_ep_t*)tl_ep;
    base_iface_t *iface  = base_ep_iface(ep);
    base_op_t    *op     = iface->ops.free;
    size_t        length = srd_am_gather(ep, op, iov, iovcnt);
    uint64_t      am;

    if (__builtin_expect(length < sizeof(uint64_t), 0)) {
        return base_am_short_iov(tl_ep, id, iov, iovcnt);
    }
    am = flow_tx_word(ep->tx, id);
    srd_direct_commit(iface, ep, op);
    memcpy(op->buf, &am, sizeof(am));
    op->wr.inside = FLOW_SHORT_HDR + length;
    if (efa_direct_send_words(&iface->qp.direct.sq, &ep->dest,
                              op->wr.id, am,
                              efa_direct_load(op->buf + FLOW_SHORT_HDR),
                              op->buf + FLOW_SHORT_HDR + sizeof(uint64_t),
                              length - sizeof(uint64_t))) {
        return (ucs_status_t)efa_direct_sq_turn(&iface->qp);
    }
    return UCS_OK;
}

static inline __attribute__((always_inline)) ucs_status_t
srd_direct_post(base_iface_t *iface, base_ep_t *ep, base_op_t *op)
{
    op->wr.inside = 0;
    srd_direct_commit(iface, ep, op);
    if (efa_direct_send_piece(&iface->qp.direct.sq, &ep->dest,
                              op->wr.id, &op->bounce->sge)) {
        (void)efa_direct_sq_turn(&iface->qp);
    }
    return UCS_OK;
}

static ssize_t
srd_direct_am_bcopy(uct_ep_h tl_ep, uint8_t id, uct_pack_callback_t pack_cb,
                    void *arg, unsigned flags)
{
    (void)flags; /* none has a meaning here */
    return srd_am_bcopy(tl_ep, id, pack_cb, arg, srd_direct_post);
}

void srd_direct_ops(const base_iface_t *iface, uct_iface_ops_t *ops)
{
    if (!iface->qp.is_direct) {
        return;
    }
    if (iface->traced) {
        if (ops->iface_progress == base_progress_run) {
            ops->iface_progress = base_progress_any;
        }
        return;
    }
    ops->iface_progress = (iface->qp.direct.emulator != NULL) ?
                                  base_progress_emulated :
                                  base_progress_direct;
    if (iface->qp.direct.in_place && (iface->short_max > 0)) {
        ops->ep_am_short     = srd_direct_am_short;
        ops->ep_am_short_iov = srd_direct_am_short_iov;
        ops->ep_am_bcopy     = srd_direct_am_bcopy;
    } else {
        ops->ep_am_short     = base_am_short;
        ops->ep_am_short_iov = base_am_short_iov;
        ops->ep_am_bcopy     = base_am_bcopy;
    }
}
