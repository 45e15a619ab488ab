/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow/due_priv.h"
#include "flow/event.h"
#include "flow/fifo_priv.h"
#include "flow/list_priv.h"
#include "flow/pair_priv.h"
#include "flow/peer_priv.h"
#include "flow/pool_priv.h"
#include "flow/resend_priv.h"
#include "flow/trace_priv.h"
#include "flow/tx.h"

/* The order in which the events of one sending flow are returned. */
static const uint8_t flow_event_tx_order[] = {
    FLOW_EVENT_TX_OPEN, FLOW_EVENT_TX_RMA, FLOW_EVENT_TX_READY,
    FLOW_EVENT_TX_FAILED, FLOW_EVENT_TX_GONE
};

/* The flow is gone for good: leave the peer, free the slot. */
static void flow_event_tx_free(flow_core_t *core, flow_tx_t *tx)
{
    flow_peer_t *peer = flow_core_peer(core, tx->peer);

    flow_trace(core, FLOW_TRACE_GONE, tx->ep, flow_tx_psn(tx), 0);
    flow_pair_tx_gone(core, tx);
    flow_resend_detach(core, tx);
    --core->counters.lingering;
    flow_list_free_tx(core, peer, tx);
    flow_peer_check_idle(core, peer);
}

static int flow_event_tx(flow_core_t *core, flow_event_t *event)
{
    uint32_t index = flow_fifo_tx_event_pop(core, &core->event_tx);
    flow_tx_t *tx  = flow_core_tx(core, index);
    unsigned i;

    tx->events &= ~(unsigned)FLOW_DUE_QUEUED;
    for (i = 0; i < sizeof(flow_event_tx_order); ++i) {
        if (!(tx->events & (1u << flow_event_tx_order[i]))) {
            continue;
        }

        tx->events   &= ~(1u << flow_event_tx_order[i]);
        event->type   = (flow_event_type_t)flow_event_tx_order[i];
        event->tx     = tx;
        event->cookie = tx->cookie;
        event->peer   = flow_core_peer(core, tx->peer);
        event->why    = (flow_end_t)tx->why;
        if (event->type == FLOW_EVENT_TX_GONE) {
            flow_event_tx_free(core, tx);
        } else if (tx->events != 0) {
            flow_due_tx_event(core, tx, 0);
        }
        return 1;
    }
    return 0;
}

static int flow_event_peer(flow_core_t *core, flow_event_t *event)
{
    uint32_t index    = flow_fifo_peer_event_pop(core, &core->event_peer);
    flow_peer_t *peer = flow_core_peer(core, index);
    unsigned due      = peer->events;
    int introduced    = peer->introduced;

    event->peer  = peer;
    peer->events = 0;
    if (!flow_peer_in_use(peer)) {
        event->cookie = peer->cookie;
        event->type   = FLOW_EVENT_PEER_GONE;
        flow_peer_release(core, peer);
        return introduced;
    }
    if (due & FLOW_DUE_PEER_INTRO) {
        peer->introduced = 1;
        event->type      = FLOW_EVENT_PEER_INTRODUCED;
        if (due & FLOW_DUE_PEER_RMA) {
            flow_due_peer_event(core, peer, FLOW_DUE_PEER_RMA);
        }
        return 1;
    }
    event->type   = FLOW_EVENT_PEER_WANTS_RMA;
    event->cookie = peer->cookie;
    return (due & FLOW_DUE_PEER_RMA) && (peer->state == FLOW_PEER_READY);
}

/* One packet of a ring that lost its flow. */
static int flow_event_ring(flow_core_t *core, flow_event_t *event)
{
    flow_ring_t *ring = flow_core_ring(core, core->event_ring.head);
    unsigned slot;

    if (ring->mask == 0) {
        flow_pool_ring_release(core,
                               flow_fifo_ring_pop(core, &core->event_ring));
        --core->event_pending;
        return 0;
    }
    slot          = (unsigned)__builtin_ctzll(ring->mask);
    ring->mask   &= ring->mask - 1;
    event->type   = FLOW_EVENT_RX_RELEASE;
    event->handle = ring->slot[slot];
    return 1;
}

int flow_event_peer_next(flow_core_t *core, flow_event_t *event)
{
    int found = 0;

    memset(event, 0, sizeof(*event));
    while (!found && (core->event_peer.head != 0)) {
        --core->event_pending;
        found = flow_event_peer(core, event);
    }
    return found;
}

int flow_event_next(flow_core_t *core, flow_event_t *event)
{
    int found = 0;

    memset(event, 0, sizeof(*event));
    while (!found && (core->event_pending != 0)) {
        if (core->event_ring.head != 0) {
            found = flow_event_ring(core, event);
        } else if (core->event_scarce) {
            --core->event_pending;
            core->event_scarce = 0;
            event->type        = FLOW_EVENT_RX_SCARCE;
            found              = 1;
        } else if (core->event_tx.head != 0) {
            --core->event_pending;
            found = flow_event_tx(core, event);
        } else {
            --core->event_pending;
            found = flow_event_peer(core, event);
        }
    }
    return found;
}
