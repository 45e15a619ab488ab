/* SPDX-License-Identifier: BSD-3-Clause */
/* Endpoints are created and destroyed. */
#include "base_ep.h"
#include "base_address.h"
#include "base_am.h"
#include "base_flow.h"
#include "base_probe.h"
#include "base_core_events.h"
#include "base_ctl.h"
#include "base_fail.h"
#include "base_reclaim.h"
#include "base_ep_list.h"
#include "base_outstanding.h"
#include "base_pending.h"
#include "base_report.h"
#include "base_top.h"
#include "base_vfs.h"

#include <uct/ib/efa/efa_gpu.h>

#include <stdlib.h>
#include <string.h>

static void base_ep_address(const uct_ep_params_t *params, flow_addr_t *peer)
{
    const base_device_addr_t *device = (const void*)params->dev_addr;

    memcpy(peer->gid, device->gid, sizeof(peer->gid));
    base_address_iface_unpack(params->iface_addr, &peer->qpn, &peer->qkey,
                              &peer->incarnation);
}

static ucs_status_t base_ep_open_flow(base_iface_t *iface, base_ep_t *ep,
                                      const flow_addr_t *peer)
{
    flow_status_t status = FLOW_NO_MEMORY;

    if (base_flow_grow(iface) == UCS_OK) {
        status = flow_tx_open(iface->core, peer, ep, &ep->tx);
    }
    switch (status) {
    case FLOW_OK:
        return UCS_OK;
    case FLOW_NO_MEMORY:
        return UCS_ERR_NO_MEMORY;
    case FLOW_LINGERING:
        base_report_crowded(iface);
        return UCS_ERR_NO_RESOURCE;
    default:
        base_report_refused(iface, peer);
        return UCS_ERR_UNREACHABLE;
    }
}

static ucs_status_t base_ep_take_handle(base_iface_t *iface, base_ep_t *ep,
                                        const flow_addr_t *peer)
{
    ucs_status_t status = base_ah_get(&iface->ahs, peer->gid, &ep->ah);

    if (status == UCS_ERR_NO_RESOURCE) {
        host_error(iface->super.host,
                   "%s: all %u address handles are in use by endpoints to "
                   "other hosts: close some, or raise %sMAX_AH if the "
                   "device has more",
                   base_iface_md(iface)->device->name, iface->ahs.limit,
                   iface->transport->prefix);
    } else if (status != UCS_OK) {
        host_error(iface->super.host,
                   "%s: no address handle for a peer: %s%s",
                   base_iface_md(iface)->device->name,
                   iface->super.host->status_string(status),
                   (status == UCS_ERR_NO_MEMORY) ?
                           "" :
                           "; the device refuses its address: is it in another "
                           "availability zone, which an EFA reaches only where "
                           "that is enabled, or in another subnet?");
    }
    return status;
}

/* By device and interface address: other ways there are none. */
static int base_ep_params_are_whole(const uct_ep_params_t *params)
{
    return (params->field_mask & UCT_EP_PARAM_FIELD_DEV_ADDR) &&
           (params->field_mask & UCT_EP_PARAM_FIELD_IFACE_ADDR) &&
           (params->dev_addr != NULL) && (params->iface_addr != NULL);
}

/* Before anybody hears of us. */
static void base_ep_ready_receives(base_iface_t *iface)
{
    if (base_rxq_is_early(&iface->rxq) &&
        (base_rxq_fill(&iface->rxq) != UCS_OK)) {
        base_fail_iface(iface, "posting receives", EIO);
    }
}

/* Before its first endpoint an interface may lack what those without one do not
 * need (base_rxq_is_late). */
static ucs_status_t base_ep_ready_iface(base_iface_t *iface)
{
    ucs_status_t status = base_op_pool_fill(&iface->ops);

    if ((status == UCS_OK) && (iface->endpoints == 0)) {
        base_top_open(iface);
    }
    return status;
}

