/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Puts and gets of lists (ep_put_sgl_zcopy of UCX 1.22, ep_get_sgl_zcopy of
 * 1.23): a work request for each piece, all of them or none, and a doorbell for
 * as many as the device takes with one. From there on each is an operation like
 * those of single puts and gets, so flush, fence, failure and the end of an
 * endpoint find nothing new. Their user is told once, as each of them counts in
 * his completion: with the first error, when the last has come back.
 */
#include "srd_list.h"
#include "srd_rma.h"

#include <uct/ib/base/base_checked.h>
#include <uct/ib/base/base_trace.h>
#include <uct/ib/efa/efa_rkey.h>

/* Elements: so many keys UCP (1.23) resolves on its stack. */
#define SRD_LIST_MAX 64

/* A list that is being posted: its operations are free still, and lead the
 * pool's list. */
typedef struct srd_list {
    base_ep_t        *ep;
    base_iface_t     *iface;
    uct_completion_t *comp;
    base_out_kind_t   kind;
    base_op_t        *next; /* the operation of the next piece */
    base_op_t        *last; /* that of the one before */
    int               is_plain;
} srd_list_t;

/* Work requests that a list takes. */
typedef struct srd_list_size {
    unsigned requests;
    int      is_plain; /* one for each element, and each of these lies in one
                          registration at both ends */
} srd_list_size_t;

size_t srd_list_max(const base_iface_t *iface)
{
    return efa_at_most(SRD_LIST_MAX, base_post_list_share(iface));
}

/* As srd_list_measure, for lists that are not plain. */
static ucs_status_t
srd_list_measure_any(const base_iface_t *iface, base_out_kind_t kind,
                     const ucx_sgl_t *sgl, srd_list_size_t *list_size)
{
    efa_md_t    *md    = base_iface_md(iface);
    size_t       max   = md->device->rdma_most, i, blocks, each;
    size_t       most  = base_post_list_share(iface);
    size_t       total = 0;
    uct_mem_h    memh;
    ucs_status_t status;

    for (i = 0; i < sgl->count; ++i) {
        blocks = (sgl->counts == NULL) ? 1 : sgl->counts[i];
        if ((sgl->lengths[i] == 0) || (blocks == 0)) {
            continue;
        }
        memh   = sgl->memhs[i];
        status = efa_memh_check(md, &memh, NULL, 0, kind == BASE_OUT_GET_ZCOPY);
        if (status != UCS_OK) {
            return status;
        }
        each = (sgl->lengths[i] - 1) / max + 1;
        if ((each > most) || (blocks > most)) { /* no product can wrap */
            return UCS_ERR_INVALID_PARAM;
        }
        total += each * blocks;
    }
    list_size->requests = total;
    list_size->is_plain = 0;
    return (total <= most) ? UCS_OK : UCS_ERR_INVALID_PARAM;
}

/*
 * How many work requests it takes. UCS_OK, also where there is nothing to be
 * moved; UCS_ERR_INVALID_PARAM: more than iface_query_v2 says, more than ever
 * could be posted at once, or a memory handle of another domain.
 */
static inline __attribute__((always_inline)) ucs_status_t
srd_list_measure(const base_iface_t *iface, base_out_kind_t kind,
                 const ucx_sgl_t *sgl, srd_list_size_t *list_size, int any)
{
    const efa_md_t *md    = base_iface_md(iface);
    size_t          max   = md->device->rdma_most, i;
    size_t          count = sgl->count;

    if (count > srd_list_max(iface)) {
        return UCS_ERR_INVALID_PARAM;
    }
    if (any || (sgl->counts != NULL)) {
        return srd_list_measure_any(iface, kind, sgl, list_size);
    }
    for (i = 0; i < count; ++i) {
        if (__builtin_expect((sgl->lengths[i] - 1 >= max) ||
                                     !efa_memh_is_full(sgl->memhs[i], md),
                             0)) {
            return srd_list_measure_any(iface, kind, sgl, list_size);
        }
    }
    list_size->requests = count;
    list_size->is_plain = 1;
    return UCS_OK;
}

_Static_assert(offsetof(base_op_t, out) == 0, "srd_list_fill: an operation is "
               "what is outstanding of it");

/* Fills the next operation, for one piece. (The one behind it in the pool's
 * list is behind it in the endpoint's queue, too.) */
static inline __attribute__((always_inline)) void
srd_list_fill(const srd_list_t *list, base_op_t *op, base_op_t *before,
              const efa_sge_t *piece, uint64_t remote_addr, uct_rkey_t rkey)
{
    op->out.prev    = (base_out_t*)before; /* NULL stays NULL */
    op->ep          = list->ep;
    op->out.kind    = list->kind;
    op->out.comp    = list->comp;
    op->remote_addr = remote_addr;
    op->rkey        = rkey;
    op->sge[0]      = *piece;
    base_op_set_pieces(op, op->sge, 1, 0);
}

