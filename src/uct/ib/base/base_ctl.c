/* SPDX-License-Identifier: BSD-3-Clause */
/* The protocol core's control packets, from post to completion. */
#include "base_ctl.h"
#include "base_retry.h"
#include "base_flow.h"
#include "base_fail.h"
#include "base_post.h"

#include <string.h>

/* The endpoint of operations that have none: whoever polls asks for its
 * flushes. */
static base_ep_t base_ctl_no_ep;

static void base_ctl_fill(base_op_t *op, const flow_ctl_t *ctl, base_ah_t *ah)
{
    op->out.kind   = BASE_OUT_CTL;
    op->out.comp   = NULL;
    op->ep         = &base_ctl_no_ep;
    op->ctl.cookie = ctl->cookie;
    op->ctl.ah     = ah;
    memcpy(op->buf, ctl->data, ctl->len);
    base_op_set_buf(op, ctl->len, 0);
}

/* The operation and the handle of a control packet are free again. */
static void base_ctl_release(base_iface_t *iface, base_op_t *op)
{
    base_ah_put(&iface->ahs, op->ctl.ah);
    op->out.next        = (base_out_t*)iface->ops.free_ctl;
    iface->ops.free_ctl = op;
}

/* The peer's address handle, with one more reference: the one that is kept for
 * it, if there is one. As base_ah_get. */
static inline ucs_status_t
base_ctl_ah_get(base_iface_t *iface, const flow_peer_t *peer, base_ah_t **ah_p)
{
    flow_addr_t addr;

    *ah_p = flow_peer_cookie(peer);
    if (*ah_p != NULL) {
        base_ah_ref(*ah_p);
        return UCS_OK;
    }
    addr = flow_peer_addr(iface->core, peer);
    return base_ah_get(&iface->ahs, addr.gid, ah_p);
}

/* Posts one control packet. Returns 0 when that has to wait. */
static int base_ctl_post(base_iface_t *iface, const flow_ctl_t *ctl)
{
    base_op_t *op = iface->ops.free_ctl;
    base_ah_t *ah;
    efa_dest_t dest;
    int        err;

    if (base_ctl_ah_get(iface, ctl->peer, &ah) != UCS_OK) {
        /* all handles are in use now: later, after a back-off */
        flow_ctl_done(iface->core, ctl->cookie, FLOW_SEND_RNR,
                      base_flow_clock(iface));
        return 1;
    }

    iface->ops.free_ctl = (base_op_t*)op->out.next;
    base_ctl_fill(op, ctl, ah);
    dest = efa_dest(ah->device->ibah, ah->device->number,
                    flow_peer_qpn(ctl->peer), flow_peer_qkey(ctl->peer));
    err  = base_post_send(iface, &dest, op);
    if (err == 0) {
        ++iface->ctl_ops;
        return 1;
    }

    base_ctl_release(iface, op);
    flow_ctl_unsent(iface->core, ctl->cookie);
    if (!efa_post_is_shortage(err)) {
        base_fail_iface(iface, "posting", err);
    }
    return 0;
}

unsigned base_ctl_post_all(base_iface_t *iface)
{
    unsigned   count = 0;
    flow_ctl_t ctl;

    while ((iface->ops.free_ctl != NULL) && flow_ctl_pending(iface->core) &&
           flow_ctl_next(iface->core, iface->now, &ctl)) {
        ++count;
        if (!base_ctl_post(iface, &ctl)) {
            break;
        }
    }
    return count;
}

void base_ctl_finish(base_iface_t *iface, base_op_t *op,
                     flow_send_status_t status)
{
    base_retry_ctl_ended(op, status);
    --iface->ctl_ops;
    flow_ctl_done(iface->core, op->ctl.cookie, status, iface->now);
    base_ctl_release(iface, op);
}
