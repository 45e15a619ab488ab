/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFASIM_ENGINE_PEER_H
#define EFASIM_ENGINE_PEER_H

#include "objects.h"

/* The peer in this slot of the directory; NULL: out of memory. */
struct sim_peer *sim_peer_get(struct sim_dev *dev, uint32_t slot);

/* Have a ring to this process, which holds the peer's slot. 0 or -1. */
int sim_peer_tx_open(struct sim_dev *dev, struct sim_peer *peer,
                     uint32_t owner);

/* Unmap that ring; what is under way on it has failed. */
void sim_peer_tx_close(struct sim_dev *dev, struct sim_peer *peer);

/* A packet was sent to the process in this slot: tell it. */
void sim_peer_signal(struct sim_dev *dev, uint32_t slot);

/* Take answers and packets of all peers that may have some. Returns the number
 * of things done. */
unsigned sim_peer_run(struct sim_dev *dev);

/* 1: some peer has sent something that was not taken yet. */
int sim_peer_has_packets(const struct sim_dev *dev);

/* This peer will answer: look at its ring at each call from now on. */
void sim_peer_await(struct sim_dev *dev, const struct sim_peer *peer);

/* Time out requests that it has not answered, and see whether it is alive. */
void sim_peer_check(struct sim_dev *dev, struct sim_peer *peer);

#endif
