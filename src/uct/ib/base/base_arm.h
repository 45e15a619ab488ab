/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_ARM_H_
#define BASE_ARM_H_

#include "base_types.h"

/* iface_event_fd_get, iface_event_arm of UCT (base_arm.c). */
ucs_status_t base_arm_event_fd(uct_iface_h tl_iface, int *fd_p);
ucs_status_t base_arm_events(uct_iface_h tl_iface, unsigned events);

/* Makes the descriptor readable where progress has something to do and may be
 * waiting for it: base_progress_quiet was there before it. */
void base_arm_wake(base_iface_t *iface);

#endif
