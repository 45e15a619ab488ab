/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Peers: one record for each incarnation we exchange flows with. It is made by
 * the first of: our own endpoint, its hello, its data that overtook the hello.
 * It goes with the last flow. A dead one stays as a tombstone for a while, so
 * that what it still had on the wire is known for what it is.
 */
#include "flow/internal.h"

flow_peer_t *flow_peer_find(flow_core_t *core, uint64_t incarnation)
{
    flow_peer_t *peer;
    uint32_t index;

    if (core->hash_size == 0) {
        return NULL;
    }

    for (index = *flow_hash_incarnation(core, incarnation); index != 0;
         index = peer->hash_next) {
        peer = flow_core_peer(core, index);
        if (peer->addr.incarnation == incarnation) {
            return peer;
        }
    }
    return NULL;
}

flow_peer_t *flow_peer_create(flow_core_t *core, uint64_t incarnation)
{
    uint32_t index = flow_pool_peer_get(core);
    flow_peer_t *peer;
    uint32_t *head;

    if (index == 0) {
        return NULL;
    }

    peer                   = flow_core_peer(core, index);
    peer->addr.incarnation = incarnation;
    peer->state            = FLOW_PEER_UNKNOWN;
    peer->ah               = FLOW_AH_UNKNOWN;
    head                   = flow_hash_incarnation(core, incarnation);
    peer->hash_next        = *head;
    *head                  = index;
    return peer;
}

int flow_peer_same_addr(const flow_peer_t *peer, const flow_addr_t *addr)
{
    return (peer->addr.qpn == addr->qpn) && (peer->addr.qkey == addr->qkey) &&
           (memcmp(peer->addr.gid, addr->gid, sizeof(addr->gid)) == 0);
}

/*
 * Another incarnation at the GID and QPN of this one: a QPN has one owner at a
 * time, so the one born earlier is dead. Unknown births tell nothing.
 */
static void flow_peer_supersede(flow_core_t *core, flow_peer_t *peer)
{
    flow_peer_t *other;
    uint32_t index, next;

    for (index = *flow_hash_addr(core, &peer->addr); index != 0;
         index = next) {
        other = flow_core_peer(core, index);
        next  = other->addr_next;
        if ((other == peer) || (other->addr.qpn != peer->addr.qpn) ||
            (memcmp(other->addr.gid, peer->addr.gid,
                    sizeof(peer->addr.gid)) != 0) ||
            (other->born == 0) || (peer->born == 0)) {
            continue;
        }
        flow_peer_dead(core, (other->born < peer->born) ? other : peer);
    }
}

void flow_peer_introduce(flow_core_t *core, flow_peer_t *peer,
                         const flow_addr_t *addr, uint64_t born)
{
    uint32_t *head;

    if (peer->state == FLOW_PEER_UNKNOWN) {
        peer->addr      = *addr;
        peer->state     = FLOW_PEER_KNOWN;
        peer->addressed = 1;
        head            = flow_hash_addr(core, addr);
        peer->addr_next = *head;
        *head           = peer->index;
        flow_trace(core, FLOW_TRACE_PEER, peer->index, 0, addr->incarnation);
        flow_peer_event(core, peer, FLOW_DUE_PEER_INTRO);
    }
    if ((peer->born == 0) && (born != 0)) {
        peer->born = born;
        flow_peer_supersede(core, peer);
    }
}

void flow_peer_event(flow_core_t *core, flow_peer_t *peer, unsigned due)
{
    if (!(peer->events & FLOW_DUE_QUEUED)) {
        peer->events |= FLOW_DUE_QUEUED;
        flow_fifo_peer_event_push(core, &core->event_peer, peer->index);
        ++core->event_pending;
    }
    peer->events |= due;
}

void flow_peer_ref(flow_peer_t *peer)
{
    ++peer->refs;
}

void flow_peer_unref(flow_core_t *core, flow_peer_t *peer)
{
    flow_assert(peer->refs > 0);
    if (--peer->refs == 0) {
        flow_peer_event(core, peer, FLOW_DUE_PEER_GONE);
    }
}

static void flow_peer_unlink(flow_core_t *core, uint32_t *link, uint32_t index,
                             int by_addr)
{
    flow_peer_t *peer;

    while (*link != index) {
        flow_assert(*link != 0);
        peer = flow_core_peer(core, *link);
        link = by_addr ? &peer->addr_next : &peer->hash_next;
    }
    peer  = flow_core_peer(core, index);
    *link = by_addr ? peer->addr_next : peer->hash_next;
}

