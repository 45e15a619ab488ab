/* SPDX-License-Identifier: BSD-3-Clause */
/* rx_life.c, for the core alone: the states of receiving flows. */
#ifndef FLOW_RX_LIFE_PRIV_H_
#define FLOW_RX_LIFE_PRIV_H_

#include "flow/rx_priv.h"

/* Its hello came. window: the window of the sender before our answer. */
void flow_rx_introduce(flow_core_t *core, flow_rx_t *rx, flow_src_t src,
                       unsigned window);
/* It ends; packets that it held come back as events. */
void flow_rx_close(flow_core_t *core, flow_rx_t *rx);
/* Its sender ended it: flow_rx_close; on UD it first stays a while, to confirm
 * goodbyes that are repeated. */
void flow_rx_end(flow_core_t *core, flow_rx_t *rx);
/* UD: nothing more comes. Packets in order that wait for the caller were
 * acknowledged: nonzero if there are some, and the flow ends after them. */
int flow_rx_end_later(flow_core_t *core, flow_rx_t *rx);
/* Messages of it are lost: it ends, and a reset tells the sender. */
void flow_rx_fail(flow_core_t *core, flow_rx_t *rx);

#endif
