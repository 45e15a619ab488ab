/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The core pushes a record on a list where the record's own fields say that it
 * is on none, and takes a ring's slots for packets or for operations by who has
 * the ring. Here the fields are compared with the lists: of each kind of link,
 * a record is on the list that it says, and on no other; a record that is free
 * is blank; a ring is free, or of one flow, or waits for its last alarm, and
 * only one that sends has an alarm.
 */
#include "flow/owner_priv.h"
#include "flow/ctl_priv.h"
#include "flow/due_priv.h"
#include "flow/hash_priv.h"
#include "flow/peer_priv.h"
#include "flow/rx_priv.h"
#include "flow/stranger_priv.h"
#include "flow/tx_priv.h"

/* The index in `ref`, whose bit FLOW_TURN_RX says of which kind it is. */
#define OWNER_INDEX (ref & (FLOW_INDEX_MAX - 1))

/* Lists of one kind of link, by numbers. */
enum {
    FLOW_OWNER_NONE = 0,
    FLOW_OWNER_FREE = 1,          /* of a receiving flow: and FLOW_TURN_RX    */
    FLOW_OWNER_DUE  = 2           /* likewise                                 */
};
#define FLOW_OWNER_ANY UINT32_MAX       /* it left its list, linked still     */
#define FLOW_OWNER_BAD (UINT32_MAX - 1) /* no record is as this one           */

/* The list that a record says to be on; and the next one there. */
typedef struct flow_owner_link {
    const char *name;
    uint32_t (*says)(flow_core_t *core, uint32_t ref);
    uint32_t (*next)(const flow_core_t *core, uint32_t ref);
} flow_owner_link_t;

typedef struct flow_owner {
    flow_core_t             *core;
    const char              *error;
    const flow_owner_link_t *link;
    uint32_t                 last, count; /* of the list walked last          */
    uint64_t                 taken[2 * FLOW_INDEX_MAX / 64];
} flow_owner_t;

static void flow_owner_need(flow_owner_t *owner, int holds)
{
    if (!holds && (owner->error == NULL)) {
        owner->error = owner->link->name;
    }
}

/* 0: it was taken before. */
static int flow_owner_take(flow_owner_t *owner, uint32_t ref)
{
    uint64_t *word = &owner->taken[ref / 64], before = *word;

    *word |= 1ull << (ref % 64);
    return *word != before;
}

static int flow_owner_is_zero(const void *record, size_t size)
{
    const uint8_t *at = record, *end = at + size;

    while ((at < end) && (*at == 0)) {
        ++at;
    }
    return at == end;
}

static uint32_t flow_owner_blank_tx(const flow_tx_t *tx, uint32_t list)
{
    flow_tx_t rest = *tx;

    rest.ep        = 0;
    rest.state     = 0;
    rest.ctl_next  = 0;
    rest.peer_next = 0;
    return flow_owner_is_zero(&rest, sizeof(rest)) ? list : FLOW_OWNER_BAD;
}

static uint32_t flow_owner_blank_rx(const flow_rx_t *rx, uint32_t list)
{
    flow_rx_t rest = *rx;

    rest.expect    = 0;
    rest.state     = 0;
    rest.ctl_next  = 0;
    rest.peer_next = 0;
    return flow_owner_is_zero(&rest, sizeof(rest)) ? list : FLOW_OWNER_BAD;
}

static uint32_t flow_owner_blank_peer(const flow_peer_t *peer)
{
    flow_peer_t rest = *peer;

    rest.index      = 0;
    rest.event_next = 0;
    return flow_owner_is_zero(&rest, sizeof(rest)) ? FLOW_OWNER_FREE :
                                                     FLOW_OWNER_BAD;
}

/* A free sending flow is on no list when its numbers are used up. */
static uint32_t flow_owner_turn_tx(const flow_tx_t *tx)
{
    if (tx->state != FLOW_TX_FREE) {
        return (tx->ctl & FLOW_CTL_QUEUED) ? FLOW_OWNER_DUE : FLOW_OWNER_NONE;
    }
    return flow_owner_blank_tx(tx, (tx->ep <= UINT32_MAX - FLOW_INDEX_MAX) ?
                                           FLOW_OWNER_FREE : FLOW_OWNER_NONE);
}

