/* SPDX-License-Identifier: BSD-3-Clause */
/* event.c, for the core alone. */
#ifndef FLOW_EVENT_PRIV_H_
#define FLOW_EVENT_PRIV_H_

#include "flow/core_priv.h"
#include "flow/event.h"

/* Events due, in the field events of a sending flow and of a peer. */
enum flow_event_due {
    FLOW_DUE_TX_OPEN      = 1u << FLOW_EVENT_TX_OPEN,
    FLOW_DUE_TX_READY     = 1u << FLOW_EVENT_TX_READY,
    FLOW_DUE_TX_RMA       = 1u << FLOW_EVENT_TX_RMA,
    FLOW_DUE_TX_FAILED    = 1u << FLOW_EVENT_TX_FAILED,
    FLOW_DUE_TX_GONE      = 1u << FLOW_EVENT_TX_GONE,
    FLOW_DUE_PEER_INTRO   = 1u << 0,
    FLOW_DUE_PEER_RMA     = 1u << 1,
    FLOW_DUE_PEER_GONE    = 1u << 2,
    FLOW_DUE_PEER_QUEUED  = 1u << 3,
    FLOW_DUE_QUEUED       = 1u << 5
};


/* FLOW_EVENT_RX_SCARCE is due. */
void flow_event_scarce(flow_core_t *core);

#endif
