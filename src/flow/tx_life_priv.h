/* SPDX-License-Identifier: BSD-3-Clause */
/* tx_life.c, for the core alone: the states of sending flows. */
#ifndef FLOW_TX_LIFE_PRIV_H_
#define FLOW_TX_LIFE_PRIV_H_

#include "flow/tx_priv.h"

/* The flow fails for this reason; a closed one ends. Repeating it is
 * harmless. */
void flow_tx_died(flow_core_t *core, flow_tx_t *tx, flow_end_t why);

#endif
