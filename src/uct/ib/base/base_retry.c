/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Status 14: the peer's device has no address handle for us, and refused (it is
 * a status of the responder, before it does anything). Soon after a handle was
 * made it may not have arrived everywhere. Therefore the first of its kind is
 * tried again for a short time:
 *   control packets   may come twice anyway
 *   RDMA              if none of the endpoint had ever ended well when it was
 *                     refused first; what ends with an error has not been done,
 *                     and would change nothing if done again
 *   messages          if the flow was fresh then: not answered, and not one of
 *                     its messages had got through. Sends need no handle at the
 *                     peer, so it is not clear what the status would say later
 */
#include "base_retry.h"
#include "base_flow.h"
#include "base_complete.h"
#include "base_fail.h"
#include "base_post.h"

#define BASE_YOUNG_TIME  100000000u /* ns of such tries */
#define BASE_YOUNG_STEP  10000000u  /* ns that count between two of them: the
                                       process may not have run meanwhile */
#define BASE_YOUNG_GAP   10000000000ull /* ns after which another refusal is
                                           none of a young peer's */
#define BASE_AGAIN_PAUSE 5000000u   /* ns until RDMA is posted again */

static int base_retry_is_young(base_iface_t *iface, base_refused_t *refused)
{
    flow_time_t step = (refused->last == 0) ? 0 : iface->now - refused->last;

    refused->last = iface->now;
    if (step >= BASE_YOUNG_GAP) {
        refused->spent = BASE_YOUNG_TIME;
    } else if (refused->spent < BASE_YOUNG_TIME) {
        refused->spent += (step < BASE_YOUNG_STEP) ? (uint32_t)step :
                                                     BASE_YOUNG_STEP;
    }
    return refused->spent < BASE_YOUNG_TIME;
}

static void base_retry_say(base_iface_t *iface, uint32_t qpn, int fresh)
{
    host_warn(iface->super.host,
              "%s: the device of QPN %u has no address handle for us (status "
              "14), %s: its endpoints fail",
              base_iface_md(iface)->device->name, qpn,
              fresh ? "and tries for 0.1 s were in vain" :
                      "though it had one before");
}

/*
 * Handles are the host's, and it is a process there that may be young. Once the
 * time is over it therefore begins anew for another queue pair; and for the
 * same one when a control packet got through to it.
 */
int base_retry_ctl(base_iface_t *iface, base_op_t *op)
{
    base_ah_t *ah  = op->ctl.ah;
    uint32_t   qpn = efa_send_wr_qpn(&op->wr);

    if (ah->refused.last == 0) {
        ah->refused_qpn = qpn;
    }
    if (base_retry_is_young(iface, &ah->refused)) {
        return 1;
    }
    if (ah->refused_qpn != qpn) {
        ah->refused.spent = 0;
        ah->refused_qpn   = qpn;
        return 1;
    }
    base_retry_say(iface, qpn, 1);
    return 0;
}

static void base_retry_later(base_iface_t *iface, base_op_t *op)
{
    if (iface->retry.first == NULL) {
        iface->retry.tail = &iface->retry.first;
        iface->retry.due  = iface->now + BASE_AGAIN_PAUSE;
    }
    op->polled_next     = NULL;
    op->flow.linked    = 1; /* the device does not have it */
    *iface->retry.tail = op;
    iface->retry.tail  = &op->polled_next;
    iface->todo     |= BASE_TODO_RETRY;
}

int base_retry_may(base_iface_t *iface, const base_op_t *op)
{
    base_ep_t *ep = op->ep;
    int        fresh;

    if (ep->state != BASE_EP_ALIVE) {
        return 0;
    }
    fresh = base_op_is_rma(op->out.kind) ?
                    !ep->rma_worked :
                    flow_tx_is_fresh(iface->core, ep->tx);
    if ((fresh || (ep->refused.last != 0)) &&
        base_retry_is_young(iface, &ep->refused)) {
        return 1; /* the first one may be told after others that got through */
    }
    base_retry_say(iface, ep->dest.remote_qpn, fresh);
    return 0;
}

void base_retry_op(base_iface_t *iface, base_op_t *op)
{
    if (base_op_is_rma(op->out.kind)) {
        base_retry_later(iface, op);
    } else {
        op->flow.tx = op->ep->tx;
        flow_tx_rnr(iface->core, &op->flow, iface->now);
    }
}

static base_op_t *base_retry_unlink(base_iface_t *iface, base_op_t **link)
{
    base_op_t *op = *link;

    *link           = op->polled_next;
    op->flow.linked = 0;
    if (*link == NULL) {
        iface->retry.tail = link;
    }
    if (iface->retry.first == NULL) {
        iface->todo &= ~BASE_TODO_RETRY;
    }
    return op;
}

unsigned base_retry_run(base_iface_t *iface)
{
    unsigned   count = 0;
    base_op_t *op;
    int        err;

    if (base_flow_clock(iface) < iface->retry.due) {
        return 0;
    }
    for (; iface->retry.first != NULL; ++count) {
        op = base_retry_unlink(iface, &iface->retry.first);
        if (op->ep->state != BASE_EP_ALIVE) {
            base_complete_cancelled(iface, op, op->ep->status);
            continue;
        }
        err = base_post_rdma(iface, op->ep, op);
        if (efa_post_is_shortage(err)) {
            base_retry_later(iface, op);
            break;
        }
        if (err != 0) {
            base_complete_cancelled(iface, op, base_fail_post(op->ep, err));
        }
    }
    return count;
}

void base_retry_cancel_ep(base_iface_t *iface, const base_ep_t *ep)
{
    base_op_t **link = &iface->retry.first;

    while (*link != NULL) {
        if ((*link)->ep == ep) {
            base_complete_cancelled(iface, base_retry_unlink(iface, link),
                                    ep->status);
            /* its callback may have destroyed others */
            link = &iface->retry.first;
        } else {
            link = &(*link)->polled_next;
        }
    }
}

void base_retry_forget(base_iface_t *iface)
{
    while (iface->retry.first != NULL) {
        base_retry_unlink(iface, &iface->retry.first);
    }
}
