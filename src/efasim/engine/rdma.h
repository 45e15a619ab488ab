/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFASIM_ENGINE_RDMA_H
#define EFASIM_ENGINE_RDMA_H

#include "objects.h"

/* Copy at most SIM_RDMA_CHUNK bytes, and send what waited for a way to its
 * receiver's host. Returns the number of things done. */
unsigned sim_rdma_step(struct sim_dev *dev);

#endif
