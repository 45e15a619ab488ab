/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arming the event descriptor (DESIGN.md decision 12). BUSY is said only when
 * the next progress has something to do, and no other error ever: UCP aborts
 * on one.
 *
 * A completion that came before the queue was armed gives no event on some
 * devices, so arming looks into the queue. What it finds cannot be put back:
 * it is stashed, and progress takes it first.
 */
#include "efa_ep.h"

unsigned efa_iface_take_stash(efa_iface_t *iface)
{
    unsigned stashed = iface->stashed;

    iface->stashed = 0;
    if (stashed & EFA_STASHED_RX) {
        efa_iface_clock(iface);
        efa_rx_completion(iface, &iface->stash_rx);
    }
    if (stashed & EFA_STASHED_TX) {
        efa_tx_completion(iface, &iface->stash_tx);
    }
    return __builtin_popcount(stashed);
}

ucs_status_t efa_iface_event_fd(uct_iface_h tl_iface, int *fd_p)
{
    efa_iface_t *iface = (efa_iface_t*)tl_iface;

    if (iface->events.epoll_fd < 0) {
        return UCS_ERR_UNSUPPORTED;
    }
    *fd_p = iface->events.epoll_fd;
    return UCS_OK;
}

static void
efa_iface_peek(efa_iface_t *iface, struct ibv_cq *cq, unsigned which,
               struct ibv_wc *wc)
{
    if (!(iface->stashed & which) &&
        (cq->context->ops.poll_cq(cq, 1, wc) == 1)) {
        iface->stashed |= which;
    }
}

/* Whether the next progress has something to do that needs no completion. */
static int efa_iface_is_busy(const efa_iface_t *iface)
{
    return flow_event_pending(iface->core) ||
           (flow_ctl_pending(iface->core) && (iface->ops.free_ctl != NULL) &&
            (flow_timer_next(iface->core) == FLOW_TIME_NEVER));
}

static void efa_iface_arm_timer(efa_iface_t *iface)
{
    flow_time_t next = flow_timer_next(iface->core), now;

    if (next == FLOW_TIME_NEVER) {
        efa_events_set_timer(&iface->events, 0);
        return;
    }
    now = efa_iface_clock(iface);
    efa_events_set_timer(&iface->events, (next > now) ? next - now : 1);
}

ucs_status_t efa_iface_event_arm(uct_iface_h tl_iface, unsigned events)
{
    efa_iface_t *iface = (efa_iface_t*)tl_iface;
    int          err;

    (void)events; /* both directions: an idle one gives no event */
    if (efa_iface_is_busy(iface)) {
        return UCS_ERR_BUSY;
    }
    err = efa_events_rearm(&iface->events, &iface->qp);
    if (err != 0) {
        efa_iface_break(iface, "arming", err);
        efa_events_set_timer(&iface->events, 1); /* readable, not an error */
        return UCS_OK;
    }
    efa_iface_peek(iface, iface->qp.rx_cq, EFA_STASHED_RX, &iface->stash_rx);
    efa_iface_peek(iface, iface->qp.tx_cq, EFA_STASHED_TX, &iface->stash_tx);
    if (iface->stashed) {
        return UCS_ERR_BUSY;
    }
    efa_iface_arm_timer(iface);
    return UCS_OK;
}
