/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFASIM_DRIVER_BACKSTOP_H
#define EFASIM_DRIVER_BACKSTOP_H

#include "state.h"

/* Once in a process: start the thread. Nonzero: this was that time. */
int drv_backstop_start(void);

/* The thread does this again and again: look at all devices, then sleep, in the
 * kernel when they were idle for so long. Returns how long they are now. */
unsigned drv_backstop_round(unsigned idle_us);

/* The thread's number; 0: it has none yet. */
extern _Atomic int drv_backstop_thread;

/* Somebody else has done rounds: the thread says anew how it sleeps. */
void drv_backstop_wake(void);

/* The thread may sleep: this device has something for it. */
void drv_backstop_kick(struct drv_dev *dev);

#endif
