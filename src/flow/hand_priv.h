/* SPDX-License-Identifier: BSD-3-Clause */
/* hand.c, for the core alone: which flows use their grants. */
#ifndef FLOW_HAND_PRIV_H_
#define FLOW_HAND_PRIV_H_

#include "flow/state_priv.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A tick of the timer: visits flows if their time has come, and serves those
 * without credits. 1: to be called again a tick later. 0: not until
 * flow_timer_tick, as there is enough for all, or nothing moves. */
int flow_hand_tick(flow_core_t *core);
/* Does the flow wait neither for credits nor for its last packets? Then
 * flow_grant_recall is allowed. */
int flow_hand_may_recall(const flow_rx_t *rx);

#ifdef __cplusplus
}
#endif

#endif
