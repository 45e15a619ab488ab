/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Active messages. A message takes an operation and, unless it is short, a
 * bounce buffer; the protocol core gives it a number. Its bytes stay with the
 * operation until the device says that it is delivered, since a receiver that
 * was not ready means sending the same bytes again.
 *
 * Nothing is taken before everything is at hand, so a refusal has no effect.
 *
 * A stream with more under way than its window waits again and again. UCP's
 * queue and ours cost such a message more than its way does, so it is delayed:
 * accepted into an operation without a number, and posted, many at a time, when
 * a limit comes. It is one request to base_pending.c, the endpoint's first: all
 * that a request holds back it holds back, too. Half of all operations are not
 * for delayed ones, and a window that never opened is not waited for like that,
 * as its receiver may not read. An endpoint that is destroyed without a flush
 * loses what is delayed.
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

#define BASE_DELAY_AFTER 4 /* times that a window has opened again before its
                              messages are delayed */

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

/* Where the header of a filled operation is. */
static inline uint8_t *base_am_packet(const base_op_t *op)
{
    return (uint8_t*)(uintptr_t)efa_send_wr_pieces(&op->wr)->addr;
}

/* The posted packet takes the next number of its flow, and that is not all: it
 * is kept until it is acknowledged, or recorded. */
static void base_am_commit_other(base_iface_t *iface, base_ep_t *ep,
                                 base_op_t *op)
{
    const void *packet = base_am_packet(op);

    if (iface->acked) {
        record_call_resend_commit(iface->core, ep->tx, &op->flow, packet);
    } else {
        op->flow.psn = record_call_tx_commit(iface->core, ep->tx, packet);
    }
}

static inline void base_am_commit(base_iface_t *iface, base_ep_t *ep,
                                  base_op_t *op)
{
    if (__builtin_expect(iface->am_other, 0)) {
        base_am_commit_other(iface, ep, op);
    } else {
        op->flow.psn = flow_tx_commit(ep->tx);
    }
}

/* The filled operation is the endpoint's from now on. */
static inline void base_am_set(base_iface_t *iface, base_ep_t *ep,
                               base_op_t *op, unsigned kind)
{
    if ((op->reserved || iface->am_other) && (kind == BASE_OUT_AM)) {
        kind = BASE_OUT_AM_OTHER;
    }
    op->ep       = ep;
    op->out.kind = kind;
}

/* Posts the filled operation, which may be of the reserve. */
static __attribute__((noinline)) ucs_status_t
base_am_post_any(base_iface_t *iface, base_ep_t *ep, base_op_t *op,
                 unsigned kind)
{
    int err;

    base_am_set(iface, ep, op, kind);
    err = base_post_send(iface, &ep->dest, op);
    if (err != 0) {
        return base_fail_post(ep, err);
    }
    base_op_take_any(&iface->ops, op, &ep->ah->share);
    base_am_commit(iface, ep, op);
    ++iface->ops_posted;
    return UCS_OK;
}

/* --------------------------------------------------------- delayed messages */

void base_am_delayed_drop(base_ep_t *ep)
{
    base_iface_t *iface = base_ep_iface(ep);
    base_op_t    *op;

    while ((op = (base_op_t*)ep->delayed.first) != NULL) {
        ep->delayed.first = op->out.next;
        base_op_give(&iface->ops, op);
        --iface->ops_delayed;
    }
}

/* These have numbers and were not posted: as if their receiver had not been
 * ready, unless the device is broken. */
static void base_am_delayed_refused(base_iface_t *iface, base_ep_t *ep,
                                    efa_chain_t *chain, int err)
{
    base_op_t *op;

    if (!efa_post_is_shortage(err)) {
        (void)base_fail_post(ep, err);
    }
    (void)base_flow_clock(iface);
    while (chain->first != NULL) {
        op = efa_send_wr_user(efa_chain_take(chain));
        if (ep->state == BASE_EP_ALIVE) {
            op->flow.tx = ep->tx;
            flow_tx_rnr(iface->core, &op->flow, iface->now);
        }
    }
}

