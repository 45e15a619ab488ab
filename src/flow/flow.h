/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The protocol core (docs/PROTOCOL.md): everything a transport includes.
 *
 *   core.h   parameters, memory, counters        tx.h     sending flows
 *   rx.h     received packets                    ctl.h    control packets, time
 *   event.h  what happened                       wire.h   layout of packets
 *   resend.h sending on UD
 *
 * Progress of a transport, in this order:
 *   flow_core_grow_needed -> grow
 *   poll receives  -> flow_rx_accept, deliver, flow_rx_next
 *   poll sends     -> flow_tx_done / flow_tx_rnr / flow_tx_fail / flow_ctl_done
 *                     (UD: flow_tx_sent, then flow_tx_release_next)
 *   flow_timer_next <= now -> flow_timer_run, flow_tx_repost_next
 *   flow_event_pending     -> flow_event_next
 *   flow_ctl_pending       -> flow_ctl_next
 */
#ifndef FLOW_H_
#define FLOW_H_

#include "flow/core.h"
#include "flow/tx.h"
#include "flow/rx.h"
#include "flow/ctl.h"
#include "flow/event.h"
#include "flow/resend.h"

#endif
