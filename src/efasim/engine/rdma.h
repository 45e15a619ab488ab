/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFASIM_ENGINE_RDMA_H
#define EFASIM_ENGINE_RDMA_H

#include "objects.h"

/* What is wrong with an RDMA request in itself: a status, or OK. */
uint8_t sim_rdma_check(struct sim_op *op);

/* From now on its bytes are copied, by sim_rdma_step(). */
void sim_rdma_start(struct sim_op *op);

/* Copy at most SIM_RDMA_CHUNK bytes. Returns the number of things done. */
unsigned sim_rdma_step(struct sim_dev *dev);

#endif