static uint32_t flow_owner_turn_rx(const flow_rx_t *rx)
{
    if (rx->state != FLOW_RX_FREE) {
        return (rx->ctl & FLOW_CTL_QUEUED) ? FLOW_OWNER_DUE | FLOW_TURN_RX :
                                             FLOW_OWNER_NONE;
    }
    return flow_owner_blank_rx(rx, FLOW_OWNER_FREE | FLOW_TURN_RX);
}

/* One that is about to go is on no queue. */
static uint32_t flow_owner_event_tx(const flow_tx_t *tx)
{
    if (tx->events == 0) {
        return FLOW_OWNER_NONE;
    }
    return (tx->events & FLOW_DUE_QUEUED) &&
           (!(tx->events & FLOW_DUE_TX_GONE) || (tx->ctl == 0)) ?
                   FLOW_OWNER_DUE : FLOW_OWNER_BAD;
}

static uint32_t flow_owner_event_peer(const flow_peer_t *peer)
{
    return (peer->state == FLOW_PEER_FREE) ? flow_owner_blank_peer(peer) :
           (peer->events & FLOW_DUE_PEER_QUEUED) ? FLOW_OWNER_DUE :
                                                   FLOW_OWNER_NONE;
}

/* One without an address may be forgotten at any time. */
static uint32_t flow_owner_tomb(const flow_peer_t *peer)
{
    if (!peer->entombed) {
        return FLOW_OWNER_NONE;
    }
    return (peer->state == FLOW_PEER_DEAD) &&
           (peer->addressed ||
            (!flow_peer_in_use(peer) && (peer->events == 0))) ?
                   FLOW_OWNER_DUE : FLOW_OWNER_BAD;
}

/* It refers to its peer, and is not on its list. */
static int flow_owner_is_unlisted(const flow_rx_t *rx)
{
    return (rx->state >= FLOW_RX_PARTED) && (rx->flags & FLOW_RXF_UNLISTED);
}

/* Lists of a peer: its index and 1. */
static uint32_t flow_owner_peer_tx(const flow_tx_t *tx)
{
    return (tx->state == FLOW_TX_FREE) ? FLOW_OWNER_NONE :
           (tx->state == FLOW_TX_GONE) ?
                   flow_owner_blank_tx(tx, FLOW_OWNER_ANY) : tx->peer + 1u;
}

static uint32_t flow_owner_peer_rx(const flow_rx_t *rx)
{
    if (rx->state == FLOW_RX_FREE) {
        return FLOW_OWNER_NONE;
    }
    if (rx->state == FLOW_RX_GONE) {
        return flow_owner_blank_rx(rx, FLOW_OWNER_ANY);
    }
    if (!flow_owner_is_unlisted(rx)) {
        return rx->peer + 1u;
    }
    return (rx->peer_next == flow_rx_index(rx)) ? FLOW_OWNER_NONE :
                                                  FLOW_OWNER_ANY;
}

/* Chains: the place of the head in the table, and 1. */
static uint32_t flow_owner_chain(const flow_core_t *core, const uint32_t *head)
{
    return (uint32_t)(head - core->hash) + 1;
}

static uint32_t flow_owner_hash_rx(flow_core_t *core, const flow_rx_t *rx)
{
    return ((rx->state == FLOW_RX_FREE) || (rx->state == FLOW_RX_GONE)) ?
                   FLOW_OWNER_NONE :
                   flow_owner_chain(core, flow_hash_rx(core, rx->peer, rx->ep));
}

static uint32_t flow_owner_hash_peer(flow_core_t *core, const flow_peer_t *peer)
{
    return (peer->state == FLOW_PEER_FREE) ?
                   FLOW_OWNER_NONE :
                   flow_owner_chain(core, flow_hash_incarnation(
                                                  core, peer->incarnation));
}

static uint32_t flow_owner_hash_addr(flow_core_t *core, const flow_peer_t *peer)
{
    return !peer->addressed ?
                   FLOW_OWNER_NONE :
                   flow_owner_chain(core, flow_hash_addr(core, peer));
}

