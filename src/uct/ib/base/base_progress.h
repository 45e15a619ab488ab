/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_PROGRESS_H_
#define BASE_PROGRESS_H_

#include "base_types.h"

/* iface_progress of UCT. */
unsigned base_iface_progress(uct_iface_h tl_iface);

/* Polls for a batch of completed work requests. Returns how many there were. */
unsigned base_iface_poll_tx(base_iface_t *iface);

#endif
