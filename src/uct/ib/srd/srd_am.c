/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Active messages. A message takes an operation and, unless it is short, a
 * bounce buffer; the protocol core gives it a number. Its bytes stay with the
 * operation until the device says that it is delivered, since a receiver that
 * was not ready means sending the same bytes again.
 *
 * Nothing is taken before everything is at hand, so a refusal has no effect.
 */
#include "srd.h"

#include <string.h>

/* An operation for one message, NULL when it cannot be sent now. */
static inline efa_op_t *srd_am_start(efa_iface_t *iface, efa_ep_t *ep)
{
    if (__builtin_expect(!flow_tx_ready(iface->core, ep->tx), 0)) {
        return NULL;
    }
    return efa_op_first(iface, ep); /* taken by srd_am_post_any */
}

/* The operation was posted (or not, with `err`): on success it is the device's.
 */
static inline ucs_status_t
srd_am_posted(efa_iface_t *iface, efa_ep_t *ep, efa_op_t *op, int err)
{
    if (__builtin_expect(err != 0, 0)) {
        return efa_post_failed(ep, err);
    }
    efa_op_take(&iface->ops, op);
    op->flow.psn = flow_tx_commit(ep->tx);
    ++iface->ops_posted;
    return UCS_OK;
}

/* Posts the filled operation, which may be of the reserve. */
static __attribute__((noinline)) ucs_status_t
srd_am_post_any(efa_iface_t *iface, efa_ep_t *ep, efa_op_t *op, unsigned kind)
{
    int err;

    if (op->reserved && (kind == EFA_OUT_AM)) {
        kind = EFA_OUT_AM_RESERVED;
    }
    op->ep       = ep;
    op->out.kind = kind;
    err          = efa_post_send(iface, &ep->dest, op);
    if (err != 0) {
        return efa_post_failed(ep, err);
    }
    efa_op_take_any(&iface->ops, op, &ep->ah->share);
    op->flow.psn = flow_tx_commit(ep->tx);
    ++iface->ops_posted;
    return UCS_OK;
}

/* Posts the filled operation, the first of all. */
static inline ucs_status_t
srd_am_post(efa_iface_t *iface, efa_ep_t *ep, efa_op_t *op, unsigned kind)
{
    op->ep       = ep;
    op->out.kind = kind;
    return srd_am_posted(iface, ep, op, efa_post_send(iface, &ep->dest, op));
}

/* Short headers, and a number that may be sent: the shortest way. */
static inline int srd_am_is_open(const flow_tx_t *tx)
{
    return flow_tx_is_open(tx) && (flow_tx_header_len(tx) == FLOW_SHORT_HDR);
}

/* The payload of most short messages, by few instructions: a call of memcpy
 * costs as much as posting. `length` <= 16; src may be NULL at 0. */
static inline void
srd_am_copy_few(uint8_t *dest, const uint8_t *src, unsigned length)
{
    if (length >= sizeof(uint64_t)) { /* two pieces that may overlap */
        memcpy(dest, src, sizeof(uint64_t));
        memcpy(dest + length - sizeof(uint64_t),
               src + length - sizeof(uint64_t), sizeof(uint64_t));
        return;
    }
    for (; length > 0; --length) {
        dest[length - 1] = src[length - 1];
    }
}

/* The pieces of a short message. */
typedef struct srd_pieces {
    const uct_iov_t *iov;
    size_t           count;
} srd_pieces_t;

static size_t srd_pieces_pack(void *dest, void *arg)
{
    const srd_pieces_t *pieces = arg;
    const uct_iov_t    *iov;
    uint8_t            *end = dest;

    for (iov = pieces->iov; iov < pieces->iov + pieces->count; ++iov) {
        if (iov->length > 0) { /* else it may have no address */
            memcpy(end, iov->buffer, iov->length);
            end += iov->length;
        }
    }
    return end - (uint8_t*)dest;
}

/*
 * A short message of `total` bytes, beyond max_short. UCP up to 1.15 chooses
 * short by the lane that an endpoint starts with, and replays what waited on
 * the lane it gets: connected by socket address that was tcp, whose short
 * messages are longer.
 */
static ucs_status_t
srd_am_long(uct_ep_h tl_ep, uint8_t id, srd_pieces_t *pieces, size_t total)
{
    ssize_t packed;

    if (total > efa_ep_iface((efa_ep_t*)tl_ep)->max_payload) {
        return UCS_ERR_INVALID_PARAM;
    }
    packed = srd_ep_am_bcopy(tl_ep, id, srd_pieces_pack, pieces, 0);
    return (packed < 0) ? (ucs_status_t)packed : UCS_OK;
}

