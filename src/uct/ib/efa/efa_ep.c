/* SPDX-License-Identifier: BSD-3-Clause */
#include "efa_addr.h"
#include "efa_ep.h"
#include "efa_vfs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void efa_ep_address(const uct_ep_params_t *params, flow_addr_t *peer)
{
    const efa_device_addr_t *device = (const void*)params->dev_addr;

    memcpy(peer->gid, device->gid, sizeof(peer->gid));
    efa_iface_addr_unpack(params->iface_addr, &peer->qpn, &peer->qkey,
                          &peer->incarnation);
}

static ucs_status_t efa_ep_open_flow(efa_iface_t *iface, efa_ep_t *ep,
                                     const flow_addr_t *peer)
{
    flow_status_t status = FLOW_NO_MEMORY;

    if (efa_core_grow(iface) == UCS_OK) {
        status = flow_tx_open(iface->core, peer, ep, &ep->tx);
    }
    switch (status) {
    case FLOW_OK:
        return UCS_OK;
    case FLOW_NO_MEMORY:
        return UCS_ERR_NO_MEMORY;
    default:
        efa_report_refused(iface, peer);
        return UCS_ERR_UNREACHABLE;
    }
}

static ucs_status_t efa_ep_take_handle(efa_iface_t *iface, efa_ep_t *ep,
                                       const flow_addr_t *peer)
{
    ucs_status_t status = efa_ah_get(&iface->ahs, peer->gid, &ep->ah);

    if (status == UCS_ERR_NO_RESOURCE) {
        host_error(iface->super.host,
                   "%s: all %u address handles are in use by endpoints to "
                   "other hosts: close some, or raise UCX_SRD_MAX_AH if the "
                   "device has more",
                   efa_iface_md(iface)->device->name, iface->ahs.limit);
    } else if (status != UCS_OK) {
        host_error(iface->super.host,
                   "%s: no address handle for a peer: %s%s",
                   efa_iface_md(iface)->device->name,
                   iface->super.host->status_string(status),
                   (status == UCS_ERR_NO_MEMORY) ?
                           "" :
                           "; is it in the same subnet, and does the security "
                           "group allow all traffic within itself?");
    }
    return status;
}

static void efa_ep_list_add(efa_ep_t **list, efa_ep_t *ep)
{
    ep->list_prev = NULL;
    ep->list_next = *list;
    if (*list != NULL) {
        (*list)->list_prev = ep;
    }
    *list = ep;
}

static void efa_ep_list_remove(efa_ep_t **list, efa_ep_t *ep)
{
    if (ep->list_prev != NULL) {
        ep->list_prev->list_next = ep->list_next;
    } else {
        *list = ep->list_next;
    }
    if (ep->list_next != NULL) {
        ep->list_next->list_prev = ep->list_prev;
    }
}

/* By device and interface address: other ways there are none. */
static int efa_ep_params_are_whole(const uct_ep_params_t *params)
{
    return (params->field_mask & UCT_EP_PARAM_FIELD_DEV_ADDR) &&
           (params->field_mask & UCT_EP_PARAM_FIELD_IFACE_ADDR) &&
           (params->dev_addr != NULL) && (params->iface_addr != NULL);
}

