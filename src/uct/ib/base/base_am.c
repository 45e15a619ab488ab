/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Active messages. A message takes an operation and, unless it is short, a
 * bounce buffer; the protocol core gives it a number. Its bytes stay with the
 * operation until the device says that it is delivered, since a receiver that
 * was not ready means sending the same bytes again.
 *
 * Nothing is taken before everything is at hand, so a refusal has no effect.
 */
#include "base_am.h"
#include "base_flow.h"
#include "base_fail.h"
#include "base_outstanding.h"
#include "base_pending.h"
#include "base_post.h"
#include "base_wireup.h"

#include <uct/ib/efa/efa_mr.h>

#include <string.h>

/* The flow may let one message pass; or it may have lacked nothing but the
 * core's memory for unacknowledged messages. */
static int base_am_ready_slow(base_iface_t *iface, base_ep_t *ep)
{
    base_pending_pass(iface, ep);
    if (flow_tx_ready(iface->core, ep->tx) ||
        (iface->acked && (flow_pool_grow_needed(iface->core) != 0) &&
         (base_flow_grow(iface) == UCS_OK) &&
         flow_tx_ready(iface->core, ep->tx))) {
        return 1;
    }
    iface->dispatch.refused = (iface->serving == ep);
    if (flow_tx_last_limit(ep->tx) != flow_tx_psn(ep->tx)) {
        iface->todo |= BASE_TODO_DRAIN; /* it waits for completions alone */
    }
    return 0;
}

/* An operation for one message, NULL when it cannot be sent now. */
static inline base_op_t *base_am_start(base_iface_t *iface, base_ep_t *ep)
{
    if (__builtin_expect(!flow_tx_is_open(ep->tx), 0) &&
        (base_fail_ep_waits(ep) || !base_am_ready_slow(iface, ep))) {
        return NULL;
    }
    return base_post_first_op(iface, ep); /* taken by base_am_post_any */
}

/* The posted packet takes the next number of its flow, and that is not all: it
 * is kept until it is acknowledged, or recorded. */
static void base_am_commit(base_iface_t *iface, base_ep_t *ep, base_op_t *op)
{
    const void *packet = (const void*)(uintptr_t)
                                 efa_send_wr_pieces(&op->wr)->addr;

    if (iface->acked) {
        record_call_resend_commit(iface->core, ep->tx, &op->flow, packet);
    } else {
        op->flow.psn = record_call_tx_commit(iface->core, ep->tx, packet);
    }
}

/* Posts the filled operation, which may be of the reserve. */
static __attribute__((noinline)) ucs_status_t
base_am_post_any(base_iface_t *iface, base_ep_t *ep, base_op_t *op,
                 unsigned kind)
{
    int err;

    if ((op->reserved || iface->am_other) && (kind == BASE_OUT_AM)) {
        kind = BASE_OUT_AM_OTHER;
    }
    op->ep       = ep;
    op->out.kind = kind;
    err          = base_post_send(iface, &ep->dest, op);
    if (err != 0) {
        return base_fail_post(ep, err);
    }
    base_op_take_any(&iface->ops, op, &ep->ah->share);
    if (iface->am_other) {
        base_am_commit(iface, ep, op);
    } else {
        op->flow.psn = flow_tx_commit(ep->tx);
    }
    ++iface->ops_posted;
    return UCS_OK;
}

/* The pieces of a short message. */
typedef struct base_pieces {
    const uct_iov_t *iov;
    size_t           count;
} base_pieces_t;

