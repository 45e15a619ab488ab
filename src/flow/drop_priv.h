/* SPDX-License-Identifier: BSD-3-Clause */
/* drop.c, for the core alone. */
#ifndef FLOW_DROP_PRIV_H_
#define FLOW_DROP_PRIV_H_

#include "flow/state_priv.h"
#include "flow/drop.h"
#include "flow/rx.h"

/* Counts a packet as dropped for this reason, which goes to out->reason, and
 * returns FLOW_RX_DROP. */
flow_rx_verdict_t flow_drop_packet(flow_core_t *core, flow_drop_t reason,
                                   flow_rx_out_t *out);

#endif
