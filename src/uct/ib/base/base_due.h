/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_DUE_H_
#define BASE_DUE_H_

#include "base_types.h"

/* Runs what flow_is_due tells of. Returns how much was done, 0 when nothing was
 * due. */
unsigned base_due_run(base_iface_t *iface);

/* The part of it that runs no callback in case of acks: timers, what is to be
 * sent again, control packets. */
void base_due_quiet(base_iface_t *iface);

#endif
