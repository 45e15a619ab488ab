/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The user's memory and callbacks that are in use when an endpoint is
 * destroyed.
 *
 * Afterwards no callback of the user's runs but completions of zcopy operations
 * that the device still has: it may write into their memory, or send its
 * contents, so the user may not have it back. The call waits for the device, as
 * UCT's users expect all to have ended when it returns. After a wait in vain,
 * for a host that is away, later waits are short for a while; operations that
 * the device still has then end from progress, or, cancelled, when the
 * interface closes.
 */
#include "base_reclaim.h"
#include "base_retry.h"
#include "base_flow.h"
#include "base_outstanding.h"
#include "base_polled.h"
#include "base_tx.h"

#include <string.h>

#define BASE_LENT_TIME  500000000ull /* ns of a wait: a living peer's device
                                        needs microseconds, on a slow network
                                        milliseconds */
#define BASE_LENT_SHORT 1000000ull   /* the same soon after one in vain ... */
#define BASE_LENT_PART  10           /* ... so that these take one part of so
                                        many of the time */
#define BASE_LENT_POLLS 64            /* between two looks at the clock */
#define BASE_LENT_LOOKS 16            /* at least: the CPU may have been away */

static int base_reclaim_op_uses_it(const base_op_t *op)
{
    return (op->out.kind != BASE_OUT_FLUSH) &&
           (efa_send_wr_pieces(&op->wr) == op->sge);
}

/* How many the device has. */
static unsigned base_reclaim_is_needed(const base_ep_t *ep)
{
    unsigned          count = 0;
    const base_out_t *out;

    for (out = ep->queue.next; out != &ep->queue; out = out->next) {
        count += base_reclaim_op_uses_it((const base_op_t*)out) &&
                 base_op_is_posted(base_ep_iface(ep), (const base_op_t*)out);
    }
    return count;
}

/* Polls until something of the endpoint comes, a few times. Returns whether
 * polling works. */
static int base_reclaim_poll(base_iface_t *iface, const base_ep_t *ep)
{
    efa_wc_t   wc;
    base_op_t *op;
    unsigned   polls;
    int        count;

    for (polls = 0; polls < BASE_LENT_POLLS; ++polls) {
        count = efa_poll_tx(&iface->qp, 1, &wc);
        if (count < 0) {
            return 0;
        }
        if (count == 0) {
            continue;
        }
        op = efa_wc_user(&wc);
        if ((op->out.kind != BASE_OUT_CTL) && (op->ep == ep)) {
            base_tx_completion(iface, op, efa_wc_status(&wc));
            return 1;
        }
        base_polled_add(iface, &wc);
    }
    return 1;
}

static void base_reclaim_wait(base_iface_t *iface, base_ep_t *ep)
{
    flow_time_t start, patience;
    unsigned    looks = 0;

    if (iface->broken || (base_reclaim_is_needed(ep) == 0)) {
        return;
    }
    start    = base_flow_clock(iface);
    patience = (start < iface->impatient_until) ? BASE_LENT_SHORT :
                                                  BASE_LENT_TIME;
    while ((base_reclaim_is_needed(ep) > 0) && base_reclaim_poll(iface, ep)) {
        base_polled_take_ep(iface, ep);
        if ((base_flow_clock(iface) >= start + patience) &&
            (++looks >= BASE_LENT_LOOKS)) {
            iface->impatient_until += patience * BASE_LENT_PART;
            if (iface->impatient_until < iface->now) {
                iface->impatient_until = iface->now +
                                         patience * BASE_LENT_PART;
            }
            return;
        }
    }
}

/* Takes the user's bytes into a buffer of ours. Returns 0 if there is none. */
static int base_reclaim_copy_op(base_iface_t *iface, base_op_t *op)
{
    base_bounce_t *bounce = base_op_bounce(&iface->ops, op);
    size_t         length = 0;
    int            i;

    if (bounce == NULL) {
        return 0;
    }
    for (i = 0; i < efa_send_wr_count(&op->wr); ++i) {
        memmove(bounce->data + length, (void*)(uintptr_t)op->sge[i].addr,
                op->sge[i].length);
        length += op->sge[i].length;
    }
    base_op_set_bounce(op, length);
    return 1;
}

/* Messages that the device gave back and that may be sent again go on as copies
 * where their memory is the CPU's. */
static void base_reclaim_copy_waiting(base_iface_t *iface, base_ep_t *ep)
{
    base_out_t       *out = ep->queue.next;
    base_op_t        *op;
    uct_completion_t *comp;

    while (out != &ep->queue) {
        op = (base_op_t*)out;
        if ((out->kind == BASE_OUT_AM_ZCOPY) &&
            !base_op_is_posted(iface, op) && op->user_is_host &&
            base_reclaim_copy_op(iface, op)) {
            base_outstanding_remove(out);
            comp      = out->comp;
            out->comp = NULL;
            out->kind = BASE_OUT_AM_OTHER;
            ucx_completion_done(comp, UCS_ERR_CANCELED);
            out = ep->queue.next; /* progress in there ends others, too */
        } else {
            out = out->next;
        }
    }
}

static void base_reclaim_unpack(void *arg, const void *data, size_t length)
{
    (void)arg;
    (void)data;
    (void)length;
}

/* Whether it is a read into a buffer of ours that was not dropped yet. */
static int base_reclaim_may_drop(const base_out_t *out)
{
    const base_op_t *op = (const base_op_t*)out;

    return (out->kind >= BASE_OUT_GET_BCOPY) && (out->kind < BASE_OUT_PUT) &&
           !base_reclaim_op_uses_it(op) &&
           ((out->comp != NULL) || (op->unpack.func != base_reclaim_unpack));
}

/* Reads into our buffers: their data are nobody's any more. */
static void base_reclaim_drop_reads(base_ep_t *ep)
{
    base_out_t       *out = ep->queue.next;
    uct_completion_t *comp;

    while (out != &ep->queue) {
        if (!base_reclaim_may_drop(out)) {
            out = out->next;
            continue;
        }
        ((base_op_t*)out)->unpack.func = base_reclaim_unpack;
        comp      = out->comp;
        out->comp = NULL;
        ucx_completion_done(comp, UCS_ERR_CANCELED);
        out = ep->queue.next; /* progress in there ends others, too */
    }
}

void base_reclaim_ep(base_ep_t *ep)
{
    base_iface_t *iface = base_ep_iface(ep);

    base_reclaim_drop_reads(ep);
    base_polled_take_ep(iface, ep);
    base_retry_cancel_ep(iface, ep);
    base_reclaim_wait(iface, ep);
    base_reclaim_copy_waiting(iface, ep);
}
