/* SPDX-License-Identifier: BSD-3-Clause */
/* rx.c, for the core alone. */
#ifndef FLOW_RX_PRIV_H_
#define FLOW_RX_PRIV_H_

#include "flow/core_priv.h"
#include "flow/rx.h"
#include "flow/tx.h"

/* The flow from this peer with this endpoint number, or NULL. */
flow_rx_t *flow_rx_find(flow_core_t *core, const flow_peer_t *peer,
                        uint32_t ep);
/* After flow_rx_room said CONTROL. It is a stranger until flow_rx_introduce. */
flow_rx_t *flow_rx_create(flow_core_t *core, flow_peer_t *peer, uint32_t ep);
/* Its hello came. window: what the sender may send before our answer. */
void flow_rx_introduce(flow_core_t *core, flow_rx_t *rx, flow_src_t src,
                       unsigned window);
/* It ends; what it held comes back as events. */
void flow_rx_close(flow_core_t *core, flow_rx_t *rx);
/* Its sender ended it: flow_rx_close; on UD it first stays a while, to confirm
 * goodbyes that are repeated. */
void flow_rx_end(flow_core_t *core, flow_rx_t *rx);
/* UD: nothing more comes. What is in order and waits for the caller was
 * acknowledged: nonzero if there is some, and the flow ends after it. */
int flow_rx_end_later(flow_core_t *core, flow_rx_t *rx);
/* Messages of it are lost: it ends, and a reset tells the sender. */
void flow_rx_fail(flow_core_t *core, flow_rx_t *rx);
/* Free a closed flow that is on no queue. */
void flow_rx_try_release(flow_core_t *core, flow_rx_t *rx);
void flow_rx_ctl_due(flow_core_t *core, flow_rx_t *rx, unsigned due);
/* Is there room for a new flow (of a new peer)? CONTROL: yes. NO_MEMORY: after
 * growing. DROP: never. */
flow_rx_verdict_t flow_rx_room(flow_core_t *core, int new_peer,
                               flow_rx_out_t *out);
/* Count the packet as dropped. */
flow_rx_verdict_t flow_rx_drop(flow_core_t *core, flow_drop_t reason,
                               flow_rx_out_t *out);

/* The number expected next: all before it were consumed. */
static inline flow_psn_t flow_rx_psn(const flow_rx_t *rx)
{
    return flow_wire_psn(rx->expect);
}

/*
 * Of some numbers the record keeps 7 or 8 bits: they are at most a window away
 * from one that is kept whole.
 */
static inline flow_psn_t flow_rx_counted(const flow_rx_t *rx)
{
    return rx->limit - (uint8_t)(rx->limit - rx->counted);
}

static inline flow_psn_t flow_rx_advertised(const flow_rx_t *rx)
{
    return rx->limit - ((rx->limit - rx->advertised) & 0x7f);
}

/* What the sender may use: its limit, or less when credits were recalled. */
static inline flow_psn_t flow_rx_use(const flow_rx_t *rx)
{
    return (rx->flags & FLOW_RXF_RECALLED) ? flow_rx_advertised(rx) : rx->limit;
}

/* Of a flow with FLOW_RXF_FINAL: the number after its last packet. */
static inline flow_psn_t flow_rx_final(const flow_rx_t *rx)
{
    return flow_rx_psn(rx) + (uint8_t)(rx->mark - flow_rx_psn(rx));
}

/* UD: is the next packet held, as flow_rx_accept_held does? Then another copy
 * of it may come before it is handed out. */
static inline int flow_rx_holds_next(const flow_core_t *core,
                                     const flow_rx_t *rx)
{
    return (rx->ring != 0) && (flow_core_ring(core, rx->ring)->mask &
                               flow_psn_bit(flow_rx_psn(rx)));
}

static inline uint32_t flow_rx_token(const flow_rx_t *rx)
{
    return flow_wire_token(rx->expect);
}

static inline uint32_t flow_rx_index(const flow_rx_t *rx)
{
    return flow_rx_token(rx) & (FLOW_INDEX_MAX - 1);
}

/* The limit was raised: headers of tx from this number on carry it. */
static inline void flow_rx_mark_carrier(flow_rx_t *rx, const flow_tx_t *tx)
{
    if (!(rx->flags & FLOW_RXF_FINAL)) { /* then nobody needs the limit */
        rx->mark = (uint8_t)flow_tx_psn(tx);
    }
}

#endif
