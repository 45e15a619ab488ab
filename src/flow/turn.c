/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The peers whose control packets may go.
 *
 * A packet to a host that does not answer holds its slot at the device for
 * seconds. Therefore no peer has more than a few out. A peer that has not shown
 * that packets get there has one packet of the kind that asks something of it
 * (hello, want, ping) or is the last of a flow, and beside it one that it waits
 * for (answer, limit, reset by the receiver). Packets that ask have half of all
 * slots together: answers and limits, on which established flows depend, never
 * wait for hellos to the dead. When slots become few, a peer gets fewer.
 *
 * Flows with something due stand in one queue of each kind. Those whose peer
 * may have no more out wait with the peer, in a ring of which it knows the
 * last; each packet of it that ends makes room for one of them. No flow is
 * looked at in vain, and opening an endpoint costs the same however many there
 * are to its peer. Nobody waits for ever: as long as a flow waits with a peer
 * that can be reached, a packet to that peer is out or a flow of it is queued,
 * and the end of either wakes one that waits.
 */
#include "flow/ctl_priv.h"
#include "flow/fifo_priv.h"
#include "flow/rx_priv.h"
#include "flow/turn_priv.h"
#include "flow/tx_priv.h"

/* May one more control packet that asks for something be out? */
static int flow_turn_may_ask(const flow_core_t *core)
{
    return core->ctl_asking < core->params.ctl_slots / 2;
}

/* Slots were taken or given back: which queues may send, for
 * flow_ctl_pending. */
static void flow_turn_count(flow_core_t *core)
{
    core->ctl_open_rx = core->ctl_out < core->params.ctl_slots;
    core->ctl_open_tx = core->ctl_open_rx && flow_turn_may_ask(core);
    core->ctl_pending = (core->ctl_open_rx ? core->ctl_rx.count : 0) +
                        (core->ctl_open_tx ? core->ctl_tx.count : 0);
}

static uint32_t flow_turn_link(const flow_core_t *core, uint32_t ref)
{
    uint32_t index = ref & (FLOW_INDEX_MAX - 1);

    return (ref & FLOW_TURN_RX) ? flow_core_rx(core, index)->ctl_next :
                                  flow_core_tx(core, index)->ctl_next;
}

static void flow_turn_set_link(flow_core_t *core, uint32_t ref, uint32_t next)
{
    uint32_t index = ref & (FLOW_INDEX_MAX - 1);

    next &= 2 * FLOW_INDEX_MAX - 1;
    if (ref & FLOW_TURN_RX) {
        flow_core_rx(core, index)->ctl_next = next;
    } else {
        flow_core_tx(core, index)->ctl_next = next;
    }
}

void flow_turn_park(flow_core_t *core, flow_peer_t *peer, uint32_t ref)
{
    if (peer->parked == 0) {
        flow_turn_set_link(core, ref, ref);
    } else {
        flow_turn_set_link(core, ref, flow_turn_link(core, peer->parked));
        flow_turn_set_link(core, peer->parked, ref);
    }
    peer->parked = ref & (2 * FLOW_INDEX_MAX - 1);
}

static inline void flow_turn_push(flow_core_t *core, uint32_t ref)
{
    uint32_t index = ref & (FLOW_INDEX_MAX - 1);

    if (ref & FLOW_TURN_RX) {
        flow_fifo_rx_ctl_push(core, &core->ctl_rx, index);
        core->ctl_pending += core->ctl_open_rx;
    } else {
        flow_fifo_tx_ctl_push(core, &core->ctl_tx, index);
        core->ctl_pending += core->ctl_open_tx;
    }
}

/* Control packets that the peer may have out when one of this kind is next. */
static unsigned flow_turn_most(const flow_core_t *core,
                               const flow_peer_t *peer, int rx)
{
    unsigned slots = core->params.ctl_slots;
    int plenty;

    if (peer->lapped) {
        return 0;
    }
    plenty = rx ? (core->ctl_out < slots / 2) : (core->ctl_asking < slots / 4);
    if (peer->answers && plenty) {
        return FLOW_PEER_CTL_MAX;
    }
    return rx ? 2 : 1;
}

int flow_turn_may_go(const flow_core_t *core, const flow_peer_t *peer, int rx)
{
    return peer->ctl_out < flow_turn_most(core, peer, rx);
}

/* The one that waits longest gets its turn. */
static void flow_turn_wake_one(flow_core_t *core, flow_peer_t *peer,
                               uint32_t first)
{
    if (first == peer->parked) {
        peer->parked = 0;
    } else {
        flow_turn_set_link(core, peer->parked, flow_turn_link(core, first));
    }
    peer->woken = (peer->woken + (peer->woken < FLOW_PEER_CTL_MAX)) & 0xf;
    flow_turn_push(core, first);
}