/* A kind of link: where a record says to be, and which is the next there. */
#define FLOW_OWNER_LINK(_name, _says, _next) \
    static uint32_t flow_owner_says_##_name(flow_core_t *core, uint32_t ref) \
    { \
        (void)core; \
        return _says; \
    } \
    static uint32_t flow_owner_next_##_name(const flow_core_t *core, \
                                            uint32_t ref) \
    { \
        return _next; \
    } \
    static const flow_owner_link_t flow_owner_##_name##_link = { \
        "owner: " #_name, flow_owner_says_##_name, flow_owner_next_##_name \
    };

FLOW_OWNER_LINK(turn, (ref & FLOW_TURN_RX) ?
                        flow_owner_turn_rx(flow_core_rx(core, OWNER_INDEX)) :
                        flow_owner_turn_tx(flow_core_tx(core, ref)),
                (ref & FLOW_TURN_RX) ?
                        flow_core_rx(core, OWNER_INDEX)->ctl_next :
                        flow_core_tx(core, ref)->ctl_next)
FLOW_OWNER_LINK(event_tx, flow_owner_event_tx(flow_core_tx(core, ref)),
                flow_core_tx(core, ref)->event_next)
FLOW_OWNER_LINK(event_peer, flow_owner_event_peer(flow_core_peer(core, ref)),
                flow_core_peer(core, ref)->event_next)
FLOW_OWNER_LINK(tomb, flow_owner_tomb(flow_core_peer(core, ref)),
                flow_core_peer(core, ref)->tx_list)
FLOW_OWNER_LINK(starved, flow_core_rx(core, ref)->lists,
                flow_core_rx(core, ref)->starved_next)
FLOW_OWNER_LINK(peer_tx, flow_owner_peer_tx(flow_core_tx(core, ref)),
                flow_core_tx(core, ref)->peer_next)
FLOW_OWNER_LINK(peer_rx, flow_owner_peer_rx(flow_core_rx(core, ref)),
                flow_core_rx(core, ref)->peer_next)
FLOW_OWNER_LINK(hash_rx, flow_owner_hash_rx(core, flow_core_rx(core, ref)),
                flow_core_rx(core, ref)->hash_next)
FLOW_OWNER_LINK(hash_peer,
                flow_owner_hash_peer(core, flow_core_peer(core, ref)),
                flow_core_peer(core, ref)->hash_next)
FLOW_OWNER_LINK(hash_addr,
                flow_owner_hash_addr(core, flow_core_peer(core, ref)),
                flow_core_peer(core, ref)->addr_next)
FLOW_OWNER_LINK(expired,
                (core->expired[ref] == 0) ?
                        FLOW_OWNER_NONE :
                        flow_stranger_bucket(core->expired[ref]) + 1,
                core->expired_next[ref])
FLOW_OWNER_LINK(ring,
                (flow_core_ring(core, ref)->unacked.place == 0) ?
                        FLOW_OWNER_FREE : FLOW_OWNER_DUE,
                flow_core_ring(core, ref)->next)

/* Takes all of a list, from `ref` on. */
static void flow_owner_walk(flow_owner_t *owner, uint32_t ref, uint32_t list)
{
    uint32_t says;

    owner->last  = 0;
    owner->count = 0;
    while ((OWNER_INDEX != 0) && (owner->error == NULL)) {
        says         = owner->link->says(owner->core, ref);
        owner->last  = OWNER_INDEX;
        ++owner->count;
        flow_owner_need(owner, flow_owner_take(owner, ref) &&
                               ((says == list) || (says == FLOW_OWNER_ANY)));
        ref = (owner->error == NULL) ? owner->link->next(owner->core, ref) : 0;
    }
}

static void
flow_owner_fifo(flow_owner_t *owner, const flow_fifo_t *fifo, uint32_t list)
{
    flow_owner_walk(owner, fifo->head | (list & FLOW_TURN_RX), list);
    flow_owner_need(owner, (owner->last == fifo->tail) &&
                           (owner->count == fifo->count));
}

/* A record that says to be on a list was found there. The first is none, and is
 * blank. */
static void flow_owner_end(flow_owner_t *owner, uint32_t first, uint32_t count)
{
    uint32_t ref, says;

    for (ref = first; ref < first + count; ++ref) {
        says = owner->link->says(owner->core, ref);
        flow_owner_need(owner, (ref == first) ?
                                       (says & ~FLOW_TURN_RX) <=
                                               FLOW_OWNER_FREE :
                                       flow_owner_take(owner, ref) ==
                                               (says == FLOW_OWNER_NONE));
        owner->taken[ref / 64] &= ~(1ull << (ref % 64));
    }
}

