/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Descriptors become work requests. A descriptor that cannot be posted yet is
 * parked, with those of its endpoint that follow, so that the ring goes on for
 * others; where no item is left for that, the ring waits, and kernels find it
 * full. One that can never be posted is taken and dropped: kernels wait for
 * nothing that fails, and the endpoint's failure is told as any.
 */
#include "srd_gpu.h"

#include <uct/ib/base/base_am.h>
#include <uct/ib/base/base_fail.h>
#include <uct/ib/base/base_progress.h>
#include <uct/ib/base/base_trace.h>
#include <uct/ib/srd/srd_rma.h>

#define SRD_GPU_TURN 32 /* descriptors of a channel at a time */

/* How a descriptor fared. */
typedef enum srd_gpu_took {
    SRD_GPU_GONE,    /* posted, kept, or dropped */
    SRD_GPU_BLOCKED, /* this endpoint cannot go on */
    SRD_GPU_SHORT    /* out of items: none can */
} srd_gpu_took_t;

/* The writes that were added are posted, with a doorbell. */
static void srd_gpu_ring(srd_gpu_iface_t *iface)
{
    efa_qp_t *qp = &iface->super.qp;
    int       err;

    if (iface->in_place > 0) {
        efa_direct_list_ring(qp, iface->list.slot, iface->list.must,
                             iface->in_place);
        efa_direct_list_end(qp);
        iface->in_place = 0;
    }
    if (iface->has_list) {
        iface->has_list = 0;
        err             = efa_list_end(qp);
        if (err != 0) { /* and so each of them ends */
            base_fail_iface(&iface->super, "posting", err);
        }
    }
}

/* Adds a write to the device's queue itself, as srd_list_in_place does. */
static void
srd_gpu_add_in_place(srd_gpu_iface_t *iface, base_ep_t *ep, base_op_t *op)
{
    efa_qp_t *qp = &iface->super.qp;

    if (iface->in_place == 0) {
        iface->list = qp->direct.sq;
    } else if (iface->in_place == iface->list.most) {
        efa_direct_list_ring(qp, iface->list.slot, iface->list.must,
                             iface->in_place);
        iface->in_place = 0;
    }
    op->wr.inside = 0;
    efa_direct_list_piece(&iface->list, &ep->dest, op->wr.id,
                          efa_direct_rdma_bits(base_op_rdma(BASE_OUT_PUT)),
                          op->remote_addr, op->rkey, &op->sge[0]);
    ++iface->in_place;
}

/* The same by libefa, or where packets are traced. */
static void
srd_gpu_add_any(srd_gpu_iface_t *iface, base_ep_t *ep, base_op_t *op)
{
    if (iface->super.traced & BASE_TRACED_LOG) {
        base_trace_log_tx(&iface->super, op, ep->dest.remote_qpn);
    }
    if (!iface->has_list) {
        iface->has_list = 1;
        efa_list_begin(&iface->super.qp);
    }
    efa_list_add(&iface->super.qp, &op->wr, &ep->dest,
                 base_op_rdma(BASE_OUT_PUT), op->remote_addr, op->rkey);
}

/* Adds a write. UCS_INPROGRESS; else nothing was done: UCS_ERR_NO_RESOURCE, or
 * why the endpoint failed. */
static ucs_status_t srd_gpu_post(srd_gpu_peer_t *peer,
                                 const srd_gpu_desc_t *desc, size_t length,
                                 uct_completion_t *comp)
{
    srd_gpu_iface_t *iface = peer->iface;
    srd_rma_t        rma;
    base_op_t       *op;
    ucs_status_t     status;

    status = srd_rma_start(&rma, &peer->ep->super.super, desc->raddr,
                           desc->rkey);
    if (status != UCS_OK) {
        return status;
    }
    op              = rma.op;
    op->ep          = rma.ep;
    op->out.kind    = BASE_OUT_PUT;
    op->out.comp    = comp;
    op->remote_addr = desc->raddr;
    op->rkey        = desc->rkey;
    base_op_set_piece(op, 0, (void*)desc->laddr, length,
                      desc->lkey & EFA_IO_LKEY);
    base_op_set_pieces(op, op->sge, 1, 0);
    if (iface->super.qp.direct.in_place && !iface->super.traced) {
        srd_gpu_add_in_place(iface, rma.ep, op);
    } else {
        srd_gpu_add_any(iface, rma.ep, op);
    }
    srd_rma_took(&rma);
    return UCS_INPROGRESS;
}

/* Posts what it can; the descriptor is then what is left. */
static srd_gpu_took_t
srd_gpu_write(srd_gpu_peer_t *peer, unsigned channel, srd_gpu_desc_t *desc)
{
    const efa_md_t  *md     = base_iface_md(&peer->iface->super);
    ucs_status_t     status = UCS_INPROGRESS;
    srd_gpu_group_t *group;
    size_t           length;

    if (desc->length == 0) {
        return SRD_GPU_GONE;
    }
    group = srd_gpu_order_write(peer, channel);
    if (group == NULL) {
        return SRD_GPU_SHORT;
    }
    do {
        length = efa_at_most(desc->length, md->device->rdma_most);
        status = srd_gpu_post(peer, desc, length, &group->comp);
        if (status != UCS_INPROGRESS) {
            break;
        }
        ++group->comp.count;
        desc->laddr  += length;
        desc->raddr  += length;
        desc->length -= length;
    } while (desc->length > 0);
    ucx_completion_done(&group->comp, UCS_OK); /* no longer held */
    if (status == UCS_ERR_NO_RESOURCE) {
        return SRD_GPU_BLOCKED;
    }
    if (status != UCS_INPROGRESS) { /* no increment may pass for complete */
        base_fail_ep(peer->ep, status, FLOW_SEND_ERROR);
        ++peer->iface->dropped;
    }
    return SRD_GPU_GONE;
}

