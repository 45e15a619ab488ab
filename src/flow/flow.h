/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The protocol core (docs/PROTOCOL.md): everything a transport includes.
 *
 * A header has the name of the file that defines its functions. NAME.h is for
 * transports, NAME_priv.h for the core alone (and for tests that look inside):
 * a function flow_NAME_... is in one of the two and in NAME.c.
 *
 *   core.h   parameters, counters                ctl.h    control packets
 *   pool.h   memory                              timer.h  time
 *   tx.h     sending flows                       event.h  what happened
 *   resend.h sending on UD                       check.h  invariants
 *   rx.h     received packets                    trace.h  what was done
 *   peer.h   peers
 * beside them, without a file of their own: types.h, limits.h, wire.h (layout
 * of packets), psn.h, assert.h; and, each to be included by itself, ctl_wire.h
 * (layout of control packets), drop.h (names of reasons), reserve.h (send slots
 * for peers that answer), image.h (the state as bytes), look.h (what a flow
 * waits for, for another thread's eyes).
 *
 * Words that are its own; docs/PROTOCOL.md has those of the wire:
 *   credits     numbers below the limit that were not consumed
 *   active      a flow whose credits count in full (owed); others are calm
 *   lent        credits of calm flows, of which there are more than buffers
 *   starved     a receiving flow without credits, in the line for some
 *   hand        visits receiving flows in turn, to find silent ones (hand.c)
 *   look_low    the number consumed at which more is granted
 *   line, lap   SRD: old limits arrive before the next line is crossed (lap.c)
 *   introduced  its hello was seen
 *   parked      with its peer: a flow whose control packets wait (turn.c)
 *   rival       another incarnation at the same GID and QPN: one is dead
 *   tombstone   a peer that is dead, remembered so that it stays so
 *   drain       UD: all senders to a receiver pause, and measure the way
 *
 * Progress of a transport, in this order:
 *   flow_pool_grow_needed -> grow
 *   poll receives  -> flow_rx_accept, deliver, flow_rx_next
 *   poll sends     -> flow_tx_done / flow_tx_rnr / flow_tx_fail / flow_ctl_done
 *                     (UD: flow_resend_sent, then flow_resend_release_next)
 *   flow_is_due: one of these
 *   flow_timer_next <= now -> flow_timer_run, flow_tx_repost_next
 *   flow_event_pending     -> flow_event_next
 *   flow_ctl_pending       -> flow_ctl_next
 */
#ifndef FLOW_H_
#define FLOW_H_

#include "flow/check.h"
#include "flow/core.h"
#include "flow/ctl.h"
#include "flow/event.h"
#include "flow/peer.h"
#include "flow/pool.h"
#include "flow/resend.h"
#include "flow/rx.h"
#include "flow/timer.h"
#include "flow/trace.h"
#include "flow/tx.h"

/* Whether there are control packets to send, events to take or timers that run:
 * asked in every progress, hence by so few instructions. */
static inline int flow_is_due(const flow_core_t *core)
{
    return ((core->ctl_pending | core->event_pending) != 0) ||
           (core->timer_next != FLOW_TIME_NEVER);
}

/* Nothing of that is due but the hand's tick, and no sender waits for credits:
 * it may run somewhat later. */
static inline int flow_is_lax(const flow_core_t *core)
{
    return ((core->ctl_pending | core->event_pending) == 0) &&
           core->only_ticks && (core->starved.head == 0);
}

#endif
