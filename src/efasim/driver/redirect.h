/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFASIM_DRIVER_REDIRECT_H
#define EFASIM_DRIVER_REDIRECT_H

#include <stddef.h>

/*
 * The place in the emulated /sys for `path` of the real one, for programs that
 * do not ask for SYSFS_PATH: class/infiniband..., and the PCI functions that
 * are emulated. Any other path as it is.
 */
const char *drv_redirect(const char *path, char *buf, size_t size);

#endif
