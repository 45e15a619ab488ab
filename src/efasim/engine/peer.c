/* SPDX-License-Identifier: BSD-3-Clause */
#include "steps.h"
#include "pages.h"

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
    dev->awaiting[peer->slot / 64] |= sim_peer_bit(peer);
}

/* The process is gone: fail all that was sent to it. */
static void peer_fail(struct sim_peer *peer)
{
    while (!list_is_empty(&peer->inflight)) {
        sim_fail_peer_died(list_entry(peer->inflight.next, struct sim_op,
                                      link));
    }
    while (!list_is_empty(&peer->blocked)) {
        sim_fail_peer_died(list_entry(peer->blocked.next, struct sim_op, link));
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
    dev->awaiting[peer->slot / 64] &= ~sim_peer_bit(peer);
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
    peer->next_check = dev->now + SIM_PEER_CHECK_NS;
    list_add_tail(&dev->peers, &peer->link);
    return 0;
}

/* We publish the packet, then read our inbound bit at the receiver and whether
 * it sleeps; the receiver clears the bit or says that it sleeps, then looks for
 * packets. With a full fence between the two steps on both sides, at least one
 * of them sees the other's write. */
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
