/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFASIM_DRIVER_CONTEXT_H
#define EFASIM_DRIVER_CONTEXT_H

#include "state.h"

/* A file in memory; a descriptor, or -1 with errno. (glibc has it from 2.27
 * on, the kernel from 3.17 on.) */
int drv_memfd(const char *name, unsigned flags);

/* Open a device of the host; a descriptor, or -1 with errno. */
int drv_ctx_open(unsigned device, int flags);

/* Is fd one of our contexts? Needs no lock. */
struct drv_ctx *drv_ctx_find(int fd);

/* The program closes fd, which may be a context or a channel's end. */
void drv_ctx_close(int fd);

/* With the lock held: attach the device to the fabric. 0 or a negative errno,
 * after one line on stderr. */
int drv_device_start(struct drv_dev *dev);

/* In a forked child: forget the parent's device, without freeing anything. */
void drv_device_forget(struct drv_dev *dev);

#endif
