/* SPDX-License-Identifier: BSD-3-Clause */
/* One completion of a work request: what the device's status means for the
 * operation, its endpoint and the protocol core. */
#include "base_tx.h"
#include "base_retry.h"
#include "base_flow.h"
#include "base_ctl.h"
#include "base_complete.h"
#include "base_fail.h"
#include "base_outstanding.h"
#include "base_post.h"

#include <errno.h>

static void
base_tx_error(base_iface_t *iface, base_op_t *op, unsigned vendor_err)
{
    flow_send_status_t flow_status = iface->transport->flow_status(vendor_err);
    ucs_status_t       status      = iface->transport->status(vendor_err);
    base_ep_t         *ep          = op->ep;

    base_flow_clock(iface);
    if (vendor_err == EFA_STATUS_FLUSHED) {
        base_fail_iface(iface, "sending", ENODEV);
    }
    if (op->out.kind == BASE_OUT_CTL) {
        if ((vendor_err == EFA_STATUS_REMOTE_REFUSED) &&
            base_retry_ctl(iface, op)) {
            flow_status = FLOW_SEND_RNR;
        }
        base_ctl_finish(iface, op, flow_status);
        return;
    }
    if ((vendor_err == EFA_STATUS_REMOTE_REFUSED) &&
        base_retry_may(iface, op)) {
        base_retry_op(iface, op);
        return;
    }
    if ((flow_status == FLOW_SEND_RNR) && !base_op_is_rma(op->out.kind)) {
        op->flow.tx = ep->tx;
        flow_tx_rnr(iface->core, &op->flow, iface->now);
        return;
    }

    base_fail_by(op, vendor_err);
    base_fail_ep(ep, status, flow_status);
    base_complete_cancelled(iface, op, status);
}

/*
 * A write was placed; whether a GPU's kernels see it is another matter, while
 * its bytes are on their way over PCIe. A read of the same device from there
 * cannot overtake them, so it ends the put in the write's stead. Returns 0
 * where there is no such read: the endpoint ends anyway.
 */
static int base_put_read_back(base_iface_t *iface, base_op_t *op)
{
    int err;

    if (op->ep->state != BASE_EP_ALIVE) {
        return 0;
    }
    op->out.kind = BASE_OUT_GET_ZCOPY;
    base_op_set_buf(op, 1, 0);
    err = base_post_rdma(iface, op->ep, op);
    if (efa_post_is_shortage(err)) {
        base_flow_clock(iface);
        base_retry_op(iface, op);
    } else if (err != 0) {
        base_complete_abandoned(iface, op, err);
    }
    return 1;
}

void base_tx_completion(base_iface_t *iface, base_op_t *op, unsigned vendor_err)
{
    base_ep_t *ep;

    if (iface->acked && (op->out.kind != BASE_OUT_CTL)) {
        iface->transport->acks->sent(iface, op, vendor_err);
        return;
    }
    if (__builtin_expect(vendor_err != 0, 0)) {
        base_tx_error(iface, op, vendor_err);
        return;
    }

    switch ((base_out_kind_t)op->out.kind) {
    case BASE_OUT_AM:
        ep = op->ep;
        base_complete_am(iface, op);
        if (ep->flushes > 0) {
            base_outstanding_end_flushes(ep);
        }
        return;
    case BASE_OUT_AM_OTHER:
    case BASE_OUT_AM_ZCOPY:
        flow_tx_done(iface->core, op->ep->tx, op->flow.psn);
        break;
    case BASE_OUT_CTL:
        base_ctl_finish(iface, op, FLOW_SEND_OK);
        return;
    case BASE_OUT_GET_BCOPY:
        base_complete_unpack(op);
        break;
    case BASE_OUT_PUT:
        if (iface->put_flush && base_put_read_back(iface, op)) {
            return;
        }
        break;
    case BASE_OUT_GET_TAKEN:
    case BASE_OUT_GET_ZCOPY:
    case BASE_OUT_FLUSH: /* a marker, which the device never has */
        break;
    }
    base_complete_op(iface, op, UCS_OK);
}