void flow_turn_wake(flow_core_t *core, flow_peer_t *peer)
{
    uint32_t first;

    while (peer->parked != 0) {
        first = flow_turn_link(core, peer->parked);
        if ((unsigned)(peer->ctl_out + peer->woken) >=
            flow_turn_most(core, peer, (first & FLOW_TURN_RX) != 0)) {
            return;
        }
        flow_turn_wake_one(core, peer, first);
    }
}

void flow_turn_wake_all(flow_core_t *core, flow_peer_t *peer)
{
    while (peer->parked != 0) {
        flow_turn_wake_one(core, peer, flow_turn_link(core, peer->parked));
    }
}

/* Behind those that wait with the peer already. */
static void flow_turn_add(flow_core_t *core, flow_peer_t *peer, uint32_t ref)
{
    if (peer->parked != 0) {
        flow_turn_park(core, peer, ref);
    } else {
        flow_turn_push(core, ref);
    }
}

void flow_turn_add_tx(flow_core_t *core, flow_tx_t *tx)
{
    flow_turn_add(core, flow_core_peer(core, tx->peer), flow_tx_index(tx));
}

void flow_turn_add_rx(flow_core_t *core, flow_rx_t *rx)
{
    flow_turn_add(core, flow_core_peer(core, rx->peer),
                  flow_rx_index(rx) | FLOW_TURN_RX);
}

uint32_t flow_turn_next(flow_core_t *core)
{
    uint32_t ref;

    if (core->ctl_pending == 0) {
        return 0;
    }
    --core->ctl_pending;
    if ((core->ctl_tx.head == 0) || !core->ctl_open_tx ||
        ((core->ctl_rx.head != 0) && (core->counters.ctl_sent & 1))) {
        ref = flow_fifo_rx_ctl_pop(core, &core->ctl_rx) | FLOW_TURN_RX;
    } else {
        ref = flow_fifo_tx_ctl_pop(core, &core->ctl_tx);
    }
    return ref;
}

/* A flow of the peer left its queue. */
static void flow_turn_left(flow_peer_t *peer)
{
    peer->woken = (peer->woken - (peer->woken > 0)) & 0xf;
}

flow_peer_t *flow_turn_peer(flow_core_t *core, uint32_t ref)
{
    uint32_t index    = ref & (FLOW_INDEX_MAX - 1);
    flow_peer_t *peer = flow_core_peer(core,
                                       (ref & FLOW_TURN_RX) ?
                                               flow_core_rx(core, index)->peer :
                                               flow_core_tx(core, index)->peer);

    flow_turn_left(peer);
    return peer;
}

/* One more packet is out. */
static inline void
flow_turn_out(flow_core_t *core, flow_peer_t *peer, int rx)
{
    if ((peer->ctl_out == 0) || !peer->answers) {
        peer->heard = 0; /* from now on */
    }
    ++peer->ctl_out;
    ++core->ctl_out;
    core->ctl_asking += !rx;
    if ((core->ctl_out == core->params.ctl_slots) ||
        !flow_turn_may_ask(core)) {
        flow_turn_count(core);
    }
}

void flow_turn_take(flow_core_t *core, flow_peer_t *peer, int rx)
{
    flow_turn_out(core, peer, rx);
}

flow_rx_t *flow_turn_take_limit(flow_core_t *core)
{
    flow_rx_t *rx = flow_core_rx(core, core->ctl_rx.head);
    flow_peer_t *peer;

    if ((core->ctl_pending == 0) || (core->ctl_tx.head != 0) ||
        (rx->ctl != (FLOW_CTL_QUEUED | FLOW_CTL_RX_LIMIT))) {
        return NULL;
    }
    peer = flow_core_peer(core, rx->peer);
    if ((peer->state != FLOW_PEER_READY) || !flow_turn_may_go(core, peer, 1)) {
        return NULL;
    }

    flow_fifo_rx_ctl_pop(core, &core->ctl_rx);
    --core->ctl_pending;
    rx->ctl = 0;
    flow_turn_left(peer);
    flow_turn_out(core, peer, 1);
    return rx;
}

void flow_turn_give(flow_core_t *core, flow_peer_t *peer, int rx)
{
    --peer->ctl_out;
    if (peer->ctl_out == 0) {
        peer->lapped = 0;
    }
    --core->ctl_out;
    core->ctl_asking -= !rx;
    if (!core->ctl_open_tx) {
        flow_turn_count(core);
    }
    if (peer->parked != 0) {
        flow_turn_wake(core, peer);
    }
}
