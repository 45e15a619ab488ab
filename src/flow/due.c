/* SPDX-License-Identifier: BSD-3-Clause */
/* Due work: events for the caller, control packets for their turn. An object is
 * queued once, however much of it is due. */
#include "flow/ctl_priv.h"
#include "flow/due_priv.h"
#include "flow/fifo_priv.h"
#include "flow/turn_priv.h"
#include "flow/tx_priv.h"

void flow_due_tx_event(flow_core_t *core, flow_tx_t *tx, unsigned due)
{
    if (!(tx->events & FLOW_DUE_QUEUED)) {
        tx->events |= FLOW_DUE_QUEUED;
        flow_fifo_tx_event_push(core, &core->event_tx, flow_tx_index(tx));
        ++core->event_pending;
    }
    tx->events |= due;
}

void flow_due_scarce(flow_core_t *core)
{
    core->event_pending += !core->event_scarce;
    core->event_scarce   = 1;
}

void flow_due_tx_ctl(flow_core_t *core, flow_tx_t *tx, unsigned due)
{
    tx->ctl |= due;
    if (!(tx->ctl & FLOW_CTL_QUEUED)) {
        tx->ctl |= FLOW_CTL_QUEUED;
        flow_turn_add_tx(core, tx);
    }
}

void flow_due_rx_ctl(flow_core_t *core, flow_rx_t *rx, unsigned due)
{
    rx->ctl |= due;
    if (!(rx->ctl & FLOW_CTL_QUEUED)) {
        rx->ctl |= FLOW_CTL_QUEUED;
        flow_turn_add_rx(core, rx);
    }
}
