/* SPDX-License-Identifier: BSD-3-Clause */
/* How an endpoint fails, and an interface whose device did: who is told, when,
 * and what operations return until then. */
#include "base_fail.h"
#include "base_ep_list.h"
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

void base_fail_by(const base_op_t *op, unsigned vendor_err)
{
    if (op->ep->ended_by == EFA_STATUS_OK) {
        op->ep->ended_as = op->out.kind;
        op->ep->ended_by = (uint8_t)vendor_err;
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

/* (Also for an endpoint that failed because another one to that peer did, or
 * because the peer said so.) */
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

/* To whom it leads, and why it failed. */
static void
base_fail_ep_describe(base_ep_t *ep, flow_end_t why, base_failed_t *failed)
{
    base_iface_t *iface = base_ep_iface(ep);
    flow_peer_t  *peer  = flow_tx_peer(iface->core, ep->tx);
    flow_addr_t   addr  = flow_peer_addr(iface->core, peer);

    failed->spoke    = flow_peer_spoke(peer);
    failed->qpn      = addr.qpn;
    failed->status   = ep->status;
    failed->why      = why;
    failed->ended_as = ep->ended_as;
    failed->ended_by = ep->ended_by;
    memcpy(failed->gid, addr.gid, sizeof(failed->gid));
}

/* Is nothing lost with it? The peer's process is gone, which a control packet
 * of ours has shown, and the user has nothing under way to it: an MPI process
 * that was spawned and has ended is no failure of the one that spawned it. */
static int base_fail_ep_is_unused(base_ep_t *ep, flow_end_t why)
{
    return (why == FLOW_END_DEAD) && (ep->state == BASE_EP_ALIVE) &&
           base_ep_is_idle(ep) && (ep->requests == NULL);
}

void base_fail_ep_report(base_ep_t *ep, flow_end_t why)
{
    base_iface_t *iface = base_ep_iface(ep);
    base_failed_t failed;
    ucs_status_t  handled;

    failed.unused = base_fail_ep_is_unused(ep, why);
    if (ep->state == BASE_EP_ALIVE) {
        ep->state  = BASE_EP_FAILED;
        ep->status = iface->broken ? UCS_ERR_IO_ERROR :
                                     base_fail_end_status(why);
    }
    if ((ep->state == BASE_EP_DESTROYED) || ep->reported) {
        return;
    }

    base_fail_ep_told(ep, 0);
    base_fail_ep_describe(ep, why, &failed);
    base_ep_list_hold(ep); /* the handler may destroy it */
    handled      = ucx_iface_handle_ep_err(&iface->super, &ep->super.super,
                                           failed.status);
    failed.level = ucx_iface_failure_level(&iface->super, handled,
                                           failed.status);
    if ((failed.level == UCS_LOG_LEVEL_FATAL) && failed.unused) {
        failed.level = UCS_LOG_LEVEL_DIAG;
        ep->unused   = (ep->state != BASE_EP_DESTROYED);
    }
    base_ep_list_release(ep);
    base_report_failed(iface, &failed);
}

/* Nobody handles failures, and now the user lost something by this one. */
static void base_fail_ep_used(base_ep_t *ep)
{
    base_iface_t *iface = base_ep_iface(ep);
    base_failed_t failed;

    ep->unused    = 0;
    failed.unused = 0;
    base_fail_ep_describe(ep, FLOW_END_DEAD, &failed);
    failed.level = UCS_LOG_LEVEL_FATAL;
    base_report_failed(iface, &failed);
    base_report_write(iface);
}

void base_fail_ep_ping(base_ep_t *ep, flow_time_t now)
{
    flow_time_t passed = now - ep->pinged;

    if (passed < BASE_PROBE_TIME) {
        return;
    }
    ep->pinged = now;
    /* Does the time belong to an earlier wait? Then this one has just begun. */
    if ((passed < BASE_PROBE_TIME * 16) && (ep->state == BASE_EP_ALIVE)) {
        flow_tx_ping(base_ep_iface(ep)->core, ep->tx);
    }
}

/* Out of line part of base_fail_ep_blocked. */
static __attribute__((noinline)) ucs_status_t
base_fail_ep_blocked_first(base_ep_t *ep)
{
    if (ep->state != BASE_EP_ALIVE) {
        if (ep->unused) {
            base_fail_ep_used(ep);
        }
        return base_fail_ep_status(ep);
    }
    /* else the end of an operation tells */
    if ((flow_tx_busy(ep->tx) | ep->rma_ops) == 0) {
        base_fail_ep_ping(ep, base_flow_clock(base_ep_iface(ep)));
    }
    return UCS_ERR_NO_RESOURCE;
}

ucs_status_t base_fail_ep_blocked(base_ep_t *ep)
{
    return base_fail_ep_waits(ep) ? UCS_ERR_NO_RESOURCE :
                                    base_fail_ep_blocked_first(ep);
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
