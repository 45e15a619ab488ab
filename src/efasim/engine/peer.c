/* SPDX-License-Identifier: BSD-3-Clause */
#include "peer.h"
#include "fault.h"
#include "pages.h"
#include "rx.h"
#include "tx.h"

#define PEER_CHECK_NS  50000000ull /* between two checks whether one is alive */
#define PEER_HOT_POLLS 256 /* polls of all hot peers together that found
                              nothing, after which one is hot no more */

static uint64_t peer_bit(const struct sim_peer *peer)
{
    return 1ull << (peer->slot % 64);
}

struct sim_peer *sim_peer_get(struct sim_dev *dev, uint32_t slot)
{
    struct sim_peer *peer = dev->peer[slot];

    if (peer == NULL) {
        peer = sim_pages_alloc(sizeof(*peer));
        if (peer == NULL) {
            return NULL;
        }
        peer->slot = slot;
        list_init(&peer->blocked);
        list_init(&peer->inflight);
        list_init(&peer->link);
        dev->peer[slot] = peer;
    }

    return peer;
}

void sim_peer_await(struct sim_dev *dev, const struct sim_peer *peer)
{
    dev->awaiting[peer->slot / 64] |= peer_bit(peer);
}

/* The process is gone: fail all that was sent to it. */
static void peer_fail(struct sim_peer *peer)
{
    while (!list_is_empty(&peer->inflight)) {
        sim_tx_peer_died(list_entry(peer->inflight.next, struct sim_op, link));
    }
    while (!list_is_empty(&peer->blocked)) {
        sim_tx_peer_died(list_entry(peer->blocked.next, struct sim_op, link));
    }
}

void sim_peer_tx_close(struct sim_dev *dev, struct sim_peer *peer)
{
    if (peer->tx.ring == NULL) {
        return;
    }

    peer_fail(peer);
    dev->ops->ring_unmap(dev->env, peer->tx.ring);
    list_del(&peer->link);
    peer->tx.ring      = NULL;
    peer->tx_owner     = 0;
    peer->unanswered   = 0;
    peer->has_answered = 0;
    peer->rnr_until    = 0;
    dev->awaiting[peer->slot / 64] &= ~peer_bit(peer);
}

int sim_peer_tx_open(struct sim_dev *dev, struct sim_peer *peer,
                     uint32_t owner)
{
    struct ring *ring;

    if (peer->tx_owner == owner) {
        return 0;
    }

    sim_peer_tx_close(dev, peer);
    ring = dev->ops->ring_map_tx(dev->env, owner);
    if (ring == NULL) {
        return -1;
    }

    ring_tx_open(&peer->tx, ring);
    peer->tx_owner   = owner;
    peer->next_check = dev->now + PEER_CHECK_NS;
    list_add_tail(&dev->peers, &peer->link);
    return 0;
}

/* We publish the packet, then read our inbound bit at the receiver and whether
 * it sleeps; the receiver clears the bit or says that it sleeps, then looks for
 * packets. With a full fence between the two steps on both sides, at least one
 * of them sees what the other wrote. */
void sim_peer_signal(struct sim_dev *dev, uint32_t slot)
{
    struct dir_slot *target   = &dev->dir->slot[slot];
    _Atomic uint64_t *inbound = &target->inbound[dev->slot / 64];
    uint64_t bit              = 1ull << (dev->slot % 64);

    atomic_thread_fence(memory_order_seq_cst);
    if (!(atomic_load_explicit(inbound, memory_order_relaxed) & bit)) {
        atomic_fetch_or(inbound, bit);
    }
    if ((atomic_load_explicit(&target->sleeping, memory_order_relaxed) !=
         DIR_AWAKE) &&
        (atomic_exchange(&target->sleeping, DIR_AWAKE) != DIR_AWAKE)) {
        dev->ops->wake(dev->env, slot); /* the first of several does */
    }
}

/*
 * While packets come from a peer (it is "hot") its inbound bit stays set, and
 * its ring is polled at each call: to clear the bit and have it set again for
 * each packet would cost both sides more than the packet does. When none came
 * for a while the bit is cleared and the ring is polled once more: a sender
 * that still saw the bit had published its packet before.
 */
static void peer_cool(struct sim_dev *dev, struct sim_peer *peer)
{
    unsigned word = peer->slot / 64;

    peer->idle          = 0;
    dev->rx_hot[word]  &= ~peer_bit(peer);
    dev->rx_more[word] |= peer_bit(peer);
    --dev->rx_hot_num;
    atomic_fetch_and(&dev->own->inbound[word], ~peer_bit(peer));
}

