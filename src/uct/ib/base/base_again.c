/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Status 14: the peer's device has no address handle for us, and refused (it is
 * a status of the responder, before it does anything). Soon after a handle was
 * made it may not have arrived everywhere. So what is the first of its kind is
 * tried again for a short time:
 *   control packets   may come twice anyway
 *   RDMA              if none of the endpoint had ever ended well when it was
 *                     refused first; what ends with an error has not been done,
 *                     and would change nothing if done again
 *   messages          if the flow was fresh then: not answered, and not one of
 *                     its messages had got through. Sends need no handle at the
 *                     peer, so it is not clear what the status would say later
 */
#include "base_again.h"
#include "base_core.h"
#include "base_done.h"
#include "base_fail.h"
#include "base_post.h"

#define BASE_YOUNG_TIME  100000000ull /* ns from the first such status */
#define BASE_AGAIN_PAUSE 5000000ull   /* ns until RDMA is posted again */

static int base_is_young(base_iface_t *iface, flow_time_t *since)
{
    if (*since == 0) {
        *since = iface->now;
    }
    return iface->now - *since < BASE_YOUNG_TIME;
}

static void base_again_say(base_iface_t *iface, uint32_t qpn, int fresh)
{
    host_warn(iface->super.host,
              "%s: the device of QPN %u has no address handle for us (status "
              "14), %s: its endpoints fail",
              base_iface_md(iface)->device->name, qpn,
              fresh ? "and tries for 0.1 s were in vain" :
                      "though it had one before");
}

/*
 * Handles are the host's, and it is a process there that may be young. So once
 * the time is over it begins anew for another queue pair; and for the same one
 * when a control packet got through to it.
 */
int base_again_ctl(base_iface_t *iface, base_op_t *op)
{
    base_ah_t *ah  = op->ctl.ah;
    uint32_t   qpn = efa_send_wr_qpn(&op->wr);

    if (base_is_young(iface, &ah->refused_since)) {
        ah->refused_qpn = (ah->refused_since == iface->now) ?
                                  qpn : ah->refused_qpn;
        return 1;
    }
    if (ah->refused_qpn != qpn) {
        ah->refused_since = iface->now;
        ah->refused_qpn   = qpn;
        return 1;
    }
    base_again_say(iface, qpn, 1);
    return 0;
}

static void base_again_later(base_iface_t *iface, base_op_t *op)
{
    if (iface->again == NULL) {
        iface->again_tail = &iface->again;
        iface->again_due  = iface->now + BASE_AGAIN_PAUSE;
    }
    op->stash_next     = NULL;
    op->flow.linked    = 1; /* the device does not have it */
    *iface->again_tail = op;
    iface->again_tail  = &op->stash_next;
    iface->attend     |= BASE_ATTEND_AGAIN;
}

int base_again_may(base_iface_t *iface, const base_op_t *op)
{
    base_ep_t *ep = op->ep;
    int        fresh;

    if (ep->state != BASE_EP_ALIVE) {
        return 0;
    }
    fresh = base_out_is_rma(op->out.kind) ?
                    !ep->rma_worked :
                    flow_tx_is_fresh(iface->core, ep->tx);
    if ((fresh || (ep->refused_since != 0)) &&
        base_is_young(iface, &ep->refused_since)) {
        return 1; /* the first one may be told after others that got through */
    }
    base_again_say(iface, ep->dest.remote_qpn, fresh);
    return 0;
}

void base_again_op(base_iface_t *iface, base_op_t *op)
{
    if (base_out_is_rma(op->out.kind)) {
        base_again_later(iface, op);
    } else {
        op->flow.tx = op->ep->tx;
        flow_tx_rnr(iface->core, &op->flow, iface->now);
    }
}

static base_op_t *base_again_unlink(base_iface_t *iface, base_op_t **link)
{
    base_op_t *op = *link;

    *link           = op->stash_next;
    op->flow.linked = 0;
    if (*link == NULL) {
        iface->again_tail = link;
    }
    if (iface->again == NULL) {
        iface->attend &= ~BASE_ATTEND_AGAIN;
    }
    return op;
}

unsigned base_again_run(base_iface_t *iface)
{
    unsigned   count = 0;
    base_op_t *op;
    int        err;

    if (base_iface_clock(iface) < iface->again_due) {
        return 0;
    }
    for (; iface->again != NULL; ++count) {
        op = base_again_unlink(iface, &iface->again);
        if (op->ep->state != BASE_EP_ALIVE) {
            base_op_cancel(iface, op, op->ep->status);
            continue;
        }
        err = base_post_rdma(iface, op->ep, op);
        if (efa_post_is_shortage(err)) {
            base_again_later(iface, op);
            break;
        }
        if (err != 0) {
            base_op_cancel(iface, op, base_post_failed(op->ep, err));
        }
    }
    return count;
}

void base_again_cancel_ep(base_iface_t *iface, const base_ep_t *ep)
{
    base_op_t **link = &iface->again;

    while (*link != NULL) {
        if ((*link)->ep == ep) {
            base_op_cancel(iface, base_again_unlink(iface, link), ep->status);
            link = &iface->again; /* its callback may have destroyed others */
        } else {
            link = &(*link)->stash_next;
        }
    }
}

void base_again_forget(base_iface_t *iface)
{
    while (iface->again != NULL) {
        base_again_unlink(iface, &iface->again);
    }
}
