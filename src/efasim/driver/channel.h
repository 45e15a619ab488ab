/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFASIM_DRIVER_CHANNEL_H
#define EFASIM_DRIVER_CHANNEL_H

#include "attr.h"

int drv_channel_create(struct drv_cmd *cmd); /* 0 or a negative errno */

/* The channel whose other end is the program's descriptor `fd`, or NULL. */
struct drv_channel *drv_channel_find(int fd);

/* A completion arrived in an armed CQ: tell its channel, if it has one. */
void drv_channel_event(struct sim_cq *cq);

/*
 * The CQ is being destroyed: events of it that were not read are taken back,
 * as the kernel does. Returns the number that was read; libibverbs waits until
 * that many have been acknowledged.
 */
uint32_t drv_channel_flush(struct drv_cq *cq);

/* The program closes `fd`; not an end of a channel: nothing happens. */
void drv_channel_close(int fd);

#endif
