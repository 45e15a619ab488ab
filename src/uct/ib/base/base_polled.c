/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completions that are polled and not looked at yet: polled where no callback
 * may run, when arming looks into the queues and while get_short or the
 * destruction of an endpoint waits for its own; or in a batch of which one runs
 * a callback. They cannot be put back; progress takes them first, in their
 * order, and the destruction of an endpoint those of its own.
 *
 * Those of a batch lie where they were polled to, and become a list when such a
 * callback makes progress or destroys an endpoint, which hardly any does.
 */
#include "base_polled.h"
#include "base_retry.h"
#include "base_flow.h"
#include "base_complete.h"
#include "base_fail.h"
#include "base_rx.h"
#include "base_tx.h"

#define BASE_WAIT_POLLS   64  /* between two looks at the clock */
#define BASE_POLLED_BUDGET 512 /* taken at once */

static void base_polled_append(base_iface_t *iface, const efa_wc_t *wc)
{
    base_op_t *op = efa_wc_user(wc);

    if (iface->polled.tx == NULL) {
        iface->polled.tx_tail = &iface->polled.tx;
    }
    op->vendor_err        = efa_wc_status(wc);
    op->polled_next        = NULL;
    *iface->polled.tx_tail = op;
    iface->polled.tx_tail  = &op->polled_next;
    iface->todo        |= BASE_TODO_TX;
}

/* Somebody wants the batch that waits for a callback, or has a newer one: the
 * rest of it goes into the list. */
static void base_polled_keep_rest(base_iface_t *iface)
{
    const efa_wc_t *wc = iface->polled.rest;

    if (wc == NULL) {
        return;
    }
    iface->polled.rest = NULL;
    for (; wc < iface->polled.rest_end; ++wc) {
        base_polled_append(iface, wc);
    }
}

void base_polled_add(base_iface_t *iface, const efa_wc_t *wc)
{
    base_polled_keep_rest(iface);
    base_polled_append(iface, wc);
}

void base_polled_rx(base_iface_t *iface)
{
    int count;

    if (iface->todo & BASE_TODO_RX) {
        return;
    }
    count = efa_poll_rx(&iface->qp, 1, &iface->polled.rx);
    if (count == 1) {
        --iface->rxq.posted;
        iface->todo |= BASE_TODO_RX;
    } else if (count < 0) {
        base_fail_iface(iface, "polling for receives", -count);
    }
}

void base_polled_tx(base_iface_t *iface)
{
    efa_wc_t wc;
    int      count;

    if (iface->todo & BASE_TODO_TX) {
        return;
    }
    count = efa_poll_tx(&iface->qp, 1, &wc);
    if (count == 1) {
        base_polled_add(iface, &wc);
    } else if (count < 0) {
        base_fail_iface(iface, "polling for completions", -count);
    }
}

/* base_polled_rma inside this file: gcc does not inline what others call, which
 * takes 9 instructions. */
static inline void base_polled_end_rma(base_iface_t *iface, base_op_t *op)
{
    uct_completion_t *comp;

    if (op->out.kind == BASE_OUT_GET_BCOPY) {
        base_complete_unpack(op);
    }
    if (__builtin_expect(!base_complete_rma_is_short(iface, op), 0)) {
        base_tx_completion(iface, op, 0);
        return;
    }
    comp = base_complete_rma(iface, op);
    ++iface->ops_done;
    base_op_give(&iface->ops, op);
    if (comp != NULL) {
        comp->func(comp);
    }
}

void base_polled_rma(base_iface_t *iface, base_op_t *op)
{
    base_polled_end_rma(iface, op);
}

static inline void base_polled_end(base_iface_t *iface, base_op_t *op,
                                   unsigned vendor_err)
{
    if ((vendor_err == 0) && base_op_is_rma(op->out.kind)) {
        base_polled_end_rma(iface, op);
    } else {
        base_tx_completion(iface, op, vendor_err);
    }
}

