/* SPDX-License-Identifier: BSD-3-Clause */
/* ctl_rx.c, for the core alone. */
#ifndef FLOW_CTL_RX_PRIV_H_
#define FLOW_CTL_RX_PRIV_H_

#include "flow/state_priv.h"
#include "flow/rx.h"

/* A control packet that is no goodbye. */
flow_rx_verdict_t flow_ctl_rx_accept(flow_core_t *core, const uint8_t *pkt,
                                        size_t len, flow_src_t src,
                                        flow_rx_out_t *out);

#endif
