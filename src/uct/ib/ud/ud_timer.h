/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UD_TIMER_H_
#define UD_TIMER_H_

#include "ud.h"

/*
 * While the user computes, peers must have their acknowledgements and what was
 * lost must be sent again. A timer in UCX's asynchronous thread sees to it,
 * unless the user's thread is at work on the interface just then. It delivers
 * nothing and runs no callback.
 */

/* Runs it each `interval` seconds. Where UCX has no timer to give, a line says
 * so, and progress alone does it. */
void ud_timer_start(ud_iface_t *iface, double interval);

/* On return it is not running and never will be. */
void ud_timer_stop(ud_iface_t *iface);

#endif
