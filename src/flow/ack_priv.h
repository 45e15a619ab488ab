/* SPDX-License-Identifier: BSD-3-Clause */
/* ack.c, for the core alone: UD. */
#ifndef FLOW_ACK_PRIV_H_
#define FLOW_ACK_PRIV_H_

#include "flow/state_priv.h"

/* The packets that a receiving flow has, in the form of flow_resend_ack. */
flow_psn_t flow_ack_get(const flow_core_t *core, const flow_rx_t *rx,
                        uint64_t *map);

#endif