ucs_status_t efa_ep_create(const uct_ep_params_t *params, uct_ep_h *ep_p)
{
    efa_iface_t *iface = (efa_iface_t*)params->iface;
    flow_addr_t  peer;
    efa_ep_t    *ep;
    ucs_status_t status;

    if (!efa_ep_params_are_whole(params)) {
        return UCS_ERR_INVALID_PARAM;
    }
    if (!efa_iface_is_reachable(params->iface, params->dev_addr,
                                params->iface_addr)) {
        return UCS_ERR_UNREACHABLE;
    }
    if (iface->broken) {
        return UCS_ERR_IO_ERROR; /* said when it broke */
    }
    efa_ep_address(params, &peer);
    ep = calloc(1, sizeof(*ep));
    if (ep == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    status = ucx_ep_init(&ep->super, &iface->super);
    if (status != UCS_OK) {
        goto err_free;
    }
    status = efa_ep_take_handle(iface, ep, &peer);
    if (status != UCS_OK) {
        goto err_cleanup;
    }
    status = efa_ep_open_flow(iface, ep, &peer);
    if (status != UCS_OK) {
        goto err_put;
    }

    ep->dest.ah       = ep->ah->ibah;
    ep->dest.remote_qpn  = peer.qpn;
    ep->dest.remote_qkey = peer.qkey;
    ep->queue.prev    = &ep->queue;
    ep->queue.next    = &ep->queue;
    ep->requests_tail = &ep->requests;
    ++iface->endpoints;
    efa_vfs_lock();
    efa_ep_list_add(&iface->alive, ep);
    efa_vfs_unlock();
    efa_peer_introduced(iface, flow_tx_peer(iface->core, ep->tx), 0);
    efa_ctl_post_all(iface); /* the hello, ahead of the first message */
    *ep_p = &ep->super.super;
    return UCS_OK;

err_put:
    efa_ah_put(&iface->ahs, ep->ah);
err_cleanup:
    ucx_ep_cleanup(&ep->super);
err_free:
    free(ep);
    return status;
}

/* Nothing is posted to ep->dest any more. What the flow still says takes a
 * handle of its own, and may wait long for a host that is away. */
static void efa_ep_put_handle(efa_ep_t *ep)
{
    if (ep->ah != NULL) {
        efa_ah_put(&efa_ep_iface(ep)->ahs, ep->ah);
        ep->ah = NULL;
    }
}

static void efa_ep_drop_request(uct_pending_req_t *req, void *arg)
{
    (void)req;
    (void)arg;
}

void efa_ep_destroy(uct_ep_h tl_ep)
{
    efa_ep_t    *ep    = (efa_ep_t*)tl_ep;
    efa_iface_t *iface = efa_ep_iface(ep);

    if (iface->serving == ep) {
        iface->serving = NULL;
    }
    efa_ep_pending_purge(tl_ep, efa_ep_drop_request, NULL);
    ucx_ep_cleanup(&ep->super);

    ep->state  = EFA_EP_DESTROYED;
    ep->status = UCS_ERR_CANCELED;
    efa_ep_take_back(ep);
    /* UCP frees what a flush completes with right after this call */
    efa_ep_cancel_flushes(ep);
    efa_vfs_lock();
    efa_ep_list_remove(&iface->alive, ep);
    efa_vfs_unlock();
    efa_ep_list_add(&iface->lingering, ep);
    if (efa_ep_is_idle(ep)) {
        efa_ep_put_handle(ep);
    }
    flow_tx_close(iface->core, ep->tx);
}

void efa_ep_free_lingering(efa_ep_t *ep)
{
    efa_iface_t *iface = efa_ep_iface(ep);

    efa_ep_list_remove(&iface->lingering, ep);
    efa_ep_put_handle(ep);
    --iface->endpoints;
    free(ep);
}

void efa_ep_flow_gone(efa_ep_t *ep)
{
    ep->tx = NULL;
    if (efa_ep_is_idle(ep)) {
        efa_ep_free_lingering(ep);
    }
}

void efa_ep_fail(efa_ep_t *ep, ucs_status_t status, flow_send_status_t why)
{
    if (ep->state == EFA_EP_ALIVE) {
        ep->state  = EFA_EP_FAILED;
        ep->status = status;
    }
    if (ep->tx != NULL) {
        flow_tx_fail(efa_ep_iface(ep)->core, ep->tx, why);
    }
}

/* The user knows, for `rounds` of progress. */
static void efa_ep_told(efa_ep_t *ep, unsigned rounds)
{
    efa_iface_t *iface = efa_ep_iface(ep);

    ep->reported = 1;
    ep->told     = iface->rounds - rounds;
    efa_iface_count_rounds(iface);
}

void efa_ep_cancel(efa_ep_t *ep)
{
    if (ep->state == EFA_EP_ALIVE) {
        efa_ep_told(ep, EFA_TOLD_ROUNDS);
    }
    efa_ep_fail(ep, UCS_ERR_CANCELED, FLOW_SEND_GIVEN_UP);
}

ucs_status_t efa_ep_failure(const efa_ep_t *ep)
{
    uint32_t rounds = efa_ep_iface(ep)->rounds - ep->told;

    return (ep->reported && (rounds >= EFA_TOLD_ROUNDS)) ? ep->status :
                                                           UCS_ERR_NO_RESOURCE;
}

/* Of an endpoint that failed because another one to that peer did, or because
 * the peer said so. */
static ucs_status_t efa_ep_status_of(flow_end_t why)
{
    switch (why) {
    case FLOW_END_LOST:
    case FLOW_END_DEAD:
        return UCS_ERR_ENDPOINT_TIMEOUT;
    case FLOW_END_RESET:
    case FLOW_END_PAIR:
        return UCS_ERR_CONNECTION_RESET;
    default:
        return UCS_ERR_IO_ERROR;
    }
}

void efa_ep_report_failure(efa_ep_t *ep, flow_end_t why)
{
    efa_iface_t *iface = efa_ep_iface(ep);
    efa_dest_t   dest;
    ucs_status_t status;

    if (ep->state == EFA_EP_ALIVE) {
        ep->state  = EFA_EP_FAILED;
        ep->status = iface->broken ? UCS_ERR_IO_ERROR : efa_ep_status_of(why);
    }
    if ((ep->state == EFA_EP_DESTROYED) || ep->reported) {
        return;
    }

    efa_ep_told(ep, 0);
    dest   = ep->dest; /* the handler may destroy it */
    status = ep->status;
    if (ucx_iface_handle_ep_err(&iface->super, &ep->super.super, status) !=
        UCS_OK) {
        efa_report_failed(iface, &dest, status, why);
    }
}

void efa_ep_doubt(efa_ep_t *ep, flow_time_t now)
{
    flow_time_t passed = now - ep->doubted;

    if (passed < EFA_DOUBT_TIME) {
        return;
    }
    ep->doubted = now;
    /* Of an earlier wait? Then this one has just begun. */
    if ((passed < EFA_DOUBT_TIME * 16) && (ep->state == EFA_EP_ALIVE)) {
        flow_tx_probe(efa_ep_iface(ep)->core, ep->tx);
    }
}

ucs_status_t efa_ep_blocked(efa_ep_t *ep)
{
    if (ep->state != EFA_EP_ALIVE) {
        return efa_ep_failure(ep);
    }
    if (ep->tx->busy == 0) {
        efa_ep_doubt(ep, efa_iface_clock(efa_ep_iface(ep)));
    }
    return UCS_ERR_NO_RESOURCE;
}

efa_op_t *efa_op_from_reserve(efa_iface_t *iface, efa_ep_t *ep)
{
    int moves = flow_reserve_moves(ep->tx->busy, &ep->reserve_seen);

    if (!efa_op_is_left(&iface->ops) ||
        !flow_reserve_may(&iface->ops.reserve, &ep->ah->share, moves,
                          efa_iface_clock(iface))) {
        return NULL;
    }
    return iface->ops.free_reserve;
}

ucs_status_t efa_post_failed(efa_ep_t *ep, int err)
{
    if (efa_post_is_shortage(err)) {
        return UCS_ERR_NO_RESOURCE;
    }
    efa_iface_break(efa_ep_iface(ep), "posting", err);
    efa_ep_fail(ep, UCS_ERR_IO_ERROR, FLOW_SEND_ERROR);
    return UCS_ERR_IO_ERROR;
}

ucs_status_t efa_ep_invalidate(uct_ep_h tl_ep)
{
    efa_ep_fail((efa_ep_t*)tl_ep, UCS_ERR_CONNECTION_RESET,
                FLOW_SEND_ERROR);
    return UCS_OK;
}

ucs_status_t
efa_ep_check(uct_ep_h tl_ep, unsigned flags, uct_completion_t *comp)
{
    efa_ep_t *ep = (efa_ep_t*)tl_ep;

    (void)flags;
    (void)comp;
    if (ep->state != EFA_EP_ALIVE) {
        return ep->reported ? ep->status : UCS_OK; /* the report follows */
    }
    flow_tx_probe(efa_ep_iface(ep)->core, ep->tx);
    return UCS_OK;
}

int efa_ep_is_connected(uct_ep_h tl_ep, const uct_device_addr_t *dev_addr,
                        const uct_iface_addr_t *iface_addr)
{
    efa_ep_t                *ep     = (efa_ep_t*)tl_ep;
    const efa_device_addr_t *device = (const void*)dev_addr;
    uint64_t                 incarnation;
    uint32_t                 qpn, qkey;

    if (!efa_device_addr_is_ours(dev_addr) ||
        (memcmp(device->gid, ep->ah->gid, sizeof(device->gid)) != 0)) {
        return 0;
    }
    if (iface_addr == NULL) {
        return 1;
    }
    efa_iface_addr_unpack(iface_addr, &qpn, &qkey, &incarnation);
    return (qpn == ep->dest.remote_qpn) && (qkey == ep->dest.remote_qkey);
}
