/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFASIM_ENGINE_RX_H
#define EFASIM_ENGINE_RX_H

#include "objects.h"

/* Take this peer's answers to our packets. Returns how many. */
unsigned sim_rx_answers(struct sim_dev *dev, struct sim_peer *peer);

/* Take at most SIM_RX_BURST packets from this peer. Returns how many. */
unsigned sim_rx_packets(struct sim_dev *dev, struct sim_peer *peer);

#endif
