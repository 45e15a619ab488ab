/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFASIM_DRIVER_IOCTL_H
#define EFASIM_DRIVER_IOCTL_H

#include "state.h"

#include <rdma/rdma_user_ioctl_cmds.h>

/* Decode and run a command; 0 or a negative errno. */
int drv_ioctl(struct drv_ctx *ctx, struct ib_uverbs_ioctl_hdr *hdr);

#endif
