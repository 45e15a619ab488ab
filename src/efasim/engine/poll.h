/* SPDX-License-Identifier: BSD-3-Clause */
/* Polling of peers: their answers, their packets, whether they live. */
#ifndef EFASIM_ENGINE_POLL_H
#define EFASIM_ENGINE_POLL_H

#include "objects.h"

/* Take answers and packets of all peers that may have some. Returns the number
 * of things done. */
unsigned sim_poll_run(struct sim_dev *dev);

/* 1: some peer has sent something that was not taken yet. */
int sim_poll_has_packets(const struct sim_dev *dev);

/* Time out requests that it has not answered, and see whether it is alive. */
void sim_poll_check(struct sim_dev *dev, struct sim_peer *peer);

#endif
