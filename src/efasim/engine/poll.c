/* SPDX-License-Identifier: BSD-3-Clause */
/* Polling: the rings of peers that may have something, in turn. */
#include "steps.h"
#include "op.h"

/* Polls of all hot peers together that found nothing, after which one is hot no
 * more */
#define POLL_HOT 256

/*
 * While packets come from a peer (it is "hot") its inbound bit stays set, and
 * its ring is polled at each call: to clear the bit and have it set again for
 * each packet would cost both sides more than the packet does. When none came
 * for a while the bit is cleared and the ring is polled once more: a sender
 * that still saw the bit had published its packet before.
 */
static void poll_cool(struct sim_dev *dev, struct sim_peer *peer)
{
    unsigned word = peer->slot / 64;

    peer->idle          = 0;
    dev->rx_hot[word]  &= ~sim_peer_bit(peer);
    dev->rx_more[word] |= sim_peer_bit(peer);
    --dev->rx_hot_num;
    atomic_fetch_and(&dev->own->inbound[word], ~sim_peer_bit(peer));
}

static unsigned poll_packets(struct sim_dev *dev, struct sim_peer *peer)
{
    unsigned done = sim_rx_packets(dev, peer);
    int hot       = !!(dev->rx_hot[peer->slot / 64] & sim_peer_bit(peer));

    if (done > 0) {
        peer->idle = 0;
    } else if (hot && ((peer->rx.ring == NULL) ||
                       (++peer->idle >= POLL_HOT / dev->rx_hot_num))) {
        poll_cool(dev, peer);
    }

    return done;
}

/* Answers first: they make room for the packets that arriving ones cause. */
static unsigned poll_peer(struct sim_dev *dev, struct sim_peer *peer,
                          int packets)
{
    unsigned word = peer->slot / 64;
    unsigned done = 0;
    unsigned nic  = dev->dir->slot[peer->slot].nic % SIM_NICS;

    if (!sim_path_is_unreachable(dev, nic)) {
        done += sim_rx_answers(dev, peer);
        if ((peer->unanswered == 0) && list_is_empty(&peer->blocked)) {
            dev->awaiting[word] &= ~sim_peer_bit(peer);
        }
        done += packets ? poll_packets(dev, peer) : 0;
    } /* else fault_heal() comes back to it */

    return done;
}

unsigned sim_poll_run(struct sim_dev *dev)
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
                done += poll_peer(dev, peer, (packets >> i) & 1);
            }
        }
    }

    return done;
}

/* For a hot peer, whose inbound bit is always set: its ring tells. */
static int poll_has_packets(const struct sim_dev *dev,
                            const struct sim_peer *peer)
{
    return (atomic_load(&dev->dir->slot[peer->slot].owner) !=
            peer->rx_owner) ||
           ((peer->rx.ring != NULL) && !peer->rx_broken &&
            ring_has_packets(&peer->rx));
}

int sim_poll_has_packets(const struct sim_dev *dev)
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
            if (poll_has_packets(dev, dev->peer[word * 64 +
                                                __builtin_ctzll(bits)])) {
                return 1;
            }
        }
    }

    return 0;
}

static int poll_has_requests(const struct sim_peer *peer)
{
    return !list_is_empty(&peer->inflight) || !list_is_empty(&peer->blocked);
}

/* Fail the requests at the head of a list whose time is up. */
static void poll_expire(struct sim_dev *dev, struct sim_list *list)
{
    struct sim_op *op;

    while (!list_is_empty(list)) {
        op = list_entry(list->next, struct sim_op, link);
        if (op->due > dev->now) {
            break;
        }
        sim_fail_time_out(op);
    }
}

/* No packet comes from there, so neither does the news of its end. */
static int poll_is_cut_off(const struct sim_dev *dev,
                           const struct sim_peer *peer)
{
    const struct sim_list *list = list_is_empty(&peer->inflight) ?
                                  &peer->blocked : &peer->inflight;

    return !list_is_empty(list) &&
           sim_path_is_unreachable(dev, list_entry(list->next, struct sim_op,
                                                   link)->nic);
}

static void poll_repeat(struct sim_peer *peer)
{
    struct sim_list *link = peer->inflight.next;

    for (; link != &peer->inflight; link = link->next) {
        sim_path_repeat(list_entry(link, struct sim_op, link));
    }
}

/* A card works on while its process is stopped. This device does not, so that
 * time does not count for those who wait for it. */
static void poll_postpone(const struct sim_list *list)
{
    struct sim_list *link = list->next;

    for (; link != list; link = link->next) {
        sim_op_deadline(list_entry(link, struct sim_op, link));
    }
}

void sim_poll_check(struct sim_dev *dev, struct sim_peer *peer)
{
    int alive = 0;

    if (!poll_has_requests(peer)) {
        peer->next_check = dev->now + SIM_PEER_CHECK_NS;
        return;
    }

    if (poll_is_cut_off(dev, peer)) {
        poll_repeat(peer);
    }
    poll_expire(dev, &peer->inflight);
    poll_expire(dev, &peer->blocked);
    if ((dev->now < peer->next_check) || poll_is_cut_off(dev, peer)) {
        return;
    }

    peer->next_check = dev->now + SIM_PEER_CHECK_NS;
    if (atomic_load(&dev->dir->slot[peer->slot].owner) == peer->tx_owner) {
        alive = dev->ops->is_alive(dev->env, peer->tx_owner);
    }
    if (alive == 0) {
        poll_peer(dev, peer, 1); /* take what it sent before it died */
        sim_peer_tx_close(dev, peer);
    } else if (alive == SIM_ALIVE_STOPPED) {
        poll_postpone(&peer->inflight);
        poll_postpone(&peer->blocked);
    }
}
