/* SPDX-License-Identifier: BSD-3-Clause */
/* The way to another NIC: whether it is there, how long it takes. */
#ifndef EFASIM_ENGINE_PATH_H
#define EFASIM_ENGINE_PATH_H

#include "objects.h"

/* No packet goes between us and this NIC, for now. */
int sim_path_is_unreachable(const struct sim_dev *dev, unsigned nic);

/* Nonzero: a packet that is sent to this NIC now is lost. */
int sim_path_is_partitioned(const struct sim_dev *dev, unsigned nic);

/* When the request leaves, by the knobs of delay, rate and loss: that of SRD
 * leaves as late as the tries that are lost take. */
uint64_t sim_path_due(struct sim_op *op);

/* The request has had no answer since its time-out began: the device sends its
 * first packet again, after twice as long each time. */
void sim_path_repeat(struct sim_op *op);

#endif