static ucs_status_t
srd_am_short_long(uct_ep_h tl_ep, uint8_t id, uint64_t header,
                  const void *payload, unsigned length)
{
    uct_iov_t    iov[2] = {{.buffer = &header, .length = sizeof(header)},
                           {.buffer = (void*)payload, .length = length}};
    srd_pieces_t pieces = {iov, 2};

    return srd_am_long(tl_ep, id, &pieces, sizeof(header) + length);
}

/* Whatever srd_ep_am_short has no short way for. */
static __attribute__((noinline)) ucs_status_t
srd_am_short_any(uct_ep_h tl_ep, uint8_t id, uint64_t header,
                 const void *payload, unsigned length)
{
    efa_ep_t    *ep    = (efa_ep_t*)tl_ep;
    efa_iface_t *iface = efa_ep_iface(ep);
    efa_op_t    *op    = srd_am_start(iface, ep);
    unsigned     offset;

    if (op == NULL) {
        return efa_ep_blocked(ep);
    }
    if (length > SRD_MAX_SHORT - sizeof(header)) {
        return srd_am_short_long(tl_ep, id, header, payload, length);
    }

    offset = flow_tx_header(iface->core, ep->tx, id, op->buf);
    memcpy(op->buf + offset, &header, sizeof(header));
    if (length > 0) { /* payload may be NULL then */
        memcpy(op->buf + offset + sizeof(header), payload, length);
    }
    efa_op_set_buf(op, offset + sizeof(header) + length,
                   iface->qp.inline_size);
    return srd_am_post_any(iface, ep, op, EFA_OUT_AM);
}

ucs_status_t srd_ep_am_short(uct_ep_h tl_ep, uint8_t id, uint64_t header,
                             const void *payload, unsigned length)
{
    efa_ep_t    *ep    = (efa_ep_t*)tl_ep;
    efa_iface_t *iface = efa_ep_iface(ep);
    efa_op_t    *op    = iface->ops.free;
    flow_tx_t   *tx    = ep->tx;

    if (__builtin_expect(!srd_am_is_open(tx) || (op == NULL) ||
                                 (length >= iface->few),
                         0)) {
        return srd_am_short_any(tl_ep, id, header, payload, length);
    }

    flow_tx_header_short(tx, id, op->buf);
    memcpy(op->buf + FLOW_SHORT_HDR, &header, sizeof(header));
    srd_am_copy_few(op->buf + FLOW_SHORT_HDR + sizeof(header), payload,
                    length);
    op->buf_sge.length = FLOW_SHORT_HDR + sizeof(header) + length;
    efa_op_set_pieces(op, &op->buf_sge, 1, 1);
    op->ep       = ep;
    op->out.kind = EFA_OUT_AM;
    return srd_am_posted(iface, ep, op,
                         efa_post_send_untraced(iface, &ep->dest, op));
}

ucs_status_t srd_ep_am_short_iov(uct_ep_h tl_ep, uint8_t id,
                                 const uct_iov_t *iov, size_t iovcnt)
{
    efa_ep_t    *ep     = (efa_ep_t*)tl_ep;
    efa_iface_t *iface  = efa_ep_iface(ep);
    efa_op_t    *op     = srd_am_start(iface, ep);
    srd_pieces_t pieces = {iov, iovcnt};
    size_t       i, total = 0;
    unsigned     offset;

    if (__builtin_expect(op == NULL, 0)) {
        return efa_ep_blocked(ep);
    }
    for (i = 0; i < iovcnt; ++i) {
        if (__builtin_add_overflow(total, iov[i].length, &total)) {
            return UCS_ERR_INVALID_PARAM;
        }
    }
    if (total > SRD_MAX_SHORT) {
        return srd_am_long(tl_ep, id, &pieces, total);
    }

    offset = flow_tx_header(iface->core, ep->tx, id, op->buf);
    srd_pieces_pack(op->buf + offset, &pieces);
    efa_op_set_buf(op, offset + total, iface->qp.inline_size);
    return srd_am_post_any(iface, ep, op, EFA_OUT_AM);
}

