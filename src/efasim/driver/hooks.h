/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFASIM_DRIVER_HOOKS_H
#define EFASIM_DRIVER_HOOKS_H

#include "state.h"

/*
 * With the lock held: stand before the functions of libefa that the program
 * calls for this CQ or QP. Called again when more of them are known.
 */
void drv_hook_cq(struct drv_cq *cq);
void drv_hook_qp(struct drv_qp *qp);

/* Let a device work, if nobody else is at it; NULL: all of them. Returns the
 * number of things done. */
unsigned drv_hook_progress(struct drv_dev *dev);

/* The same for a program that writes the queues itself: it waits for its turn,
 * so that the device has looked at every doorbell when it returns. */
unsigned drv_hook_called(void);

/* Whether all open devices work by themselves (knob "eager"). */
int drv_hook_is_eager(void);

#endif
