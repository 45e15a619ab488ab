#include "engine.h"

#include <stdlib.h>

#define PEER_CHECK_NS  50000000ull /* between two looks at a silent peer */

struct sim_peer *sim_peer_get(struct sim_dev *dev, uint32_t slot)
{
    struct sim_peer *peer = dev->peer[slot];

    if (peer == NULL) {
        peer = calloc(1, sizeof(*peer));
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

/* All that was sent to a process which is gone. */
static void peer_fail(struct sim_peer *peer)
{
    while (!list_is_empty(&peer->inflight)) {
        sim_tx_expire(list_entry(peer->inflight.next, struct sim_op, link));
    }
    while (!list_is_empty(&peer->blocked)) {
        sim_tx_expire(list_entry(peer->blocked.next, struct sim_op, link));
    }
}

void sim_peer_tx_close(struct sim_dev *dev, struct sim_peer *peer)
{
    if (peer->tx == NULL) {
        return;
    }

    peer_fail(peer);
    dev->ops->ring_put(dev->env, peer->tx);
    list_del(&peer->link);
    peer->tx         = NULL;
    peer->tx_owner   = 0;
    peer->unanswered = 0;
    peer->heard      = 0;
    peer->rnr_until  = 0;
}

int sim_peer_tx_open(struct sim_dev *dev, struct sim_peer *peer,
                     uint32_t owner)
{
    if (peer->tx_owner == owner) {
        return 0;
    }

    sim_peer_tx_close(dev, peer);
    peer->tx = dev->ops->ring_tx(dev->env, owner);
    if (peer->tx == NULL) {
        return -1;
    }

    peer->tx_owner   = owner;
    peer->next_check = dev->now + PEER_CHECK_NS;
    list_add_tail(&dev->peers, &peer->link);
    return 0;
}

/* The mark must be visible before we look whether the peer sleeps, and the
 * peer looks for marks after it has said so: one of the two sees the other. */
void sim_peer_signal(struct sim_dev *dev, uint32_t slot)
{
    struct dir_slot *target   = &dev->dir->slot[slot];
    _Atomic uint64_t *inbound = &target->inbound[dev->slot / 64];
    uint64_t bit              = 1ull << (dev->slot % 64);

    atomic_thread_fence(memory_order_seq_cst);
    if (!(atomic_load_explicit(inbound, memory_order_relaxed) & bit)) {
        atomic_fetch_or(inbound, bit);
    }
    if (atomic_load_explicit(&target->sleeping, memory_order_relaxed)) {
        dev->ops->wake(dev->env, slot);
    }
}

static int peer_is_silent(const struct sim_peer *peer)
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
        sim_tx_expire(op);
    }
}

void sim_peer_check(struct sim_dev *dev, struct sim_peer *peer)
{
    if (!peer_is_silent(peer)) {
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
        sim_rx_peer(dev, peer); /* answers it gave before it died */
        sim_peer_tx_close(dev, peer);
    }
}
