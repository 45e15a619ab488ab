/* SPDX-License-Identifier: BSD-3-Clause */
/* The first steps with verbs of the programs that run in the guest. */
#ifndef KERNEL_DEVICE_H_
#define KERNEL_DEVICE_H_

#include <infiniband/verbs.h>

/* The device of this name; NULL: there is none, or it cannot be opened. */
struct ibv_context *device_open(const char *name);

/* Brings a queue pair from RESET to RTS. 0 or an errno. */
int device_qp_ready(struct ibv_qp *qp, uint32_t qkey);

#endif