/* Posts as many as the window allows. No callback runs in here. */
static ucs_status_t base_am_delayed_send(uct_pending_req_t *req)
{
    base_ep_t    *ep    = (base_ep_t*)((char*)req -
                                       offsetof(base_ep_t, delayed.req));
    base_iface_t *iface = base_ep_iface(ep);
    efa_chain_t   chain = {NULL, NULL};
    base_op_t    *op;
    unsigned      count = 0;
    uint8_t      *packet;
    int           err;

    while (((op = (base_op_t*)ep->delayed.first) != NULL) &&
           (ep->state == BASE_EP_ALIVE)) {
        if (!flow_tx_is_open(ep->tx)) {
            iface->dispatch.open = 0; /* they pass others one by one */
            if (!base_am_ready_slow(iface, ep)) {
                break;
            }
        }
        ep->delayed.first = op->out.next;
        packet            = base_am_packet(op);
        flow_tx_header_short(ep->tx, packet[0], packet);
        base_am_set(iface, ep, op, BASE_OUT_AM);
        base_am_commit(iface, ep, op);
        base_post_log(iface, &ep->dest, op);
        efa_chain_add(&chain, &op->wr, &ep->dest);
        ++count;
    }
    iface->ops_posted  += count;
    iface->ops_delayed -= count;
    err = efa_chain_post(&iface->qp, &chain, &ep->dest);
    if (err != 0) {
        base_am_delayed_refused(iface, ep, &chain, err);
    }
    if (ep->state != BASE_EP_ALIVE) {
        base_am_delayed_drop(ep);
    }
    return (ep->delayed.first == NULL) ? UCS_OK : UCS_ERR_NO_RESOURCE;
}

/* An operation for one more, or NULL. */
static inline base_op_t *base_am_delay_op(const base_iface_t *iface)
{
    return (iface->ops_posted + iface->ops_delayed - iface->ops_done <
            iface->ops.common / 2) ? iface->ops.free : NULL;
}

/* Does nothing but delayed messages wait? */
static inline int base_am_delays(base_ep_t *ep)
{
    return base_pending_is_only(ep, &ep->delayed.req) &&
           (ep->state == BASE_EP_ALIVE);
}

/* A message found its window shut: not one of the first few times? */
static inline int base_am_delay_is_due(const base_ep_t *ep)
{
    return ep->delayed.opened >= BASE_DELAY_AFTER;
}

/* Then, where it can be delayed: base_am_delays from now on, if it may be. */
static __attribute__((noinline)) int
base_am_delay_begin(base_iface_t *iface, base_ep_t *ep)
{
    base_delayed_t *delayed = &ep->delayed;

    if (iface->acked || (ep->state != BASE_EP_ALIVE) ||
        (ep->requests != NULL) || (iface->serving == ep) ||
        (flow_tx_paused(ep->tx) != 0) || !flow_tx_is_stopped(ep->tx) ||
        (flow_tx_header_len(ep->tx) != FLOW_SHORT_HDR)) {
        return 0;
    }
    delayed->req.func = base_am_delayed_send;
    delayed->tail     = &delayed->first;
    return base_pending_add(&ep->super.super, &delayed->req, 0) == UCS_OK;
}

/* The operation is filled, but for the short header of its packet. */
static inline void base_am_delay(base_iface_t *iface, base_ep_t *ep,
                                 base_op_t *op, uint8_t id, uint8_t *packet)
{
    base_op_take(&iface->ops, op);
    ++iface->ops_delayed;
    packet[0]         = id;
    op->ep            = NULL; /* the device has it not (base_device_lost.c) */
    op->out.next      = NULL;
    *ep->delayed.tail = &op->out;
    ep->delayed.tail  = &op->out.next;
}

