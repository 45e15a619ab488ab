/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_END_H_
#define BASE_END_H_

#include "base_types.h"

/* Ends an interface whose device failed (base_iface_break), from progress:
 * stops the queue pair, so that no buffer of a user is touched any more, then
 * completes and reports everything with an error. Idempotent. Returns how much
 * that was. */
unsigned base_iface_end(base_iface_t *iface);

#endif
