/* SPDX-License-Identifier: BSD-3-Clause */
/* rx_stranger.c, for the core alone: the bounds of strangers. */
#ifndef FLOW_RX_STRANGER_PRIV_H_
#define FLOW_RX_STRANGER_PRIV_H_

#include "flow/state_priv.h"

/* A new flow is a stranger; beyond the bound of strangers the oldest
 * expires. */
void flow_rx_stranger_add(flow_core_t *core, flow_rx_t *rx);
/* If strangers hold too many bytes, others than this one expire. */
void flow_rx_stranger_bound(flow_core_t *core, const flow_rx_t *rx);

#endif
