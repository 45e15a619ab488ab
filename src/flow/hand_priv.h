/* SPDX-License-Identifier: BSD-3-Clause */
/* hand.c, for the core alone: which flows use their grants. */
#ifndef FLOW_HAND_PRIV_H_
#define FLOW_HAND_PRIV_H_

#include "flow/state_priv.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A tick of the timer, FLOW_TICK_LEVEL. 0: no more of them are needed for now,
 * as nothing moves and nobody lacks credits. */
int flow_hand_tick(flow_core_t *core);
/* Does the flow wait neither for credits nor for its last packets? Then
 * flow_grant_recall is allowed. */
int flow_hand_may_recall(const flow_rx_t *rx);

#ifdef __cplusplus
}
#endif

#endif
