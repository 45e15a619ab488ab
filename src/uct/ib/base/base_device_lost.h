/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_DEVICE_LOST_H_
#define BASE_DEVICE_LOST_H_

#include "base_types.h"

/* Ends an interface whose device failed (base_fail_iface), from progress:
 * stops the queue pair, so that no buffer of a user is touched any more, then
 * completes and reports everything with an error. Idempotent. Returns how much
 * that was. */
unsigned base_device_lost(base_iface_t *iface);

#endif
