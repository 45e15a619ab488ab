/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_CORE_EVENTS_H_
#define BASE_CORE_EVENTS_H_

#include "base_types.h"

/* Runs the work that flow_is_due tells of. Returns how much was done, 0 when
 * nothing was due. polled: completions that came before it, in this
 * progress. */
unsigned base_core_events_run(base_iface_t *iface, unsigned polled);

/* The part of it that runs no callback in case of acks: timers, repeats,
 * control packets. */
void base_core_events_quiet(base_iface_t *iface);

/* A peer is known, by its hello or since we opened a flow to it: its requests
 * need our address handle for it, and packets may go to it. `rma`: it asked. */
void base_core_events_introduced(base_iface_t *iface, flow_peer_t *peer,
                                 int rma);

#endif
