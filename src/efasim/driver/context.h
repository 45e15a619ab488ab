/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFASIM_DRIVER_CONTEXT_H
#define EFASIM_DRIVER_CONTEXT_H

#include "state.h"

/* Open a device of the host; a descriptor, or -1 with errno. */
int drv_ctx_open(unsigned device, int flags);

/* Is fd one of our contexts? Needs no lock. */
struct drv_ctx *drv_ctx_find(int fd);

/* The program closes fd, which may be a context or a channel's end. */
void drv_ctx_close(int fd);

#endif
