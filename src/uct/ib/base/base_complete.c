/* SPDX-License-Identifier: BSD-3-Clause */
/* How an operation ends: its number is released, its user told, and requests
 * that waited for that go on. */
#include "base_complete.h"
#include "base_fail.h"
#include "base_ep_list.h"
#include "base_outstanding.h"

void base_complete_op(base_iface_t *iface, base_op_t *op, ucs_status_t status)
{
    base_ep_t        *ep   = op->ep;
    uct_completion_t *comp = NULL;

    ++iface->ops_done;
    if (op->out.kind > BASE_OUT_AM_OTHER) {
        base_outstanding_remove(&op->out);
        comp = op->out.comp;
    }
    if (base_op_is_rma(op->out.kind)) {
        ep->rma_worked |= status == UCS_OK;
        base_outstanding_rma_done(ep);
    }
    base_op_give_any(&iface->ops, op, status == UCS_OK);
    base_ep_list_hold(ep);
    ucx_completion_done(comp, status);
    if (ep->flushes > 0) {
        base_outstanding_end_flushes(ep);
    }
    base_ep_list_release(ep);
}

void base_complete_cancelled(base_iface_t *iface, base_op_t *op,
                             ucs_status_t status)
{
    if (!base_op_is_rma(op->out.kind)) {
        flow_tx_done(iface->core, op->ep->tx, op->flow.psn);
    }
    base_complete_op(iface, op, status);
}

void base_complete_abandoned(base_iface_t *iface, base_op_t *op, int err)
{
    base_ep_t *ep = op->ep;

    if (err != 0) {
        base_fail_post(ep, err);
    }
    if (ep->state == BASE_EP_ALIVE) {
        /* its event follows */
        base_fail_ep(ep, UCS_ERR_ENDPOINT_TIMEOUT, FLOW_SEND_ERROR);
    }
    base_complete_cancelled(iface, op,
                            (ep->status != UCS_OK) ? ep->status :
                                                     UCS_ERR_CANCELED);
}
