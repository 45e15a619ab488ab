/* SPDX-License-Identifier: BSD-3-Clause */
/* How an endpoint fails, and an interface whose device did: who is told, when,
 * and what operations return until then. */
#include "base_fail.h"
#include "base_flow.h"
#include "base_post.h"
#include "base_report.h"

#include <string.h>

void base_fail_iface(base_iface_t *iface, const char *what, int err)
{
    if (!iface->broken) {
        iface->broken  = 1;
        iface->todo |= BASE_TODO_BROKEN;
        host_error(iface->super.host,
                   "%s: %s failed: %s; the device or its driver stopped: this "
                   "interface is unusable, see the kernel's log",
                   base_iface_md(iface)->device->name, what, strerror(err));
    }
}

void base_fail_count_rounds(base_iface_t *iface)
{
    iface->rounds_end = iface->rounds + BASE_TOLD_ROUNDS;
    iface->todo    |= BASE_TODO_TOLD;
}

void base_fail_ep(base_ep_t *ep, ucs_status_t status, flow_send_status_t why)
{
    if (ep->state == BASE_EP_ALIVE) {
        ep->state  = BASE_EP_FAILED;
        ep->status = status;
    }
    if (ep->tx != NULL) {
        flow_tx_fail(base_ep_iface(ep)->core, ep->tx, why);
    }
}

/* The user knows, for `rounds` of progress. */
static void base_fail_ep_told(base_ep_t *ep, unsigned rounds)
{
    base_iface_t *iface = base_ep_iface(ep);

    ep->reported = 1;
    ep->told     = iface->rounds - rounds;
    base_fail_count_rounds(iface);
}

void base_fail_ep_cancel(base_ep_t *ep)
{
    if (ep->state == BASE_EP_ALIVE) {
        base_fail_ep_told(ep, BASE_TOLD_ROUNDS);
    }
    base_fail_ep(ep, UCS_ERR_CANCELED, FLOW_SEND_GIVEN_UP);
}

ucs_status_t base_fail_ep_status(const base_ep_t *ep)
{
    uint32_t rounds = base_ep_iface(ep)->rounds - ep->told;

    return (ep->reported && (rounds >= BASE_TOLD_ROUNDS)) ? ep->status :
                                                            UCS_ERR_NO_RESOURCE;
}

/* (Of an endpoint that failed because another one to that peer did, or because
 * the peer said so, too.) */
ucs_status_t base_fail_end_status(flow_end_t why)
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

void base_fail_ep_report(base_ep_t *ep, flow_end_t why)
{
    base_iface_t *iface = base_ep_iface(ep);
    efa_dest_t    dest;
    ucs_status_t  status;

    if (ep->state == BASE_EP_ALIVE) {
        ep->state  = BASE_EP_FAILED;
        ep->status = iface->broken ? UCS_ERR_IO_ERROR :
                                     base_fail_end_status(why);
    }
    if ((ep->state == BASE_EP_DESTROYED) || ep->reported) {
        return;
    }

    base_fail_ep_told(ep, 0);
    dest   = ep->dest; /* the handler may destroy it */
    status = ep->status;
    if (ucx_iface_handle_ep_err(&iface->super, &ep->super.super, status) !=
        UCS_OK) {
        base_report_failed(iface, &dest, status, why);
    }
}

void base_fail_ep_ping(base_ep_t *ep, flow_time_t now)
{
    flow_time_t passed = now - ep->pinged;

    if (passed < BASE_PROBE_TIME) {
        return;
    }
    ep->pinged = now;
    /* Of an earlier wait? Then this one has just begun. */
    if ((passed < BASE_PROBE_TIME * 16) && (ep->state == BASE_EP_ALIVE)) {
        flow_tx_ping(base_ep_iface(ep)->core, ep->tx);
    }
}

ucs_status_t base_fail_ep_blocked(base_ep_t *ep)
{
    if (ep->state != BASE_EP_ALIVE) {
        return base_fail_ep_status(ep);
    }
    if (flow_tx_busy(ep->tx) == 0) {
        base_fail_ep_ping(ep, base_flow_clock(base_ep_iface(ep)));
    }
    return UCS_ERR_NO_RESOURCE;
}

ucs_status_t base_fail_post(base_ep_t *ep, int err)
{
    if (efa_post_is_shortage(err)) {
        return UCS_ERR_NO_RESOURCE;
    }
    base_fail_iface(base_ep_iface(ep), "posting", err);
    base_fail_ep(ep, UCS_ERR_IO_ERROR, FLOW_SEND_ERROR);
    return UCS_ERR_IO_ERROR;
}
