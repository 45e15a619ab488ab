/* SPDX-License-Identifier: BSD-3-Clause */
/* How an operation ends: its number is released, its user told, and whoever
 * waited for that goes on. */
#include "base_done.h"
#include "base_fail.h"
#include "base_linger.h"
#include "base_out.h"

void base_op_finish(base_iface_t *iface, base_op_t *op, ucs_status_t status)
{
    base_ep_t        *ep   = op->ep;
    uct_completion_t *comp = NULL;

    ++iface->ops_done;
    if (op->out.kind > BASE_OUT_AM_OTHER) {
        base_out_remove(&op->out);
        comp = op->out.comp;
    }
    if (base_out_is_rma(op->out.kind)) {
        ep->rma_worked |= status == UCS_OK;
        base_ep_rma_done(ep);
    }
    base_op_give_any(&iface->ops, op, status == UCS_OK);
    ucx_completion_done(comp, status);
    if (ep->flushes > 0) {
        base_ep_flush_markers(ep);
    }
    if (__builtin_expect(ep->tx == NULL, 0) && base_ep_is_idle(ep)) {
        base_ep_free_lingering(ep);
    }
}

void base_op_cancel(base_iface_t *iface, base_op_t *op, ucs_status_t status)
{
    if (!base_out_is_rma(op->out.kind)) {
        flow_tx_done(iface->core, op->ep->tx, op->flow.psn);
    }
    base_op_finish(iface, op, status);
}

void base_op_abandon(base_iface_t *iface, base_op_t *op, int err)
{
    base_ep_t *ep = op->ep;

    if (err != 0) {
        base_post_failed(ep, err);
    }
    if (ep->state == BASE_EP_ALIVE) {
        /* its event follows */
        base_ep_fail(ep, UCS_ERR_ENDPOINT_TIMEOUT, FLOW_SEND_ERROR);
    }
    base_op_cancel(iface, op,
                   (ep->status != UCS_OK) ? ep->status : UCS_ERR_CANCELED);
}
