/* SPDX-License-Identifier: BSD-3-Clause */
/* The environment variables EFASIM_* of this process. */
#ifndef EFASIM_DRIVER_CONFIG_H
#define EFASIM_DRIVER_CONFIG_H

#include "efasim/fabric/fabric.h"

/* 0: there is nothing to emulate. */
int drv_config_is_enabled(void);

/* The folder of the fabric, in `path`; NULL: none is named. */
const char *drv_config_fabric_path(char path[FABRIC_PATH_MAX]);

/* The node of this process, from EFASIM_NODE or the rank. */
unsigned drv_config_node(void);

/* A device is opened: says once if --per-node has no rank to go by. */
void drv_config_check_rank(void);

/* The folder that stands for /sys; "" when not enabled. Where it would be the
 * fabric's, and that is not this user's (any more), one in which nothing is. */
#define DRV_CONFIG_NOWHERE "/dev/null"
const char *drv_config_sysfs_root(void);

/* The knobs of all devices. A bad value is reported and keeps the default. */
void drv_config_knobs(void);

/* EFASIM_PLAN and EFASIM_TRACE name files: read, and opened for appending. */
void drv_config_files(void);

#endif
