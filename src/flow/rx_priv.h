/* SPDX-License-Identifier: BSD-3-Clause */
/* rx.c, for the core alone. */
#ifndef FLOW_RX_PRIV_H_
#define FLOW_RX_PRIV_H_

#include "flow/core_priv.h"
#include "flow/rx.h"
#include "flow/tx.h"

flow_rx_t *flow_rx_find(flow_core_t *core, const flow_peer_t *peer,
                        uint32_t ep);
/* flow_rx_room was asked. A stranger until flow_rx_introduce. */
flow_rx_t *flow_rx_create(flow_core_t *core, flow_peer_t *peer, uint32_t ep);
/* window: what its sender may have sent before our answer. */
void flow_rx_introduce(flow_core_t *core, flow_rx_t *rx, flow_src_t src,
                       unsigned window);
void flow_rx_close(flow_core_t *core, flow_rx_t *rx);
/* Its sender ended it: as flow_rx_close; UD: rests, and confirms. */
void flow_rx_end(flow_core_t *core, flow_rx_t *rx);
void flow_rx_fail(flow_core_t *core, flow_rx_t *rx);
void flow_rx_try_release(flow_core_t *core, flow_rx_t *rx);
void flow_rx_ctl_due(flow_core_t *core, flow_rx_t *rx, unsigned due);
/* CONTROL: a new flow (of a new peer) fits. NO_MEMORY: grow. DROP: never. */
flow_rx_verdict_t flow_rx_room(flow_core_t *core, int new_peer,
                               flow_rx_out_t *out);
flow_rx_verdict_t flow_rx_drop(flow_core_t *core, flow_drop_t reason,
                               flow_rx_out_t *out);

static inline flow_psn_t flow_rx_psn(const flow_rx_t *rx)
{
    return flow_wire_psn(rx->expect);
}

/*
 * What the record keeps in 7 or 8 bits is less than that below the number that
 * is named here with it.
 */
static inline flow_psn_t flow_rx_counted(const flow_rx_t *rx)
{
    return rx->limit - (uint8_t)(rx->limit - rx->counted);
}

static inline flow_psn_t flow_rx_advertised(const flow_rx_t *rx)
{
    return rx->limit - ((rx->limit - rx->advertised) & 0x7f);
}

/* The number from which on the sender should send nothing: its limit, unless it
 * was recalled. */
static inline flow_psn_t flow_rx_use(const flow_rx_t *rx)
{
    return (rx->flags & FLOW_RXF_RECALLED) ? flow_rx_advertised(rx) : rx->limit;
}

/* Of a flow with FLOW_RXF_FINAL; at most a window above what is consumed. */
static inline flow_psn_t flow_rx_final(const flow_rx_t *rx)
{
    return flow_rx_psn(rx) + (uint8_t)(rx->mark - flow_rx_psn(rx));
}

static inline uint32_t flow_rx_token(const flow_rx_t *rx)
{
    return flow_wire_token(rx->expect);
}

static inline uint32_t flow_rx_index(const flow_rx_t *rx)
{
    return flow_rx_token(rx) & (FLOW_INDEX_MAX - 1);
}

/* The limit was raised: the headers after this one take it along. */
static inline void flow_rx_mark_carrier(flow_rx_t *rx, const flow_tx_t *tx)
{
    if (!(rx->flags & FLOW_RXF_FINAL)) { /* then nobody needs the limit */
        rx->mark = (uint8_t)flow_tx_psn(tx);
    }
}

#endif
