/* SPDX-License-Identifier: BSD-3-Clause */
/* Each command returns 0 or a negative errno. */
#ifndef EFASIM_DRIVER_MR_CMDS_H
#define EFASIM_DRIVER_MR_CMDS_H

#include "attr.h"

int drv_mr_reg(struct drv_cmd *cmd);
int drv_mr_reg_dmabuf(struct drv_cmd *cmd);
int drv_mr_destroy(struct drv_cmd *cmd);
int drv_mr_query(struct drv_cmd *cmd);

/* Deregister one of a context that is closed. */
void drv_mr_release(struct drv_dev *dev, uint32_t index);

/* 1: the program has memory at all of these addresses. */
int drv_mr_is_mapped(uint64_t addr, uint64_t span);

#endif
