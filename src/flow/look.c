/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow/look.h"
#include "flow/psn.h"
#include "flow/rx_priv.h"
#include "flow/tx_priv.h"

/* The oldest number that is out: una may be behind it. */
static flow_psn_t flow_look_oldest(const flow_tx_t *tx, flow_psn_t psn)
{
    flow_psn_t first = psn - FLOW_MAP_BITS;
    uint64_t   map   = flow_psn_rotate_down(tx->busy, first % FLOW_MAP_BITS);

    return (map == 0) ? psn : (flow_psn_t)(first + __builtin_ctzll(map));
}

static flow_look_wait_t flow_look_wait_of(const flow_tx_t *tx, flow_psn_t psn)
{
    if (tx->state == FLOW_TX_FAILED) {
        return FLOW_LOOK_FAILED;
    }
    if (!(tx->wait & FLOW_WAIT_STOP)) {
        return FLOW_LOOK_FREE;
    }
    if (tx->wait & (FLOW_WAIT_RNR | FLOW_WAIT_HELLO)) {
        return FLOW_LOOK_RNR;
    }
    if (tx->limit != psn) {
        return FLOW_LOOK_SENT;
    }
    return (tx->state == FLOW_TX_HELLO) ? FLOW_LOOK_HELLO : FLOW_LOOK_LIMIT;
}

/* The highest packet in the ring, counted from the next. */
static uint8_t flow_look_depth(const flow_core_t *core, uint32_t ring,
                               flow_psn_t next)
{
    uint64_t map;

    if ((ring == 0) || (ring >= core->ring_count)) {
        return 0;
    }
    map = flow_psn_rotate_down(flow_core_ring(core, ring)->mask,
                               next % FLOW_MAP_BITS);
    return (map == 0) ? 0 : (uint8_t)(FLOW_MAP_BITS - __builtin_clzll(map));
}

void flow_look(const flow_core_t *core, const flow_tx_t *tx, flow_look_t *look)
{
    flow_psn_t       psn   = flow_tx_psn(tx);
    uint32_t         index = tx->carries;
    unsigned         flags = tx->flags;
    const flow_rx_t *rx;

    look->psn    = psn;
    look->oldest = flow_look_oldest(tx, psn);
    look->wait   = flow_look_wait_of(tx, psn);
    look->lost   = flow_is_ud(core) ?
                           flow_core_path(core, flow_tx_index(tx))->bad :
                           0;
    look->rx_psn = 0;
    look->depth  = 0;
    if ((flags & FLOW_TXF_PAIRED) && !(flags & FLOW_TXF_AWAITS) &&
        (index != 0) && (index < core->rx_count)) {
        rx           = flow_core_rx(core, index);
        look->rx_psn = flow_rx_psn(rx);
        look->depth  = flow_look_depth(core, rx->ring, look->rx_psn);
    }
}