/* A message of pieces, where base_am_delays; with `begin` maybe from now on. */
static ucs_status_t
base_am_delay_iov(base_ep_t *ep, uint8_t id, const uct_iov_t *iov, size_t count,
                  int begin)
{
    base_iface_t *iface = base_ep_iface(ep);
    base_op_t    *op    = base_am_delay_op(iface);
    size_t        length;

    if ((op == NULL) ||
        ((length = base_am_gather(op->buf + FLOW_SHORT_HDR, BASE_MAX_SHORT,
                                  iov, count)) == 0) ||
        !(begin ? base_am_delay_begin(iface, ep) : base_am_delays(ep))) {
        return base_fail_ep_blocked(ep);
    }
    base_op_set_buf(op, FLOW_SHORT_HDR + length, iface->qp.inline_size);
    base_am_delay(iface, ep, op, id, op->buf);
    return UCS_OK;
}

/* The same for base_am_bcopy. */
static ssize_t
base_am_delay_bcopy(base_ep_t *ep, uint8_t id, uct_pack_callback_t pack_cb,
                    void *arg, int begin)
{
    base_iface_t *iface = base_ep_iface(ep);
    base_op_t    *op    = base_am_delay_op(iface);
    size_t        length;

    if ((op == NULL) || (id == UCX_AM_ID_WIREUP) ||
        (base_op_bounce(&iface->ops, op) == NULL) ||
        !(begin ? base_am_delay_begin(iface, ep) : base_am_delays(ep))) {
        return base_fail_ep_blocked(ep);
    }
    length = pack_cb(op->bounce->data + FLOW_SHORT_HDR, arg);
    base_op_set_bounce(op, FLOW_SHORT_HDR + length);
    base_am_delay(iface, ep, op, id, op->bounce->data);
    return length;
}

/* And for base_am_short. */
static __attribute__((noinline)) ucs_status_t
base_am_delay_any(base_ep_t *ep, uint8_t id, uint64_t header,
                  const void *payload, unsigned length, int begin)
{
    uct_iov_t iov[2] = {{.buffer = &header, .length = sizeof(header)},
                        {.buffer = (void*)payload, .length = length}};

    return base_am_delay_iov(ep, id, iov, 2, begin);
}

/* The same where base_am_delays, by few instructions. */
static ucs_status_t
base_am_delay_short(base_ep_t *ep, uint8_t id, uint64_t header,
                    const void *payload, unsigned length)
{
    base_iface_t *iface = base_ep_iface(ep);
    base_op_t    *op    = base_am_delay_op(iface);

    if ((op == NULL) || (length > BASE_AM_FEW)) {
        return base_am_delay_any(ep, id, header, payload, length, 0);
    }
    memcpy(op->buf + FLOW_SHORT_HDR, &header, sizeof(header));
    base_am_copy_few(op->buf + FLOW_SHORT_HDR + sizeof(header), payload,
                     length);
    base_op_set_buf(op, FLOW_SHORT_HDR + sizeof(header) + length,
                    iface->qp.inline_size);
    base_am_delay(iface, ep, op, id, op->buf);
    return UCS_OK;
}

/* The pieces of a message that is packed. */
typedef struct base_pieces {
    const uct_iov_t *iov;
    size_t           count;
} base_pieces_t;

static size_t base_pieces_pack(void *dest, void *arg)
{
    const base_pieces_t *pieces = arg;

    return base_am_gather(dest, SIZE_MAX, pieces->iov, pieces->count);
}

/*
 * A short message beyond max_short, or without a byte. UCP up to 1.15 chooses
 * short by the lane that an endpoint starts with, and replays waiting requests
 * on the lane that it gets: connected by socket address that was tcp, whose
 * short messages are longer.
 */
static ucs_status_t
base_am_long(uct_ep_h tl_ep, uint8_t id, const uct_iov_t *iov, size_t count)
{
    base_pieces_t pieces = {iov, count};
    size_t        left   = base_ep_iface((base_ep_t*)tl_ep)->max_payload, i;
    ssize_t       packed;

    for (i = 0; i < count; ++i) {
        if (iov[i].length > left) {
            return UCS_ERR_INVALID_PARAM;
        }
        left -= iov[i].length;
    }
    packed = base_am_bcopy(tl_ep, id, base_pieces_pack, &pieces, 0);
    return (packed < 0) ? (ucs_status_t)packed : UCS_OK;
}

