/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFASIM_DRIVER_DEVICE_H
#define EFASIM_DRIVER_DEVICE_H

#include "state.h"

/* With the lock held: attach the device to the fabric. 0 or a negative errno,
 * after one line on stderr. */
int drv_device_start(struct drv_dev *dev);

/* In a forked child: forget the parent's device, without freeing anything. */
void drv_device_forget(struct drv_dev *dev);

#endif