ucs_status_t base_ep_create(const uct_ep_params_t *params, uct_ep_h *ep_p)
{
    base_iface_t *iface = (base_iface_t*)params->iface;
    flow_addr_t   peer;
    base_ep_t    *ep;
    ucs_status_t  status;

    if (!base_ep_params_are_whole(params)) {
        return UCS_ERR_INVALID_PARAM;
    }
    if (!base_address_is_reachable(params->iface, params->dev_addr,
                                   params->iface_addr)) {
        return UCS_ERR_UNREACHABLE;
    }
    if (iface->broken) {
        return UCS_ERR_IO_ERROR; /* said when it broke */
    }
    status = base_ep_ready_iface(iface);
    if (status != UCS_OK) {
        return status;
    }
    base_ep_address(params, &peer);
    if (posix_memalign((void**)&ep, FLOW_ALIGN, sizeof(*ep)) != 0) {
        return UCS_ERR_NO_MEMORY;
    }
    memset(ep, 0, sizeof(*ep));

    status = ucx_ep_init(&ep->super, &iface->super);
    if (status != UCS_OK) {
        goto err_free;
    }
    status = base_ep_take_handle(iface, ep, &peer);
    if (status != UCS_OK) {
        goto err_cleanup;
    }
    status = base_ep_open_flow(iface, ep, &peer);
    if (status != UCS_OK) {
        goto err_put;
    }

    ep->dest = efa_dest(ep->ah->device->ibah, ep->ah->device->number, peer.qpn,
                        peer.qkey);
    ep->queue.prev    = &ep->queue;
    ep->queue.next    = &ep->queue;
    ep->requests_tail = &ep->requests;
    ++iface->endpoints;
    ep->greeted = 1;
    ++iface->greeted;
    base_vfs_lock();
    base_ep_list_add(&iface->alive, ep);
    base_vfs_unlock();
    base_core_events_introduced(iface, flow_tx_peer(iface->core, ep->tx), 0);
    base_ep_ready_receives(iface);
    base_ctl_post_all(iface); /* the hello, ahead of the first message */
    if ((iface->endpoints & (iface->endpoints - 1)) == 0) { /* 1, 2, 4, ... */
        efa_md_gpu_warn(base_iface_md(iface)); /* it asks the loader */
    }
    *ep_p = &ep->super.super;
    return UCS_OK;

err_put:
    base_ah_put(&iface->ahs, ep->ah);
err_cleanup:
    ucx_ep_cleanup(&ep->super);
err_free:
    free(ep);
    return status;
}

static void base_ep_drop_request(uct_pending_req_t *req, void *arg)
{
    (void)req;
    (void)arg;
}

void base_ep_destroy(uct_ep_h tl_ep)
{
    base_ep_t    *ep    = (base_ep_t*)tl_ep;
    base_iface_t *iface = base_ep_iface(ep);

    if (iface->serving == ep) {
        iface->serving = NULL;
    }
    base_am_delayed_drop(ep);
    base_pending_purge(tl_ep, base_ep_drop_request, NULL);
    ucx_ep_cleanup(&ep->super);

    ep->state  = BASE_EP_DESTROYED;
    ep->status = UCS_ERR_CANCELED;
    base_reclaim_ep(ep);
    /* UCP frees the completions of flushes right after this call */
    base_outstanding_cancel_flushes(ep);
    base_probe_cancel(ep);
    base_vfs_lock();
    base_ep_list_remove(&iface->alive, ep);
    base_vfs_unlock();
    base_ep_list_add(&iface->lingering, ep);
    if (base_ep_is_idle(ep)) {
        base_ep_list_put_handle(ep);
    }
    flow_tx_close(iface->core, ep->tx);
}

ucs_status_t base_ep_invalidate(uct_ep_h tl_ep)
{
    base_fail_ep((base_ep_t*)tl_ep, UCS_ERR_CONNECTION_RESET,
                 FLOW_SEND_ERROR);
    return UCS_OK;
}