static srd_gpu_took_t
srd_gpu_handle(srd_gpu_peer_t *peer, unsigned channel, srd_gpu_desc_t *desc)
{
    switch (desc->opcode) {
    case SRD_GPU_OP_WRITE:
        return srd_gpu_write(peer, channel, desc);
    case SRD_GPU_OP_ADD:
        return srd_gpu_order_add(peer, channel, desc) ? SRD_GPU_GONE :
                                                        SRD_GPU_SHORT;
    default:
        ++peer->iface->dropped;
        return SRD_GPU_GONE;
    }
}

/* Takes one. 0: it stays in its ring. */
static int
srd_gpu_take(srd_gpu_iface_t *iface, unsigned channel, srd_gpu_desc_t *desc)
{
    srd_gpu_peer_t *peer = srd_gpu_peer_find(iface, desc->ep_id);
    srd_gpu_item_t *item;
    srd_gpu_took_t  took = SRD_GPU_BLOCKED;

    if (peer == NULL) {
        ++iface->dropped;
        return 1;
    }
    if (peer->parked.first == NULL) {
        took = srd_gpu_handle(peer, channel, desc);
    }
    if (took == SRD_GPU_BLOCKED) {
        if ((iface->items == NULL) || (iface->items->next == NULL)) {
            return 0; /* one stays: to handle what is parked takes one */
        }
        item          = srd_gpu_item_get(iface);
        item->desc    = *desc;
        item->channel = channel;
        srd_gpu_queue_put(&peer->parked, item);
        srd_gpu_order_wait(peer);
        return 1;
    }
    return took == SRD_GPU_GONE;
}

/* Sends increments that are due. Returns how many. */
static unsigned srd_gpu_send_ready(srd_gpu_peer_t *peer)
{
    unsigned        count = 0;
    srd_gpu_item_t *item;
    srd_gpu_wire_t  wire;
    ucs_status_t    status;

    if (peer->ready.first != NULL) {
        srd_gpu_ring(peer->iface);
    }
    while ((item = peer->ready.first) != NULL) {
        wire.raddr = item->desc.raddr;
        wire.add   = item->desc.add;
        wire.rkey  = item->desc.rkey;
        status     = base_am_short(&peer->ep->super.super, SRD_GPU_AM_ADD,
                                   wire.raddr, &wire.add,
                                   sizeof(wire) - sizeof(wire.raddr));
        if (status == UCS_ERR_NO_RESOURCE) {
            break;
        }
        if (status != UCS_OK) {
            srd_gpu_queue_drop(peer->iface, &peer->ready);
            break;
        }
        srd_gpu_item_put(peer->iface, srd_gpu_queue_take(&peer->ready));
        ++count;
    }
    return count;
}

/* Handles what is parked. Returns how many descriptors are gone. */
static unsigned srd_gpu_unpark(srd_gpu_peer_t *peer)
{
    unsigned        count = 0;
    srd_gpu_item_t *item;

    while ((item = peer->parked.first) != NULL) {
        if (srd_gpu_handle(peer, item->channel, &item->desc) != SRD_GPU_GONE) {
            break;
        }
        srd_gpu_item_put(peer->iface, srd_gpu_queue_take(&peer->parked));
        ++count;
    }
    return count;
}

/* Peers that wait, once each. */
static unsigned srd_gpu_serve(srd_gpu_iface_t *iface)
{
    srd_gpu_peer_t *peer, *next = iface->waiting;
    unsigned        count = 0;

    iface->waiting = NULL;
    while ((peer = next) != NULL) {
        next        = peer->next;
        peer->waits = 0;
        if (peer->ep == NULL) {
            srd_gpu_peer_unused(peer);
            continue;
        }
        count += srd_gpu_send_ready(peer) + srd_gpu_unpark(peer);
        if ((peer->ready.first != NULL) || (peer->parked.first != NULL)) {
            srd_gpu_order_wait(peer);
        }
    }
    return count;
}

static unsigned srd_gpu_drain(srd_gpu_iface_t *iface, unsigned channel)
{
    srd_gpu_ring_t *ring = &iface->rings[channel];
    unsigned        count;
    srd_gpu_desc_t  desc;

    for (count = 0; count < SRD_GPU_TURN; ++count) {
        if (!srd_gpu_ring_peek(ring, &desc) ||
            !srd_gpu_take(iface, channel, &desc)) {
            break;
        }
        ++ring->taken;
    }
    if (count > 0) {
        srd_gpu_ring_tell(ring);
    }
    return count;
}

static unsigned srd_gpu_proxy_run(srd_gpu_iface_t *iface)
{
    unsigned count = srd_gpu_serve(iface), channel;

    for (channel = 0; channel < iface->channels; ++channel) {
        count += srd_gpu_drain(iface, channel);
    }
    srd_gpu_ring(iface);
    return count;
}

unsigned srd_gpu_progress(uct_iface_h tl_iface)
{
    srd_gpu_iface_t *iface = (srd_gpu_iface_t*)tl_iface;
    unsigned         count = base_progress_any(tl_iface);

    if (iface->add_count > 0) {
        srd_gpu_count_all(iface);
    }
    return (iface->d2p == NULL) ? count : count + srd_gpu_proxy_run(iface);
}