static ucs_status_t
base_am_short_long(uct_ep_h tl_ep, uint8_t id, uint64_t header,
                   const void *payload, unsigned length)
{
    uct_iov_t iov[2] = {{.buffer = &header, .length = sizeof(header)},
                        {.buffer = (void*)payload, .length = length}};

    return base_am_long(tl_ep, id, iov, 2);
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
        return base_am_delay_is_due(ep) ?
                       base_am_delay_any(ep, id, header, payload, length, 1) :
                       base_fail_ep_blocked(ep);
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

/* A message that waits or is refused saves no registers. */
ucs_status_t base_am_short(uct_ep_h tl_ep, uint8_t id, uint64_t header,
                           const void *payload, unsigned length)
{
    base_ep_t *ep = (base_ep_t*)tl_ep;

    if (base_am_delays(ep)) {
        return base_am_delay_short(ep, id, header, payload, length);
    }
    return base_fail_ep_waits(ep) ?
                   UCS_ERR_NO_RESOURCE :
                   base_am_short_any(tl_ep, id, header, payload, length);
}

static __attribute__((noinline)) ucs_status_t
base_am_short_iov_any(uct_ep_h tl_ep, uint8_t id, const uct_iov_t *iov,
                      size_t iovcnt)
{
    base_ep_t    *ep    = (base_ep_t*)tl_ep;
    base_iface_t *iface = base_ep_iface(ep);
    base_op_t    *op    = base_am_start(iface, ep);
    unsigned      offset;
    size_t        length;

    if (__builtin_expect(op == NULL, 0)) {
        return base_am_delay_is_due(ep) ?
                       base_am_delay_iov(ep, id, iov, iovcnt, 1) :
                       base_fail_ep_blocked(ep);
    }
    offset = flow_tx_header(iface->core, ep->tx, id, op->buf);
    length = base_am_gather(op->buf + offset, BASE_MAX_SHORT, iov, iovcnt);
    if (length == 0) {
        return base_am_long(tl_ep, id, iov, iovcnt);
    }
    base_op_set_buf(op, offset + length, iface->qp.inline_size);
    return base_am_post_any(iface, ep, op, BASE_OUT_AM);
}

ucs_status_t base_am_short_iov(uct_ep_h tl_ep, uint8_t id,
                               const uct_iov_t *iov, size_t iovcnt)
{
    base_ep_t *ep = (base_ep_t*)tl_ep;

    return __builtin_expect(ep->delayed.first != NULL, 0) ?
                   base_am_delay_iov(ep, id, iov, iovcnt, 0) :
                   base_am_short_iov_any(tl_ep, id, iov, iovcnt);
}

static __attribute__((noinline)) ssize_t
base_am_bcopy_any(base_ep_t *ep, uint8_t id, uct_pack_callback_t pack_cb,
                  void *arg)
{
    base_iface_t  *iface = base_ep_iface(ep);
    base_op_t     *op    = base_am_start(iface, ep);
    base_bounce_t *bounce;
    ucs_status_t   status;
    unsigned       offset;
    size_t         length;

    if (op == NULL) {
        return base_am_delay_is_due(ep) ?
                       base_am_delay_bcopy(ep, id, pack_cb, arg, 1) :
                       base_fail_ep_blocked(ep);
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

ssize_t base_am_bcopy(uct_ep_h tl_ep, uint8_t id,
                      uct_pack_callback_t pack_cb, void *arg,
                      unsigned flags)
{
    base_ep_t *ep = (base_ep_t*)tl_ep;

    (void)flags;
    return __builtin_expect(ep->delayed.first != NULL, 0) ?
                   base_am_delay_bcopy(ep, id, pack_cb, arg, 0) :
                   base_am_bcopy_any(ep, id, pack_cb, arg);
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
