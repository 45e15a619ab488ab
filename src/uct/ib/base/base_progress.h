/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_PROGRESS_H_
#define BASE_PROGRESS_H_

#include "base_types.h"

/* Calls and completions without a look at the clock while nothing but the
 * hand's tick may be due. */
#define BASE_LAX_CALLS 16

/* iface_progress of UCT, where the queue pair is not direct. */
unsigned base_progress_run(uct_iface_h tl_iface);

/* The same for any. */
unsigned base_progress_any(uct_iface_h tl_iface);

/* The same where it is direct and no packet is traced. */
unsigned base_progress_direct(uct_iface_h tl_iface);

/* And its device works when it is called: each call does. */
unsigned base_progress_emulated(uct_iface_h tl_iface);

/*
 * The part of progress that has to go on while the user makes none, where
 * messages are acknowledged: takes packets, acknowledges, sends again. Runs no
 * callback; messages are delivered by the next progress. For another thread,
 * under the lock that everything else of the interface is called under.
 */
void base_progress_quiet(base_iface_t *iface);

/* Polls for a batch of completed work requests. Returns how many there were. */
unsigned base_progress_poll_tx(base_iface_t *iface);

#endif
