/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completions that are polled and not looked at yet: polled where no callback
 * may run, when arming looks into the queues and while get_short or the
 * destruction of an endpoint waits for its own; or in a batch of which one runs
 * a callback. They cannot be put back; progress takes them first, in their
 * order, and the destruction of an endpoint those of its own.
 */
#include "base_stash.h"
#include "base_again.h"
#include "base_core.h"
#include "base_done.h"
#include "base_fail.h"
#include "base_rx.h"
#include "base_tx.h"

#define BASE_WAIT_POLLS   64  /* between two looks at the clock */
#define BASE_STASH_BUDGET 512 /* taken at once */

void base_stash_add(base_iface_t *iface, base_op_t *op, const efa_wc_t *wc)
{
    if (iface->stash_tx == NULL) {
        iface->stash_tx_tail = &iface->stash_tx;
    }
    op->vendor_err        = efa_wc_status(wc);
    op->stash_next        = NULL;
    *iface->stash_tx_tail = op;
    iface->stash_tx_tail  = &op->stash_next;
    iface->attend        |= BASE_ATTEND_TX;
}

void base_iface_stash_rx(base_iface_t *iface)
{
    int count;

    if (iface->attend & BASE_ATTEND_RX) {
        return;
    }
    count = efa_poll_rx(&iface->qp, 1, &iface->stash_rx);
    if (count == 1) {
        --iface->rxq.posted;
        iface->attend |= BASE_ATTEND_RX;
    } else if (count < 0) {
        base_iface_break(iface, "polling for receives", -count);
    }
}

void base_iface_stash_tx(base_iface_t *iface)
{
    efa_wc_t wc;
    int      count;

    if (iface->attend & BASE_ATTEND_TX) {
        return;
    }
    count = efa_poll_tx(&iface->qp, 1, &wc);
    if (count == 1) {
        base_stash_add(iface, efa_wc_user(&wc), &wc);
    } else if (count < 0) {
        base_iface_break(iface, "polling for completions", -count);
    }
}

unsigned base_stash_take_tx(base_iface_t *iface)
{
    unsigned   budget = BASE_STASH_BUDGET, count = 0;
    base_op_t *op;

    if (iface->attend & BASE_ATTEND_BROKEN) {
        budget = UINT_MAX; /* what the device has not told will be cancelled */
    }
    /* A callback may take some out, or add to them by get_short: as long as it
     * does that others have their turn, too */
    while (((op = iface->stash_tx) != NULL) && (count < budget)) {
        iface->stash_tx = op->stash_next;
        ++count;
        base_tx_completion(iface, op, op->vendor_err);
    }
    if (iface->stash_tx == NULL) {
        iface->attend &= ~BASE_ATTEND_TX;
    }
    return count;
}

unsigned base_iface_take_stash(base_iface_t *iface)
{
    unsigned count = 0;

    if (iface->attend & BASE_ATTEND_RX) {
        iface->attend &= ~BASE_ATTEND_RX;
        ++count;
        base_rx_completion(iface, &iface->stash_rx);
    }
    return count + base_stash_take_tx(iface);
}

void base_stash_drop_rx(base_iface_t *iface)
{
    base_rxbuf_t *rxbuf = efa_wc_user(&iface->stash_rx);

    if (iface->attend & BASE_ATTEND_RX) {
        iface->attend &= ~BASE_ATTEND_RX;
        base_rxq_put(&iface->rxq, rxbuf);
    }
}

/* Polls until `op` is complete, or the time is over: then NULL. */
static const efa_wc_t *
base_tx_wait_wc(base_iface_t *iface, const base_op_t *op, flow_time_t deadline,
                efa_wc_t *wc)
{
    unsigned polls;
    int      count = 0;

    do {
        for (polls = 0; (polls < BASE_WAIT_POLLS) && (count >= 0); ++polls) {
            count = efa_poll_tx(&iface->qp, 1, wc);
            if (count != 1) {
                continue;
            }
            if (efa_wc_user(wc) == op) {
                return wc;
            }
            base_stash_add(iface, efa_wc_user(wc), wc);
        }
    } while ((count >= 0) && (base_iface_clock(iface) < deadline));

    return NULL;
}

ucs_status_t base_tx_wait(base_iface_t *iface, base_op_t *op, flow_time_t time)
{
    flow_time_t deadline = base_iface_clock(iface) + time;
    efa_wc_t    wc;
    unsigned    vendor_err;

    if (base_tx_wait_wc(iface, op, deadline, &wc) == NULL) {
        return UCS_ERR_TIMED_OUT;
    }
    vendor_err = efa_wc_status(&wc);
    if ((vendor_err == EFA_STATUS_REFUSED) && base_again_may(iface, op)) {
        base_op_cancel(iface, op, UCS_ERR_NO_RESOURCE);
        return UCS_ERR_NO_RESOURCE;
    }
    base_tx_completion(iface, op, vendor_err);
    return iface->transport->status(vendor_err);
}

void base_stash_take_ep(base_iface_t *iface, const base_ep_t *ep)
{
    base_op_t **link = &iface->stash_tx, *op;

    while ((op = *link) != NULL) {
        if ((op->out.kind == BASE_OUT_CTL) || (op->ep != ep)) {
            link = &op->stash_next;
            continue;
        }
        *link = op->stash_next;
        if (*link == NULL) {
            iface->stash_tx_tail = link;
        }
        base_tx_completion(iface, op, op->vendor_err);
        link = &iface->stash_tx; /* its callback may have added some */
    }
}
