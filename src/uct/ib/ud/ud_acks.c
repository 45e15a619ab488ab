/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages on UD: a completed send says that the device is done with the bytes,
 * an acknowledgement that the peer has them. */
#include "ud.h"

#include <uct/ib/base/base_complete.h>
#include <uct/ib/base/base_fail.h>

#include <errno.h>

static void ud_sent(base_iface_t *iface, base_op_t *op, unsigned vendor_err)
{
    if (vendor_err == EFA_STATUS_FLUSHED) {
        base_fail_iface(iface, "sending", ENODEV);
    }
    if (efa_status_is_local(vendor_err)) {
        base_fail_by(op, vendor_err);
    }
    flow_resend_sent(iface->core, &op->flow, efa_status_is_local(vendor_err));
}

/* Why an operation failed whose peer did not acknowledge it in time, or whose
 * endpoint had another reason. */
static ucs_status_t ud_failure(base_iface_t *iface, const base_ep_t *ep)
{
    if (ep->status != UCS_OK) {
        return ep->status;
    }
    return iface->broken ? UCS_ERR_IO_ERROR :
                           base_fail_end_status(flow_tx_why(ep->tx));
}

static unsigned ud_release(base_iface_t *iface)
{
    unsigned   count = 0;
    flow_op_t *flow_op;
    base_op_t *op;
    int        failed;

    while (flow_resend_release_pending(iface->core) &&
           ((flow_op = flow_resend_release_next(iface->core, &failed)) !=
            NULL)) {
        op = (base_op_t*)((char*)flow_op - offsetof(base_op_t, flow));
        ++count;
        base_complete_op(iface, op,
                         failed ? ud_failure(iface, op->ep) : UCS_OK);
    }
    return count;
}

const base_acks_t ud_acks = {
    .sent    = ud_sent,
    .release = ud_release,
};
