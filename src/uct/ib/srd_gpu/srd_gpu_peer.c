/* SPDX-License-Identifier: BSD-3-Clause */
/* Endpoints that kernels know, and the rings, which come with the first. */
#include "srd_gpu.h"

#include <uct/ib/base/base_ep.h>

#include <stdlib.h>

#define SRD_GPU_EPS 64 /* made at a time */

/* Rings: *pi and *ci of a channel each in a line of its own, for both sides
 * write them. */
static ucs_status_t srd_gpu_make_rings(srd_gpu_iface_t *iface)
{
    size_t depth = (size_t)1 << iface->log_depth;
    size_t count = iface->channels * depth + 1, i;
    srd_gpu_d2p_channel_t *channel;
    srd_gpu_d2p_iface_t   *d2p;
    srd_gpu_item_t        *items;
    uint64_t              *indices;

    d2p = srd_gpu_memory_get(iface, sizeof(*d2p) + iface->channels *
                                                           sizeof(*channel));
    indices = srd_gpu_memory_get(iface, iface->channels * 256);
    items   = aligned_alloc(_Alignof(srd_gpu_item_t), count * sizeof(*items));
    if ((d2p == NULL) || (indices == NULL) || (items == NULL)) {
        free(items);
        return UCS_ERR_NO_MEMORY;
    }
    for (i = 0; i < iface->channels; ++i) {
        channel        = &d2p->channels[i];
        channel->pi    = indices + i * 32;
        channel->ci    = indices + i * 32 + 16;
        channel->queue = srd_gpu_memory_get(iface,
                                            depth * sizeof(*channel->queue));
        if (channel->queue == NULL) {
            free(items);
            return UCS_ERR_NO_MEMORY;
        }
        srd_gpu_ring_init(&iface->rings[i], channel->queue, channel->ci,
                          iface->log_depth);
    }
    d2p->channel_mask = iface->channels - 1;
    d2p->log_depth    = iface->log_depth;
    for (i = 0; i < count; ++i) {
        srd_gpu_item_put(iface, &items[i]);
    }
    iface->item_block = items;
    iface->d2p        = d2p;
    return UCS_OK;
}

/* All of them, or none: UCP's user may ask again. */
static ucs_status_t srd_gpu_open_rings(srd_gpu_iface_t *iface)
{
    struct srd_gpu_block *before = iface->blocks;
    ucs_status_t          status = srd_gpu_make_rings(iface);

    if (status != UCS_OK) {
        srd_gpu_memory_free(iface, before);
        return status;
    }
    srd_gpu_count_prepare(iface);
    return UCS_OK;
}

/* Room for one more number. */
static ucs_status_t srd_gpu_peer_grow(srd_gpu_iface_t *iface)
{
    unsigned         room = (iface->peer_room == 0) ? 16 : 2 * iface->peer_room;
    srd_gpu_peer_t **peers;

    if (iface->peer_count < iface->peer_room) {
        return UCS_OK;
    }
    peers = realloc(iface->peers, room * sizeof(*peers));
    if (peers == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    iface->peers     = peers;
    iface->peer_room = room;
    return UCS_OK;
}

/* The endpoint that kernels read, with the peer's id. */
static void srd_gpu_peer_show(const srd_gpu_peer_t *peer)
{
    srd_gpu_iface_t      *iface = peer->iface;
    srd_gpu_d2p_any_ep_t *ep    = peer->device_ep;
    unsigned              channel;

    memset(ep, 0, sizeof(*ep));
    if (ucx_host_device_api(iface->super.super.host) == UCX_DEVICE_API_EP) {
        channel           = (uint32_t)peer->id & (iface->channels - 1);
        ep->old.tl_id     = SRD_GPU_D2P;
        ep->old.channel   = iface->d2p->channels[channel];
        ep->old.ep_id     = peer->id;
        ep->old.log_depth = iface->log_depth;
    } else {
        ep->now.tl_id = SRD_GPU_D2P;
        ep->now.iface = iface->d2p;
        ep->now.ep_id = peer->id;
    }
}

/* A peer with a number of its own; both stay until the interface closes. */
static srd_gpu_peer_t *srd_gpu_peer_new(srd_gpu_iface_t *iface)
{
    srd_gpu_d2p_any_ep_t *eps;
    srd_gpu_peer_t       *peer;
    unsigned              i;

    if (srd_gpu_peer_grow(iface) != UCS_OK) {
        return NULL;
    }
    if (iface->free_eps == NULL) {
        eps = srd_gpu_memory_get(iface, SRD_GPU_EPS * sizeof(*eps));
        for (i = 0; (eps != NULL) && (i < SRD_GPU_EPS); ++i) {
            eps[i].next     = iface->free_eps;
            iface->free_eps = &eps[i];
        }
    }
    if (iface->free_eps == NULL) {
        return NULL;
    }
    peer = calloc(1, sizeof(*peer) + iface->channels * sizeof(*peer->lanes));
    if (peer != NULL) {
        peer->iface     = iface;
        peer->device_ep = iface->free_eps;
        iface->free_eps = iface->free_eps->next;
        peer->id        = iface->peer_count;
        iface->peers[iface->peer_count++] = peer;
    }
    return peer;
}

ucs_status_t srd_gpu_ep_get_device_ep(uct_ep_h tl_ep, void **device_ep_p)
{
    base_ep_t       *ep    = (base_ep_t*)tl_ep;
    srd_gpu_iface_t *iface = (srd_gpu_iface_t*)base_ep_iface(ep);
    srd_gpu_peer_t  *peer  = ep->peer;

    if (peer == NULL) {
        if ((iface->d2p == NULL) && (srd_gpu_open_rings(iface) != UCS_OK)) {
            return UCS_ERR_NO_MEMORY;
        }
        peer = iface->free_peers;
        if (peer != NULL) {
            iface->free_peers = peer->next;
        } else {
            peer = srd_gpu_peer_new(iface);
        }
        if (peer == NULL) {
            return UCS_ERR_NO_MEMORY;
        }
        peer->ep = ep;
        ep->peer = peer;
        srd_gpu_peer_show(peer);
    }
    *device_ep_p = peer->device_ep;
    return UCS_OK;
}

/* UCP makes progress on interfaces of which its own protocols use endpoints:
 * not on this one. */
ucs_status_t
srd_gpu_ep_create(const uct_ep_params_t *params, uct_ep_h *ep_p)
{
    ucs_status_t status = base_ep_create(params, ep_p);

    if (status == UCS_OK) {
        ucx_iface_progress_enable(params->iface,
                                  UCT_PROGRESS_SEND | UCT_PROGRESS_RECV |
                                          UCT_PROGRESS_THREAD_SAFE);
    }
    return status;
}

void srd_gpu_ep_destroy(uct_ep_h tl_ep)
{
    srd_gpu_peer_t *peer = ((base_ep_t*)tl_ep)->peer;

    if (peer != NULL) {
        srd_gpu_order_end(peer);
    }
    base_ep_destroy(tl_ep);
}

void srd_gpu_peer_free_all(srd_gpu_iface_t *iface)
{
    unsigned i;

    for (i = 0; i < iface->peer_count; ++i) {
        free(iface->peers[i]);
    }
    free(iface->peers);
    free(iface->item_block);
}
