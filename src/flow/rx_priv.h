/* SPDX-License-Identifier: BSD-3-Clause */
/* rx.c, for the core alone. */
#ifndef FLOW_RX_PRIV_H_
#define FLOW_RX_PRIV_H_

#include "flow/state_priv.h"
#include "flow/rx.h"
#include "flow/tx.h"

/* The number expected next: all before it were consumed. */
static inline flow_psn_t flow_rx_psn(const flow_rx_t *rx)
{
    return flow_wire_psn(rx->expect);
}

enum { FLOW_ADVERTISED_MASK = (1 << FLOW_ADVERTISED_BITS) - 1 };

/*
 * The record keeps 7 or 8 bits of some numbers: they are at most a window away
 * from one that is kept whole.
 */
static inline flow_psn_t flow_rx_counted(const flow_rx_t *rx)
{
    return rx->limit - (uint8_t)(rx->limit - rx->counted_low);
}

static inline flow_psn_t flow_rx_advertised(const flow_rx_t *rx)
{
    return rx->limit -
           ((rx->limit - rx->advertised_low) & FLOW_ADVERTISED_MASK);
}

static inline void flow_rx_advertised_set(flow_rx_t *rx, flow_psn_t psn)
{
    rx->advertised_low = psn & FLOW_ADVERTISED_MASK;
}

/* The sender's usable limit: less than its limit when credits were recalled. */
static inline flow_psn_t flow_rx_use(const flow_rx_t *rx)
{
    return (rx->flags & FLOW_RXF_RECALLED) ? flow_rx_advertised(rx) : rx->limit;
}

/* The number after the last packet of a flow with FLOW_RXF_FINAL. */
static inline flow_psn_t flow_rx_final(const flow_rx_t *rx)
{
    return flow_rx_psn(rx) + (uint8_t)(rx->final_low - flow_rx_psn(rx));
}

/* UD: is the next packet held, as flow_rx_accept_held does? Then another copy
 * of it may come before it is handed out. */
static inline int flow_rx_holds_next(const flow_core_t *core,
                                     const flow_rx_t *rx)
{
    return (rx->ring != 0) &&
           flow_ring_holds(flow_core_ring(core, rx->ring), flow_rx_psn(rx));
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
static inline void flow_rx_limit_raised(flow_rx_t *rx, const flow_tx_t *tx)
{
    if (!(rx->flags & FLOW_RXF_FINAL)) { /* then nobody needs the limit */
        rx->raised_low = (uint8_t)flow_tx_psn(tx);
    }
}

#endif
