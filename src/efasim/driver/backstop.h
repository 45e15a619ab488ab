/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFASIM_DRIVER_BACKSTOP_H
#define EFASIM_DRIVER_BACKSTOP_H

#include "state.h"

/* Once in a process: start the thread. */
void drv_backstop_start(void);

/* The thread may sleep: this device has something for it. */
void drv_backstop_kick(struct drv_dev *dev);

#endif
