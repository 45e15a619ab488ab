/* SPDX-License-Identifier: BSD-3-Clause */
/* Each command returns 0 or a negative errno. */
#ifndef EFASIM_DRIVER_DEVICE_CMDS_H
#define EFASIM_DRIVER_DEVICE_CMDS_H

#include "attr.h"

int drv_device_context(struct drv_cmd *cmd);
int drv_device_port(struct drv_cmd *cmd);
int drv_device_port_speed(struct drv_cmd *cmd);
int drv_device_gid_entry(struct drv_cmd *cmd);
int drv_device_gid_table(struct drv_cmd *cmd);
int drv_device_async_event(struct drv_cmd *cmd);
int drv_device_query(struct drv_cmd *cmd);
int drv_device_query_ex(struct drv_cmd *cmd);

/* Tell the program that the device is gone (IBV_EVENT_DEVICE_FATAL), in every
 * context of it. */
void drv_device_fatal(struct fabric_env *env);

#endif