/* Whatever srd_ep_am_bcopy has no short way for. */
static __attribute__((noinline)) ssize_t
srd_am_bcopy_any(uct_ep_h tl_ep, uint8_t id, uct_pack_callback_t pack_cb,
                 void *arg)
{
    efa_ep_t     *ep    = (efa_ep_t*)tl_ep;
    efa_iface_t  *iface = efa_ep_iface(ep);
    efa_op_t     *op    = srd_am_start(iface, ep);
    efa_bounce_t *bounce;
    ucs_status_t  status;
    unsigned      offset;
    size_t        length;

    if (op == NULL) {
        return efa_ep_blocked(ep);
    }
    bounce = efa_op_bounce(&iface->ops, op);
    if (bounce == NULL) {
        return efa_ep_blocked(ep);
    }

    offset = flow_tx_header(iface->core, ep->tx, id, bounce->data);
    length = pack_cb(bounce->data + offset, arg);
    efa_op_set_bounce(op, offset + length);
    status = srd_am_post_any(iface, ep, op, EFA_OUT_AM);
    if (__builtin_expect(status != UCS_OK, 0)) {
        return status;
    }
    if (id == UCX_AM_ID_WIREUP) {
        efa_wireup_sent(ep);
    }
    return length;
}

ssize_t srd_ep_am_bcopy(uct_ep_h tl_ep, uint8_t id, uct_pack_callback_t pack_cb,
                        void *arg, unsigned flags)
{
    efa_ep_t     *ep    = (efa_ep_t*)tl_ep;
    efa_iface_t  *iface = efa_ep_iface(ep);
    efa_op_t     *op    = iface->ops.free;
    flow_tx_t    *tx    = ep->tx;
    efa_bounce_t *bounce;
    ucs_status_t  status;
    size_t        length;

    (void)flags;
    if (__builtin_expect((id == UCX_AM_ID_WIREUP) || !srd_am_is_open(tx) ||
                                 (op == NULL) || (op->bounce == NULL),
                         0)) {
        return srd_am_bcopy_any(tl_ep, id, pack_cb, arg);
    }

    bounce = op->bounce;
    flow_tx_header_short(tx, id, bounce->data);
    length             = pack_cb(bounce->data + FLOW_SHORT_HDR, arg);
    bounce->sge.length = FLOW_SHORT_HDR + length;
    efa_op_set_pieces(op, &bounce->sge, 1, 0);
    status = srd_am_post(iface, ep, op, EFA_OUT_AM);
    return __builtin_expect(status == UCS_OK, 1) ? (ssize_t)length : status;
}

/* Where the headers of a zcopy message go: op->buf if they fit. */
static uint8_t *srd_am_zcopy_head(efa_iface_t *iface, efa_op_t *op,
                                  unsigned header_length)
{
    efa_bounce_t *bounce;

    if (header_length <= SRD_MAX_SHORT) {
        op->sge[0] = op->buf_sge;
        return op->buf;
    }
    bounce = efa_op_bounce(&iface->ops, op);
    if (bounce == NULL) {
        return NULL;
    }
    op->sge[0] = bounce->sge;
    return bounce->data;
}

ucs_status_t srd_ep_am_zcopy(uct_ep_h tl_ep, uint8_t id, const void *header,
                             unsigned header_length, const uct_iov_t *iov,
                             size_t iovcnt, unsigned flags,
                             uct_completion_t *comp)
{
    efa_ep_t    *ep     = (efa_ep_t*)tl_ep;
    efa_iface_t *iface  = efa_ep_iface(ep);
    efa_op_t    *op     = srd_am_start(iface, ep);
    size_t       length = (iovcnt > 0) ? srd_iov_size(iov) : 0;
    ucs_status_t status;
    unsigned     offset;
    uint8_t     *head;

    (void)flags;
    if ((iovcnt > 1) || (length > iface->max_payload) ||
        (header_length > iface->max_payload - length)) {
        return UCS_ERR_INVALID_PARAM;
    }
    if ((length > 0) && !efa_memh_is_of(iov->memh, efa_iface_md(iface))) {
        return efa_memh_refuse(efa_iface_md(iface), iov->memh);
    }
    if (__builtin_expect(op == NULL, 0)) {
        return efa_ep_blocked(ep);
    }
    head = srd_am_zcopy_head(iface, op, header_length);
    if (head == NULL) {
        return UCS_ERR_NO_RESOURCE;
    }

    offset = flow_tx_header(iface->core, ep->tx, id, head);
    if (header_length > 0) {
        memcpy(head + offset, header, header_length);
    }
    op->sge[0].length = offset + header_length;
    if (length > 0) {
        op->sge[1].addr   = (uintptr_t)iov->buffer;
        op->sge[1].length = length;
        op->sge[1].lkey   = efa_memh_lkey(iov->memh);
    }
    efa_op_set_pieces(op, op->sge, (length > 0) ? 2 : 1, 0);
    op->lent_host = (length == 0) || ((const efa_memh_t*)iov->memh)->is_host;
    op->out.comp  = comp;
    status        = srd_am_post_any(iface, ep, op, EFA_OUT_AM_ZCOPY);
    if (status != UCS_OK) {
        return status;
    }
    efa_out_append(ep, &op->out);
    return UCS_INPROGRESS;
}