/* Those that wait with a peer stand in a circle. */
static void flow_owner_parked(flow_owner_t *owner, uint32_t last)
{
    uint32_t ref = last;

    while ((ref != 0) && (owner->error == NULL)) {
        flow_owner_need(owner, flow_owner_take(owner, ref) &&
                               ((owner->link->says(owner->core, ref) &
                                 ~FLOW_TURN_RX) == FLOW_OWNER_DUE));
        ref = owner->link->next(owner->core, ref);
        flow_owner_need(owner, ref != 0);
        ref = (ref == last) ? 0 : ref;
    }
}

static void flow_owner_turns(flow_owner_t *owner)
{
    flow_core_t *core   = owner->core;
    flow_batch_t *batch = core->batch;
    uint32_t peer;

    owner->link = &flow_owner_turn_link;
    flow_owner_fifo(owner, &core->tx_free, FLOW_OWNER_FREE);
    flow_owner_fifo(owner, &core->ctl_tx, FLOW_OWNER_DUE);
    flow_owner_fifo(owner, &core->rx_free, FLOW_OWNER_FREE | FLOW_TURN_RX);
    flow_owner_fifo(owner, &core->ctl_rx, FLOW_OWNER_DUE | FLOW_TURN_RX);
    for (; batch < core->batch + FLOW_LEVELS; ++batch) {
        flow_owner_fifo(owner, &batch->tx_wait, FLOW_OWNER_DUE);
        flow_owner_fifo(owner, &batch->tx_gather, FLOW_OWNER_DUE);
        flow_owner_fifo(owner, &batch->rx_wait, FLOW_OWNER_DUE | FLOW_TURN_RX);
        flow_owner_fifo(owner, &batch->rx_gather,
                        FLOW_OWNER_DUE | FLOW_TURN_RX);
    }
    for (peer = 0; peer < core->peer_count; ++peer) {
        flow_owner_parked(owner, flow_core_peer(core, peer)->parked);
    }
    flow_owner_end(owner, 0, core->tx_count);
    flow_owner_end(owner, FLOW_TURN_RX, core->rx_count);
}

static void flow_owner_queues(flow_owner_t *owner)
{
    flow_core_t *core = owner->core;

    owner->link = &flow_owner_event_tx_link;
    flow_owner_fifo(owner, &core->event_tx, FLOW_OWNER_DUE);
    flow_owner_end(owner, 0, core->tx_count);
    owner->link = &flow_owner_event_peer_link;
    flow_owner_fifo(owner, &core->peer_free, FLOW_OWNER_FREE);
    flow_owner_fifo(owner, &core->event_peer, FLOW_OWNER_DUE);
    flow_owner_end(owner, 0, core->peer_count);
    owner->link = &flow_owner_tomb_link;
    flow_owner_fifo(owner, &core->tombstones, FLOW_OWNER_DUE);
    flow_owner_end(owner, 0, core->peer_count);
    owner->link = &flow_owner_starved_link;
    flow_owner_fifo(owner, &core->starved, FLOW_LIST_STARVED);
    flow_owner_fifo(owner, &core->parted_wait, FLOW_LIST_PARTED);
    flow_owner_fifo(owner, &core->parted_gather, FLOW_LIST_PARTED);
    flow_owner_end(owner, 0, core->rx_count);
}

static void flow_owner_peers(flow_owner_t *owner)
{
    flow_core_t *core = owner->core;
    const flow_peer_t *peer;
    uint32_t index;

    owner->link = &flow_owner_peer_tx_link;
    for (index = 0; index < core->peer_count; ++index) {
        peer = flow_core_peer(core, index);
        flow_owner_walk(owner, peer->entombed ? 0 : peer->tx_list, index + 1);
    }
    flow_owner_end(owner, 0, core->tx_count);
    owner->link = &flow_owner_peer_rx_link;
    for (index = 0; index < core->peer_count; ++index) {
        flow_owner_walk(owner, flow_core_peer(core, index)->rx_list, index + 1);
    }
    flow_owner_end(owner, 0, core->rx_count);
}

