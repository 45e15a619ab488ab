/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion counters. Each command returns 0 or a negative errno. */
#ifndef EFASIM_DRIVER_CNTR_CMDS_H
#define EFASIM_DRIVER_CNTR_CMDS_H

#include "attr.h"

int drv_cntr_caps(struct drv_cmd *cmd);
int drv_cntr_create(struct drv_cmd *cmd);
int drv_cntr_destroy(struct drv_cmd *cmd);
int drv_cntr_modify(struct drv_cmd *cmd);
int drv_cntr_read(struct drv_cmd *cmd);
int drv_cntr_attach(struct drv_cmd *cmd);

/* Release one of a context that is closed. */
void drv_cntr_release(struct drv_cntr *cntr);

#endif