/* A plain one on the direct data path. */
static inline __attribute__((always_inline)) void
srd_list_in_place(srd_list_t *list, const ucx_sgl_t *sgl, unsigned count)
{
    efa_qp_t         *qp   = &list->iface->qp;
    const efa_dest_t *dest = &list->ep->dest;
    efa_direct_sq_t   sq   = qp->direct.sq;
    uint64_t          bits = efa_direct_rdma_bits(base_op_rdma(list->kind));
    base_op_t        *op   = NULL, *before, *next = list->next;
    unsigned          i, rung = 0;
    efa_sge_t         piece;
    uint64_t          remote_addr;
    uint32_t          rkey;

    for (i = 0; i < count; ++i) {
        if (__builtin_expect(i - rung == sq.most, 0)) {
            efa_direct_list_ring(qp, sq.slot, sq.must, i - rung);
            rung = i;
        }
        before        = op;
        op            = next;
        next          = (base_op_t*)op->out.next;
        piece.addr    = (uintptr_t)sgl->buffers[i];
        piece.length  = sgl->lengths[i];
        piece.lkey    = efa_memh_lkey(sgl->memhs[i]);
        remote_addr   = sgl->remote_addrs[i];
        rkey          = sgl->rkeys[i];
        op->wr.inside = 0;
        srd_list_fill(list, op, before, &piece, remote_addr, rkey);
        efa_direct_list_piece(&sq, dest, op->wr.id, bits, remote_addr,
                              rkey, &piece);
    }
    list->last = op;
    list->next = next;
    efa_direct_list_ring(qp, sq.slot, sq.must, i - rung);
    efa_direct_list_end(qp);
}

/* The device's key for a piece; srd_segments.c has seen to the table. */
static inline uct_rkey_t srd_list_rkey(uct_rkey_t rkey, uint64_t remote_addr)
{
    const efa_rkey_t *segments = efa_rkey_segments(rkey);

    return (segments == NULL) ? rkey : efa_keys_at(segments->keys, remote_addr);
}

/* Adds the work requests of one block. */
static inline __attribute__((always_inline)) void
srd_list_block(srd_list_t *list, const ucx_sgl_t *sgl, size_t i, size_t offset)
{
    base_iface_t     *iface = list->iface;
    const efa_dest_t *dest  = &list->ep->dest;
    size_t            max   = base_iface_md(iface)->device->rdma_most;
    size_t            left  = sgl->lengths[i], done = 0;
    efa_sge_t         piece;
    base_op_t        *op;
    uct_rkey_t        rkey;
    uint64_t          remote_addr;

    for (; left > 0; left -= piece.length, done += piece.length) {
        piece.addr   = (uintptr_t)sgl->buffers[i] + offset + done;
        piece.length = (left < max) ? left : max;
        piece.lkey   = efa_memh_lkey(sgl->memhs[i]);
        rkey         = sgl->rkeys[i];
        remote_addr  = sgl->remote_addrs[i] + offset + done;
        if (__builtin_expect(!list->is_plain, 0)) {
            piece.lkey = efa_memh_lkey_at(base_iface_md(iface), sgl->memhs[i],
                                          (const void*)piece.addr,
                                          piece.length);
            rkey       = srd_list_rkey(rkey, remote_addr);
        }
        op         = list->next;
        list->next = (base_op_t*)op->out.next;
        srd_list_fill(list, op, list->last, &piece, remote_addr, rkey);
        list->last = op;
        if (iface->traced & BASE_TRACED_LOG) {
            base_trace_log_tx(iface, op, dest->remote_qpn);
        }
        efa_list_add(&iface->qp, &op->wr, dest, base_op_rdma(list->kind),
                     op->remote_addr, op->rkey);
    }
}

/* Any list. As efa_list_end. */
static int srd_list_to_device(srd_list_t *list, const ucx_sgl_t *sgl)
{
    size_t i, block, stride;

    efa_list_begin(&list->iface->qp);
    for (i = 0; i < sgl->count; ++i) {
        if (sgl->counts == NULL) {
            srd_list_block(list, sgl, i, 0);
            continue;
        }
        stride = (sgl->strides == NULL) ? 0 : sgl->strides[i];
        for (block = 0; block < sgl->counts[i]; ++block) {
            srd_list_block(list, sgl, i, block * stride);
        }
    }
    return efa_list_end(&list->iface->qp);
}

