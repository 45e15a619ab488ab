/* SPDX-License-Identifier: BSD-3-Clause */
/* Each command returns 0 or a negative errno. */
#ifndef EFASIM_DRIVER_QP_CMDS_H
#define EFASIM_DRIVER_QP_CMDS_H

#include "attr.h"

int drv_qp_create(struct drv_cmd *cmd);
int drv_qp_destroy(struct drv_cmd *cmd);
int drv_qp_modify(struct drv_cmd *cmd);
int drv_qp_query(struct drv_cmd *cmd);

/* The context's QP with this handle, or NULL. */
struct drv_qp *drv_qp_get(struct drv_ctx *ctx, int64_t handle);

/* Release one of a context that is closed. */
void drv_qp_release(struct drv_qp *qp);

#endif
