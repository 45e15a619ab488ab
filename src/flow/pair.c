/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pairing: whose limits ride in whose headers.
 *
 * Endpoints do not know each other, only flows do. The receiver of a flow says
 * in its answer: "limits in your headers I take for my endpoint number N". It
 * remembers that before it says so, so the sender may rely on it at once, and
 * nothing needs confirming. The sender uses it only where it pairs the same
 * two flows itself. A flow gets a pair at most once: a header on its way could
 * else be taken for another flow's limit. Where no pair comes about, limits
 * travel alone; so only the newest flows are searched for one.
 */
#include "flow/assert.h"
#include "flow/ctl_priv.h"
#include "flow/due_priv.h"
#include "flow/grant_priv.h"
#include "flow/pair_priv.h"
#include "flow/rx_priv.h"
#include "flow/rx_record_priv.h"
#include "flow/tx_priv.h"

static void flow_pair_carry(flow_core_t *core, flow_tx_t *tx, flow_rx_t *rx)
{
    tx->flags &= ~(unsigned)FLOW_TXF_AWAITS;
    tx->flags |= FLOW_TXF_CARRIES;
    rx->flags |= FLOW_RXF_CARRIED;
    flow_rx_limit_raised(rx, tx);
    tx->hdr    = flow_wire_set_limit(tx->hdr, flow_rx_use(rx)) |
                 (flow_is_ud(core) ? FLOW_WIRE_ACK : FLOW_WIRE_LIMIT);
    flow_grant_next_look(rx);
}

static void flow_pair_set(flow_tx_t *tx, flow_rx_t *rx)
{
    rx->pair    = flow_tx_index(tx);
    rx->flags  |= FLOW_RXF_PAIRED;
    tx->carries = flow_rx_index(rx);
    tx->flags  |= FLOW_TXF_PAIRED;
}

/* A receiving flow was introduced: which of our flows to that peer is it? */
void flow_pair_hello(flow_core_t *core, flow_rx_t *rx)
{
    flow_peer_t *peer = flow_core_peer(core, rx->peer);
    flow_tx_t *best   = NULL;
    unsigned left     = FLOW_PAIR_SEARCH;
    uint32_t index;
    flow_tx_t *tx;

    for (index = peer->tx_list; (index != 0) && (left-- != 0);
         index = tx->peer_next) {
        tx = flow_core_tx(core, index);
        if ((tx->flags & FLOW_TXF_PAIRED) || (tx->state >= FLOW_TX_LINGER)) {
            continue;
        }
        if ((tx->flags & FLOW_TXF_AWAITS) && (tx->carries == rx->ep)) {
            best = tx;
            break;
        }
        if (!(tx->flags & FLOW_TXF_AWAITS)) {
            best = tx; /* the list is newest first: the oldest wins */
        }
    }
    if (best != NULL) {
        flow_pair_set(best, rx);
        if (best->flags & FLOW_TXF_AWAITS) {
            flow_pair_carry(core, best, rx);
        }
    }
}

/* A sending flow was opened: is there a receiving one without a pair? */
void flow_pair_open(flow_core_t *core, flow_tx_t *tx)
{
    flow_peer_t *peer = flow_core_peer(core, tx->peer);
    flow_rx_t *best   = NULL;
    unsigned left     = FLOW_PAIR_SEARCH;
    uint32_t index;
    flow_rx_t *rx;

    for (index = peer->rx_list; (index != 0) && (left-- != 0);
         index = rx->peer_next) {
        rx = flow_core_rx(core, index);
        if ((rx->state == FLOW_RX_ACTIVE) && !(rx->flags & FLOW_RXF_PAIRED)) {
            best = rx;
        }
    }
    if (best != NULL) {
        flow_pair_set(tx, best);
        flow_due_rx_ctl(core, best, FLOW_CTL_RX_ANSWER);
    }
}

/* The peer takes limits from tx's headers for its endpoint number ep. */
void flow_pair_answer(flow_core_t *core, flow_tx_t *tx, uint32_t ep)
{
    flow_rx_t *rx;

    if ((ep == 0) || (tx->flags & (FLOW_TXF_CARRIES | FLOW_TXF_AWAITS))) {
        return;
    }

    rx = flow_rx_find(core, flow_core_peer(core, tx->peer), ep);
    if ((rx == NULL) || (rx->state != FLOW_RX_ACTIVE)) {
        if (!(tx->flags & FLOW_TXF_PAIRED)) {
            tx->flags  |= FLOW_TXF_AWAITS;
            tx->carries = ep;
        }
        return;
    }
    if (!(rx->flags & FLOW_RXF_PAIRED) && !(tx->flags & FLOW_TXF_PAIRED)) {
        flow_pair_set(tx, rx);
        flow_due_rx_ctl(core, rx, FLOW_CTL_RX_ANSWER);
    }
    if (rx->pair == flow_tx_index(tx)) {
        flow_pair_carry(core, tx, rx);
    }
}

/* The headers of this flow carry no limit any more. */
static void flow_pair_uncarry(flow_tx_t *tx)
{
    tx->flags &= ~(unsigned)FLOW_TXF_CARRIES;
    tx->hdr    = flow_wire_set_limit(tx->hdr, 0) & ~(uint64_t)FLOW_WIRE_ACK;
}

void flow_pair_rx_gone(flow_core_t *core, flow_rx_t *rx)
{
    flow_tx_t *tx = flow_core_tx(core, rx->pair);

    if (rx->pair != 0) {
        tx->carries = 0;
        if (tx->flags & FLOW_TXF_CARRIES) {
            flow_pair_uncarry(tx);
        }
    }
    rx->pair   = 0;
    rx->flags &= ~(unsigned)FLOW_RXF_CARRIED;
}

void flow_pair_tx_gone(flow_core_t *core, flow_tx_t *tx)
{
    flow_rx_t *rx;

    if (!(tx->flags & FLOW_TXF_PAIRED) || (tx->carries == 0)) {
        return;
    }

    rx = flow_core_rx(core, tx->carries);
    flow_assert(rx->state == FLOW_RX_ACTIVE); /* else the pair was undone */
    rx->pair   = 0;
    rx->flags &= ~(unsigned)FLOW_RXF_CARRIED;
    flow_grant_next_look(rx);
}

void flow_pair_tx_failed(flow_core_t *core, flow_tx_t *tx)
{
    flow_rx_t *rx;

    if (tx->flags & FLOW_TXF_CARRIES) {
        rx = flow_core_rx(core, tx->carries);
        flow_pair_uncarry(tx);
        rx->flags &= ~(unsigned)FLOW_RXF_CARRIED;
        if ((tx->busy != 0) && !flow_is_ud(core)) { /* UD: it is asked for */
            flow_due_rx_ctl(core, rx, FLOW_CTL_RX_LIMIT);
        }
        flow_grant_next_look(rx);
    }
}