static size_t base_pieces_pack(void *dest, void *arg)
{
    const base_pieces_t *pieces = arg;
    const uct_iov_t     *iov;
    uint8_t             *end = dest;

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
 * short by the lane that an endpoint starts with, and replays waiting requests
 * on the lane that it gets: connected by socket address that was tcp, whose
 * short messages are longer.
 */
static ucs_status_t
base_am_long(uct_ep_h tl_ep, uint8_t id, base_pieces_t *pieces, size_t total)
{
    ssize_t packed;

    if (total > base_ep_iface((base_ep_t*)tl_ep)->max_payload) {
        return UCS_ERR_INVALID_PARAM;
    }
    packed = base_am_bcopy(tl_ep, id, base_pieces_pack, pieces, 0);
    return (packed < 0) ? (ucs_status_t)packed : UCS_OK;
}

static ucs_status_t
base_am_short_long(uct_ep_h tl_ep, uint8_t id, uint64_t header,
                   const void *payload, unsigned length)
{
    uct_iov_t    iov[2] = {{.buffer = &header, .length = sizeof(header)},
                           {.buffer = (void*)payload, .length = length}};
    base_pieces_t pieces = {iov, 2};

    return base_am_long(tl_ep, id, &pieces, sizeof(header) + length);
}

static __attribute__((noinline)) ucs_status_t
base_am_short_any(uct_ep_h tl_ep, uint8_t id, uint64_t header,
                  const void *payload, unsigned length)
{
    base_ep_t    *ep    = (base_ep_t*)tl_ep;
    base_iface_t *iface = base_ep_iface(ep);
    base_op_t    *op    = base_am_start(iface, ep);
    unsigned      offset;

    if (op == NULL) {
        return base_fail_ep_blocked(ep);
    }
    if (length > BASE_MAX_SHORT - sizeof(header)) {
        return base_am_short_long(tl_ep, id, header, payload, length);
    }

    offset = flow_tx_header(iface->core, ep->tx, id, op->buf);
    memcpy(op->buf + offset, &header, sizeof(header));
    if (length > 0) { /* payload may be NULL then */
        memcpy(op->buf + offset + sizeof(header), payload, length);
    }
    base_op_set_buf(op, offset + sizeof(header) + length,
                    iface->qp.inline_size);
    return base_am_post_any(iface, ep, op, BASE_OUT_AM);
}

/* A refusal, of which a stream has two for each message, saves no registers. */
ucs_status_t base_am_short(uct_ep_h tl_ep, uint8_t id, uint64_t header,
                           const void *payload, unsigned length)
{
    return base_fail_ep_waits((base_ep_t*)tl_ep) ?
                   UCS_ERR_NO_RESOURCE :
                   base_am_short_any(tl_ep, id, header, payload, length);
}

ucs_status_t base_am_short_iov(uct_ep_h tl_ep, uint8_t id,
                               const uct_iov_t *iov, size_t iovcnt)
{
    base_ep_t    *ep     = (base_ep_t*)tl_ep;
    base_iface_t *iface  = base_ep_iface(ep);
    base_op_t    *op     = base_am_start(iface, ep);
    base_pieces_t pieces = {iov, iovcnt};
    size_t        i, total = 0;
    unsigned      offset;

    if (__builtin_expect(op == NULL, 0)) {
        return base_fail_ep_blocked(ep);
    }
    for (i = 0; i < iovcnt; ++i) {
        if (__builtin_add_overflow(total, iov[i].length, &total)) {
            return UCS_ERR_INVALID_PARAM;
        }
    }
    if (total > BASE_MAX_SHORT) {
        return base_am_long(tl_ep, id, &pieces, total);
    }

    offset = flow_tx_header(iface->core, ep->tx, id, op->buf);
    base_pieces_pack(op->buf + offset, &pieces);
    base_op_set_buf(op, offset + total, iface->qp.inline_size);
    return base_am_post_any(iface, ep, op, BASE_OUT_AM);
}

ssize_t base_am_bcopy(uct_ep_h tl_ep, uint8_t id,
                      uct_pack_callback_t pack_cb, void *arg,
                      unsigned flags)
{
    base_ep_t     *ep    = (base_ep_t*)tl_ep;
    base_iface_t  *iface = base_ep_iface(ep);
    base_op_t     *op    = base_am_start(iface, ep);
    base_bounce_t *bounce;
    ucs_status_t   status;
    unsigned       offset;
    size_t         length;

    (void)flags;
    if (op == NULL) {
        return base_fail_ep_blocked(ep);
    }
    bounce = base_op_bounce(&iface->ops, op);
    if (bounce == NULL) {
        return base_fail_ep_blocked(ep);
    }

    offset = flow_tx_header(iface->core, ep->tx, id, bounce->data);
    length = pack_cb(bounce->data + offset, arg);
    base_op_set_bounce(op, offset + length);
    status = base_am_post_any(iface, ep, op, BASE_OUT_AM);
    if (__builtin_expect(status != UCS_OK, 0)) {
        return status;
    }
    if (id == UCX_AM_ID_WIREUP) {
        base_wireup_sent(ep);
    }
    return length;
}

/* Where the headers of a zcopy message go: op->buf if they fit. */
static uint8_t *base_am_zcopy_head(base_iface_t *iface, base_op_t *op,
                                   unsigned header_length)
{
    base_bounce_t *bounce;

    if (header_length <= BASE_MAX_SHORT) {
        op->sge[0] = op->buf_sge;
        return op->buf;
    }
    bounce = base_op_bounce(&iface->ops, op);
    if (bounce == NULL) {
        return NULL;
    }
    op->sge[0] = bounce->sge;
    return bounce->data;
}

/* The handle of these bytes, or NULL. Out of line, as it takes an address. */
static __attribute__((noinline)) uct_mem_h
base_am_memh(base_iface_t *iface, const uct_iov_t *iov)
{
    uct_mem_h memh = iov->memh;

    return (efa_memh_check(base_iface_md(iface), &memh, iov->buffer,
                           base_am_iov_size(iov), 0) == UCS_OK) ? memh : NULL;
}

ucs_status_t base_am_zcopy(uct_ep_h tl_ep, uint8_t id, const void *header,
                           unsigned header_length, const uct_iov_t *iov,
                           size_t iovcnt, unsigned flags,
                           uct_completion_t *comp)
{
    base_ep_t    *ep     = (base_ep_t*)tl_ep;
    base_iface_t *iface  = base_ep_iface(ep);
    base_op_t    *op     = base_am_start(iface, ep);
    size_t        length = (iovcnt > 0) ? base_am_iov_size(iov) : 0;
    uct_mem_h     memh   = (length > 0) ? iov->memh : NULL;
    ucs_status_t  status;
    unsigned      offset;
    uint8_t      *head;

    (void)flags;
    if ((iovcnt > 1) || (length > iface->max_payload) ||
        (header_length > iface->max_payload - length)) {
        return UCS_ERR_INVALID_PARAM;
    }
    if ((length > 0) && !efa_memh_is_full(memh, base_iface_md(iface))) {
        memh = base_am_memh(iface, iov);
        if (memh == NULL) {
            return UCS_ERR_INVALID_PARAM;
        }
    }
    if (__builtin_expect(op == NULL, 0)) {
        return base_fail_ep_blocked(ep);
    }
    head = base_am_zcopy_head(iface, op, header_length);
    if (head == NULL) {
        return UCS_ERR_NO_RESOURCE;
    }

    offset = flow_tx_header(iface->core, ep->tx, id, head);
    if (header_length > 0) {
        memcpy(head + offset, header, header_length);
    }
    op->sge[0].length = offset + header_length;
    if (length > 0) {
        base_op_set_piece(op, 1, iov->buffer, length, efa_memh_lkey(memh));
    }
    base_op_set_pieces(op, op->sge, (length > 0) ? 2 : 1, 0);
    op->user_is_host = (length == 0) || ((const efa_memh_t*)memh)->is_host;
    op->out.comp  = comp;
    status        = base_am_post_any(iface, ep, op, BASE_OUT_AM_ZCOPY);
    if (status != UCS_OK) {
        return status;
    }
    base_outstanding_append(ep, &op->out);
    return UCS_INPROGRESS;
}
