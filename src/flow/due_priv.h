/* SPDX-License-Identifier: BSD-3-Clause */
/* due.c, for the core alone: events and control packets that are due. None of
 * these fails. Work that is due already is due once. */
#ifndef FLOW_DUE_PRIV_H_
#define FLOW_DUE_PRIV_H_

#include "flow/event.h"
#include "flow/fifo_priv.h"
#include "flow/rx.h"
#include "flow/state_priv.h"

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

/* Events of a sending flow or a peer (bits of enum flow_event_due). */
void flow_due_tx_event(flow_core_t *core, flow_tx_t *tx, unsigned due);

static inline void
flow_due_peer_event(flow_core_t *core, flow_peer_t *peer, unsigned due)
{
    if (!(peer->events & FLOW_DUE_PEER_QUEUED)) {
        peer->events |= FLOW_DUE_PEER_QUEUED;
        flow_fifo_peer_event_push(core, &core->event_peer, peer->index);
        ++core->event_pending;
    }
    peer->events |= due;
}

/* FLOW_EVENT_RX_SCARCE. */
void flow_due_scarce(flow_core_t *core);
/* Control packets of a flow (bits of enum flow_ctl_due): it is queued for its
 * turn (turn.c). */
void flow_due_tx_ctl(flow_core_t *core, flow_tx_t *tx, unsigned due);
void flow_due_rx_ctl(flow_core_t *core, flow_rx_t *rx, unsigned due);

#endif
