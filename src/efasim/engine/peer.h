/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFASIM_ENGINE_PEER_H
#define EFASIM_ENGINE_PEER_H

#include "objects.h"

enum { SIM_PEER_CHECK_NS = 50000000 }; /* between two looks if one is alive */

/* Its bit among those of its 64 slots. */
static inline uint64_t sim_peer_bit(const struct sim_peer *peer)
{
    return 1ull << (peer->slot % 64);
}

/* The peer in this slot of the directory; NULL: out of memory. */
struct sim_peer *sim_peer_get(struct sim_dev *dev, uint32_t slot);

/* Have a ring to this process, which holds the peer's slot. 0 or -1. */
int sim_peer_tx_open(struct sim_dev *dev, struct sim_peer *peer,
                     uint32_t owner);

/* Unmap that ring; what is under way on it has failed. */
void sim_peer_tx_close(struct sim_dev *dev, struct sim_peer *peer);

/* A packet was sent to the process in this slot: tell it. */
void sim_peer_signal(struct sim_dev *dev, uint32_t slot);

/* This peer will answer: look at its ring at each call from now on. */
void sim_peer_await(struct sim_dev *dev, const struct sim_peer *peer);

#endif
