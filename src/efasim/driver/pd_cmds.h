/* SPDX-License-Identifier: BSD-3-Clause */
/* Each command returns 0 or a negative errno. */
#ifndef EFASIM_DRIVER_PD_CMDS_H
#define EFASIM_DRIVER_PD_CMDS_H

#include "attr.h"

int drv_pd_alloc(struct drv_cmd *cmd);
int drv_pd_destroy(struct drv_cmd *cmd);
int drv_ah_create(struct drv_cmd *cmd);
int drv_ah_destroy(struct drv_cmd *cmd);

/* The context's PD with this handle, or NULL. */
struct sim_pd *drv_pd_get(struct drv_ctx *ctx, int64_t handle);

/* Read a request, and find the PD whose handle stands in it at this offset: 0;
 * -EINVAL: it is too short; -ENOENT. */
int drv_pd_request(const struct drv_cmd *cmd, void *req, size_t size,
                   size_t handle_at, struct sim_pd **pd);

#endif