/* The device has its `count` operations, of which `first` leads. */
static void
srd_list_posted(srd_list_t *list, base_op_t *first, unsigned count)
{
    base_iface_t *iface = list->iface;
    base_ep_t    *ep    = list->ep;

    iface->ops.free = list->next;
    base_outstanding_append_chain(ep, &first->out, &list->last->out);
    if (list->comp != NULL) {
        list->comp->count += count - 1;
    }
    ep->rma_ops       += count;
    iface->rma_ops    += count;
    iface->ops_posted += count;
    iface->rma_posted += count;
    if (ep->rma_unusual) {
        srd_rma_posted(iface, ep);
    }
}

/* Nothing can be posted now, or there is nothing to be. */
static ucs_status_t srd_list_blocked(base_iface_t *iface, base_ep_t *ep,
                                     unsigned requests)
{
    if (requests == 0) {
        return (ep->state == BASE_EP_ALIVE) ? srd_rma_nothing(ep) :
                                              base_fail_ep_status(ep);
    }
    base_pending_list_refused(iface, ep, requests);
    return base_fail_ep_blocked(ep);
}

static inline __attribute__((always_inline)) ucs_status_t
srd_list_post(uct_ep_h tl_ep, base_out_kind_t kind, const ucx_sgl_t *sgl,
              uct_completion_t *comp, int any)
{
    base_ep_t      *ep        = (base_ep_t*)tl_ep;
    base_iface_t   *iface     = base_ep_iface(ep);
    srd_list_size_t list_size = {0, 0};
    srd_list_t      list      = {ep, iface, comp, kind, NULL, NULL, 0};
    srd_rma_t       rma;
    ucs_status_t    status;
    int             err;

    status = srd_list_measure(iface, kind, sgl, &list_size, any);
    if (status != UCS_OK) {
        return status;
    }
    if ((list_size.requests == 0) ||
        !base_post_list_fits(iface, ep, list_size.requests)) {
        return srd_list_blocked(iface, ep, list_size.requests);
    }
    status = srd_rma_start(&rma, tl_ep, 0, 0);
    if (status != UCS_OK) {
        return status;
    }

    list.next     = rma.op;
    list.is_plain = list_size.is_plain;
    if (list_size.is_plain && iface->qp.direct.in_place && !iface->traced) {
        srd_list_in_place(&list, sgl, list_size.requests);
    } else {
        err = srd_list_to_device(&list, sgl);
        if (err != 0) {
            return base_fail_post(ep, err);
        }
    }
    srd_list_posted(&list, rma.op, list_size.requests);
    return UCS_INPROGRESS;
}

/* Where UCX keeps statistics. */
static __attribute__((noinline)) ucs_status_t
srd_list_counted(uct_ep_h tl_ep, base_out_kind_t kind, const ucx_sgl_t *sgl,
                 uct_completion_t *comp, int any)
{
    size_t total = 0, i;

    for (i = 0; i < sgl->count; ++i) {
        total += sgl->lengths[i] * ((sgl->counts == NULL) ? 1 : sgl->counts[i]);
    }
    base_trace_look(base_ep_iface((base_ep_t*)tl_ep));
    return base_checked_count(tl_ep, (kind == BASE_OUT_PUT) ? UCX_EP_PUT :
                                                              UCX_EP_GET,
                              UCX_EP_BYTES_ZCOPY, total,
                              srd_list_post(tl_ep, kind, sgl, comp, any));
}

static inline __attribute__((always_inline)) ucs_status_t
srd_list_start(uct_ep_h tl_ep, base_out_kind_t kind, const ucx_sgl_t *sgl,
               uct_completion_t *comp, int any)
{
    if (__builtin_expect(base_ep_iface((base_ep_t*)tl_ep)->traced &
                         BASE_TRACED_COUNT, 0)) {
        return srd_list_counted(tl_ep, kind, sgl, comp, any);
    }
    return srd_list_post(tl_ep, kind, sgl, comp, any);
}

#define SRD_LIST_OP(_name, _kind, _any) \
    ucs_status_t _name(uct_ep_h tl_ep, const ucx_sgl_t *sgl, \
                       uct_completion_t *comp) \
    { \
        return srd_list_start(tl_ep, _kind, sgl, comp, _any); \
    }

SRD_LIST_OP(srd_ep_put_sgl, BASE_OUT_PUT, 0)
SRD_LIST_OP(srd_ep_get_sgl, BASE_OUT_GET_ZCOPY, 0)
SRD_LIST_OP(srd_ep_put_sgl_any, BASE_OUT_PUT, 1)
SRD_LIST_OP(srd_ep_get_sgl_any, BASE_OUT_GET_ZCOPY, 1)
