/* SPDX-License-Identifier: BSD-3-Clause */
/* The first steps with verbs of the programs that run in the guest. */
#ifndef KERNEL_DEVICE_H_
#define KERNEL_DEVICE_H_

#include <infiniband/verbs.h>

/* The device of this name, or the first; NULL: there is none, or it cannot be
 * opened. */
struct ibv_context *device_open(const char *name);

/* A queue pair with `depth` requests each way, all of which complete, or NULL
 * with errno. `type`: IBV_QPT_DRIVER is SRD. */
struct ibv_qp *device_qp(struct ibv_pd *pd, struct ibv_cq *cq,
                         enum ibv_qp_type type, unsigned depth);

/* Brings a queue pair from RESET to RTS. 0 or an errno. */
int device_qp_ready(struct ibv_qp *qp, uint32_t qkey);

#endif
