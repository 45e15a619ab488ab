/* SPDX-License-Identifier: BSD-3-Clause */
/* Each command returns 0 or a negative errno. */
#ifndef EFASIM_DRIVER_CQ_CMDS_H
#define EFASIM_DRIVER_CQ_CMDS_H

#include "attr.h"

int drv_cq_create(struct drv_cmd *cmd);
int drv_cq_destroy(struct drv_cmd *cmd);

/* The context's CQ with this handle, or NULL. */
struct drv_cq *drv_cq_get(struct drv_ctx *ctx, int64_t handle);

/* Release one of a context that is closed, whoever uses it. */
void drv_cq_release(struct drv_cq *cq);

#endif