const efa_wc_t *base_polled_batch(base_iface_t *iface, const efa_wc_t *wc,
                                  const efa_wc_t *end)
{
    iface->polled.rest_end = end;
    iface->todo           |= BASE_TODO_TX;
    do {
        iface->polled.rest = wc + 1;
        base_polled_end(iface, efa_wc_user(wc), efa_wc_status(wc));
        if (__builtin_expect(iface->polled.rest == NULL, 0)) {
            base_polled_take_tx(iface);
            return end;
        }
    } while ((++wc < end) &&
             (((base_op_t*)efa_wc_user(wc))->out.kind != BASE_OUT_AM));

    iface->polled.rest = NULL;
    if (iface->polled.tx == NULL) {
        iface->todo &= ~BASE_TODO_TX;
    }
    return wc - 1;
}

unsigned base_polled_take_tx(base_iface_t *iface)
{
    unsigned   budget = BASE_POLLED_BUDGET, count = 0;
    base_op_t *op;

    base_polled_keep_rest(iface);
    if (iface->todo & BASE_TODO_BROKEN) {
        budget = UINT_MAX; /* base_device_lost is to find none of them */
    }
    /* A callback may take some out, or add to them by get_short: as long as it
     * does that others have their turn, too */
    while (((op = iface->polled.tx) != NULL) && (count < budget)) {
        iface->polled.tx = op->polled_next;
        ++count;
        base_polled_end(iface, op, op->vendor_err);
    }
    if (iface->polled.tx == NULL) {
        iface->todo &= ~BASE_TODO_TX;
    }
    return count;
}

unsigned base_polled_take(base_iface_t *iface)
{
    unsigned count = 0;

    if (iface->todo & BASE_TODO_RX) {
        iface->todo &= ~BASE_TODO_RX;
        ++count;
        base_rx_completion(iface, &iface->polled.rx);
    }
    return count + base_polled_take_tx(iface);
}

void base_polled_drop_rx(base_iface_t *iface)
{
    base_rxbuf_t *rxbuf = efa_wc_user(&iface->polled.rx);

    if (iface->todo & BASE_TODO_RX) {
        iface->todo &= ~BASE_TODO_RX;
        base_rxq_put(&iface->rxq, rxbuf);
    }
}

/* Polls until `op` is complete, or the time is over: then NULL. */
static const efa_wc_t *base_polled_wait_wc(base_iface_t *iface,
                                           const base_op_t *op,
                                           flow_time_t deadline, efa_wc_t *wc)
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
            base_polled_add(iface, wc);
        }
    } while ((count >= 0) && (base_flow_clock(iface) < deadline));

    return NULL;
}

ucs_status_t base_polled_wait(base_iface_t *iface, base_op_t *op,
                              flow_time_t time)
{
    flow_time_t deadline = base_flow_clock(iface) + time;
    efa_wc_t    wc;
    unsigned    vendor_err;

    if (base_polled_wait_wc(iface, op, deadline, &wc) == NULL) {
        return UCS_ERR_TIMED_OUT;
    }
    vendor_err = efa_wc_status(&wc);
    if ((vendor_err == EFA_STATUS_REMOTE_REFUSED) &&
        base_retry_may(iface, op)) {
        base_complete_cancelled(iface, op, UCS_ERR_NO_RESOURCE);
        return UCS_ERR_NO_RESOURCE;
    }
    base_tx_completion(iface, op, vendor_err);
    return iface->transport->status(vendor_err);
}

void base_polled_take_ep(base_iface_t *iface, const base_ep_t *ep)
{
    base_op_t **link = &iface->polled.tx, *op;

    base_polled_keep_rest(iface);
    while ((op = *link) != NULL) {
        if ((op->out.kind == BASE_OUT_CTL) || (op->ep != ep)) {
            link = &op->polled_next;
            continue;
        }
        *link = op->polled_next;
        if (*link == NULL) {
            iface->polled.tx_tail = link;
        }
        base_tx_completion(iface, op, op->vendor_err);
        link = &iface->polled.tx; /* its callback may have added some */
    }
}
