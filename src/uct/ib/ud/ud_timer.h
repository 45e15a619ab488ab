/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UD_TIMER_H_
#define UD_TIMER_H_

#include "ud.h"

/*
 * While the user computes, peers must have their acknowledgements and lost
 * packets must be sent again. A timer sees to it, a descriptor that UCX's
 * asynchronous thread waits for, unless the user's thread is at work on the
 * interface just then. It delivers nothing and runs no callback. As long as the
 * interface has no peer it runs seldom, only to hear the first one.
 */

/* Runs it each `interval` seconds. Where there is none to be had a line says
 * so, and progress alone does its work. */
void ud_timer_start(ud_iface_t *iface, double interval);

/* On return it is not running and never will be. */
void ud_timer_stop(ud_iface_t *iface);

/* There are peers, or none (`fast` 0). */
void ud_timer_pace(ud_iface_t *iface, int fast);

#endif