static void flow_peer_forget(flow_core_t *core, flow_peer_t *peer)
{
    flow_peer_unlink(core, flow_hash_incarnation(core, peer->addr.incarnation),
                     peer->index, 0);
    flow_pool_peer_put(core, peer->index);
}

void flow_peer_release(flow_core_t *core, flow_peer_t *peer)
{
    flow_assert((peer->refs == 0) && (peer->tx_list == 0) &&
                (peer->rx_list == 0));
    if (peer->addressed) {
        flow_peer_unlink(core, flow_hash_addr(core, &peer->addr), peer->index,
                         1);
    }
    peer->cookie = NULL;
    if (peer->state != FLOW_PEER_DEAD) {
        flow_peer_forget(core, peer);
        return;
    }

    flow_fifo_peer_event_push(core, &core->tombstones, peer->index);
    if (core->tombstones.count > FLOW_TOMBSTONES) {
        flow_peer_forget(core,
                         flow_core_peer(core, flow_fifo_peer_event_pop(
                                                      core,
                                                      &core->tombstones)));
    }
}

int flow_peer_reachable(const flow_peer_t *peer)
{
    return (peer->state == FLOW_PEER_READY) ||
           ((peer->state == FLOW_PEER_DEAD) && peer->handled);
}

int flow_peer_sent(const flow_peer_t *peer, flow_src_t src)
{
    uint16_t ah = (uint16_t)(src >> 32);

    return ((uint32_t)src == peer->addr.qpn) &&
           ((ah == peer->ah) || (ah == FLOW_AH_UNKNOWN) ||
            (peer->ah == FLOW_AH_UNKNOWN));
}

const flow_addr_t *flow_peer_addr(const flow_peer_t *peer)
{
    return &peer->addr;
}

void *flow_peer_cookie(const flow_peer_t *peer)
{
    return peer->cookie;
}

void flow_peer_set_cookie(flow_peer_t *peer, void *cookie)
{
    peer->cookie = cookie;
}

/* Queue what waited for an address handle; tell a changed pin. */
static void flow_peer_wake(flow_core_t *core, flow_peer_t *peer, int repin)
{
    uint32_t index;
    flow_tx_t *tx;
    flow_rx_t *rx;

    for (index = peer->tx_list; index != 0; index = tx->peer_next) {
        tx = flow_core_tx(core, index);
        if (tx->ctl != 0) {
            flow_tx_ctl_due(core, tx, 0);
        }
    }
    for (index = peer->rx_list; index != 0; index = rx->peer_next) {
        rx = flow_core_rx(core, index);
        if ((rx->ctl != 0) || (repin && (rx->state == FLOW_RX_ACTIVE))) {
            flow_rx_ctl_due(core, rx, repin ? FLOW_CTL_RX_ANSWER : 0);
        }
    }
}

void flow_peer_set_ah(flow_core_t *core, flow_peer_t *peer, uint16_t ah,
                      flow_peer_pin_t pin)
{
    int repin = (peer->state == FLOW_PEER_READY) && (peer->pin != pin);

    peer->ah  = ah;
    peer->pin = (uint8_t)pin;
    if (peer->state == FLOW_PEER_KNOWN) {
        peer->state = FLOW_PEER_READY;
    }
    peer->events    &= (uint8_t)~FLOW_DUE_PEER_INTRO;
    peer->introduced = 1;
    peer->handled    = 1;
    if (peer->state == FLOW_PEER_READY) {
        flow_peer_wake(core, peer, repin);
    }
}

void flow_peer_dead(flow_core_t *core, flow_peer_t *peer)
{
    uint32_t index, next;
    flow_tx_t *tx;
    flow_rx_t *rx;

    if (peer->state == FLOW_PEER_DEAD) {
        return;
    }

    flow_trace(core, FLOW_TRACE_PEER, peer->index, 1, peer->addr.incarnation);
    peer->state = FLOW_PEER_DEAD;
    flow_peer_ref(peer); /* the lists shrink under our hands */
    for (index = peer->tx_list; index != 0; index = next) {
        tx   = flow_core_tx(core, index);
        next = tx->peer_next;
        flow_tx_died(core, tx, 1);
    }
    for (index = peer->rx_list; index != 0; index = next) {
        rx   = flow_core_rx(core, index);
        next = rx->peer_next;
        if ((rx->state == FLOW_RX_ACTIVE) && flow_peer_reachable(peer)) {
            flow_rx_fail(core, rx); /* if it lives after all, it is told */
        } else {
            flow_rx_close(core, rx);
        }
    }
    flow_peer_unref(core, peer);
}