/* A peer has a reference for each that needs one: counted down and up again. */
static void flow_owner_refs(flow_owner_t *owner)
{
    flow_core_t *core = owner->core;
    const flow_rx_t *rx;
    uint32_t index;

    for (index = 0; index < core->rx_count; ++index) {
        rx = flow_core_rx(core, index);
        if (flow_owner_is_unlisted(rx)) {
            flow_owner_need(owner, flow_core_peer(core, rx->peer)->refs-- > 0);
        }
    }
    for (index = 0; index < core->rx_count; ++index) {
        rx = flow_core_rx(core, index);
        if (flow_owner_is_unlisted(rx)) {
            ++flow_core_peer(core, rx->peer)->refs;
        }
    }
}

static void flow_owner_chains(flow_owner_t *owner,
                              const flow_owner_link_t *link,
                              enum flow_index which, uint32_t count)
{
    uint32_t slot = (uint32_t)which * owner->core->hash_size;
    uint32_t end  = slot + owner->core->hash_size;

    owner->link = link;
    for (; slot < end; ++slot) {
        flow_owner_walk(owner, owner->core->hash[slot], slot + 1);
    }
    flow_owner_end(owner, 0, count);
}

static void flow_owner_expired(flow_owner_t *owner)
{
    uint32_t bucket;

    owner->link = &flow_owner_expired_link;
    for (bucket = 0; bucket < FLOW_EXPIRED; ++bucket) {
        flow_owner_walk(owner, owner->core->expired_head[bucket], bucket + 1);
    }
    flow_owner_end(owner, 0, FLOW_EXPIRED + 1);
}

/* A ring and its place among the alarms, where there is none but of rings that
 * send, and of those whose flow has gone. */
static void flow_owner_alarm(flow_owner_t *owner, uint32_t index)
{
    const flow_ring_t *ring       = flow_core_ring(owner->core, index);
    const flow_unacked_t *unacked = &ring->unacked;

    if (unacked->place != 0) {
        ++owner->count;
        flow_owner_need(owner, flow_core_ring(owner->core, unacked->place)
                                               ->unacked.heap == index);
    }
    if (index == 0) {
        flow_owner_need(owner, (unacked->place | ring->mask) == 0);
    } else if (flow_owner_take(owner, index)) {
        flow_owner_need(owner, (unacked->place == 0) || (unacked->tx == 0));
    }
}

static void flow_owner_rings(flow_owner_t *owner)
{
    flow_core_t *core = owner->core;
    uint32_t index, ring;

    owner->link = &flow_owner_ring_link;
    flow_owner_fifo(owner, &core->ring_free, FLOW_OWNER_FREE);
    flow_owner_fifo(owner, &core->event_ring, FLOW_OWNER_FREE);
    for (index = 0; index < core->rx_count; ++index) {
        ring = flow_core_rx(core, index)->ring;
        flow_owner_need(owner, (ring == 0) ||
                               (flow_owner_take(owner, ring) &&
                                (owner->link->says(core, ring) ==
                                 FLOW_OWNER_FREE)));
    }
    for (index = 0; index < core->tx_count; ++index) {
        ring = flow_core_tx(core, index)->ring;
        flow_owner_need(owner, (ring == 0) ||
                               (flow_owner_take(owner, ring) &&
                                (owner->link->says(core, ring) ==
                                 FLOW_OWNER_DUE)));
    }
    owner->count = 0;
    for (index = 0; index < core->ring_count; ++index) {
        flow_owner_alarm(owner, index);
    }
    flow_owner_need(owner, owner->count == core->alarms);
}

const char *flow_owner_error(flow_core_t *core)
{
    flow_owner_t owner;

    memset(&owner, 0, sizeof(owner));
    owner.core = core;
    flow_owner_turns(&owner);
    flow_owner_queues(&owner);
    flow_owner_peers(&owner);
    flow_owner_refs(&owner);
    flow_owner_chains(&owner, &flow_owner_hash_peer_link,
                      FLOW_INDEX_INCARNATION, core->peer_count);
    flow_owner_chains(&owner, &flow_owner_hash_addr_link, FLOW_INDEX_ADDR,
                      core->peer_count);
    flow_owner_chains(&owner, &flow_owner_hash_rx_link, FLOW_INDEX_RX,
                      core->rx_count);
    flow_owner_expired(&owner);
    flow_owner_rings(&owner);
    return owner.error;
}