static unsigned peer_packets(struct sim_dev *dev, struct sim_peer *peer)
{
    unsigned done = sim_rx_packets(dev, peer);
    int hot       = !!(dev->rx_hot[peer->slot / 64] & peer_bit(peer));

    if (done > 0) {
        peer->idle = 0;
    } else if (hot && ((peer->rx.ring == NULL) ||
                       (++peer->idle >= PEER_HOT_POLLS / dev->rx_hot_num))) {
        peer_cool(dev, peer);
    }

    return done;
}

/* Answers first: they make room for what packets cause. */
static unsigned peer_run(struct sim_dev *dev, struct sim_peer *peer,
                         int packets)
{
    unsigned word = peer->slot / 64;
    unsigned done = 0;
    unsigned nic  = dev->dir->slot[peer->slot].nic % SIM_NICS;

    if (!sim_fault_is_unreachable(dev, nic)) {
        done += sim_rx_answers(dev, peer);
        if ((peer->unanswered == 0) && list_is_empty(&peer->blocked)) {
            dev->awaiting[word] &= ~peer_bit(peer);
        }
        done += packets ? peer_packets(dev, peer) : 0;
    } /* else fault_heal() comes back to it */

    return done;
}

unsigned sim_peer_run(struct sim_dev *dev)
{
    struct sim_peer *peer;
    unsigned word, i, done = 0;
    uint64_t bits, fresh, packets;

    for (word = 0; word < SIM_SLOTS / 64; ++word) {
        fresh = atomic_load_explicit(&dev->own->inbound[word],
                                     memory_order_acquire) &
                ~dev->rx_hot[word];
        if (fresh != 0) {
            dev->rx_hot[word] |= fresh;
            dev->rx_hot_num   += __builtin_popcountll(fresh);
        }
        packets            = dev->rx_more[word] | dev->rx_hot[word];
        dev->rx_more[word] = 0;
        for (bits = packets | dev->awaiting[word]; bits != 0;
             bits &= bits - 1) {
            i    = __builtin_ctzll(bits);
            peer = sim_peer_get(dev, word * 64 + i);
            if (peer != NULL) {
                done += peer_run(dev, peer, (packets >> i) & 1);
            }
        }
    }

    return done;
}

/* Of a hot peer, whose inbound bit is always set: its ring tells. */
static int peer_has_packets(const struct sim_dev *dev,
                            const struct sim_peer *peer)
{
    return (atomic_load(&dev->dir->slot[peer->slot].owner) !=
            peer->rx_owner) ||
           ((peer->rx.ring != NULL) && !peer->rx_broken &&
            ring_has_packets(&peer->rx));
}

int sim_peer_has_packets(const struct sim_dev *dev)
{
    unsigned word;
    uint64_t bits;

    for (word = 0; word < SIM_SLOTS / 64; ++word) {
        bits = dev->rx_hot[word];
        if ((dev->rx_more[word] != 0) ||
            (atomic_load(&dev->own->inbound[word]) & ~bits)) {
            return 1;
        }
        for (; bits != 0; bits &= bits - 1) {
            if (peer_has_packets(dev, dev->peer[word * 64 +
                                                __builtin_ctzll(bits)])) {
                return 1;
            }
        }
    }

    return 0;
}

static int peer_has_requests(const struct sim_peer *peer)
{
    return !list_is_empty(&peer->inflight) || !list_is_empty(&peer->blocked);
}

/* Fail the requests at the head of a list whose time is up. */
static void peer_expire(struct sim_dev *dev, struct sim_list *list)
{
    struct sim_op *op;

    while (!list_is_empty(list)) {
        op = list_entry(list->next, struct sim_op, link);
        if (op->due > dev->now) {
            break;
        }
        sim_tx_time_out(op);
    }
}

void sim_peer_check(struct sim_dev *dev, struct sim_peer *peer)
{
    if (!peer_has_requests(peer)) {
        peer->next_check = dev->now + PEER_CHECK_NS;
        return;
    }

    peer_expire(dev, &peer->inflight);
    peer_expire(dev, &peer->blocked);
    if (dev->now < peer->next_check) {
        return;
    }

    peer->next_check = dev->now + PEER_CHECK_NS;
    if ((atomic_load(&dev->dir->slot[peer->slot].owner) != peer->tx_owner) ||
        !dev->ops->is_alive(dev->env, peer->tx_owner)) {
        peer_run(dev, peer, 1); /* take what it sent before it died */
        sim_peer_tx_close(dev, peer);
    }
}
