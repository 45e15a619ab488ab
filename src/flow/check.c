/* SPDX-License-Identifier: BSD-3-Clause */
/* Every invariant of a core, for tests and post-mortems. */
#include "flow/check.h"
#include "flow/ctl_priv.h"
#include "flow/peer_priv.h"
#include "flow/rx_priv.h"
#include "flow/tx_priv.h"

#define FLOW_CHECK(_expr) \
    do { \
        if (!(_expr)) { \
            return #_expr; \
        } \
    } while (0)

static const char *flow_check_tx(const flow_core_t *core, const flow_tx_t *tx)
{
    flow_psn_t psn = flow_tx_psn(tx);
    int out        = flow_psn_diff(psn, tx->una);
    int i;

    FLOW_CHECK((out >= 0) && (out <= FLOW_WINDOW_MAX));
    for (i = out; i < FLOW_MAP_BITS; ++i) {
        FLOW_CHECK(!(tx->busy &
                     (1ull << ((flow_psn_t)(tx->una + i) % FLOW_MAP_BITS))));
    }
    FLOW_CHECK(flow_psn_diff(tx->limit, psn) >= 0);
    FLOW_CHECK(flow_psn_diff(tx->limit, psn) <= FLOW_WINDOW_MAX);
    FLOW_CHECK((tx->paused == 0) || (tx->stop == psn) ||
               ((tx->paused == FLOW_PAUSE_PENDING) &&
                (flow_psn_diff(tx->stop, psn) == 1)));
    FLOW_CHECK(flow_psn_diff(tx->stop, psn) >= 0);
    FLOW_CHECK(flow_psn_diff(tx->limit, tx->stop) >= 0);
    FLOW_CHECK((tx->state != FLOW_TX_OPEN) || !flow_wire_is_long(tx->hdr));
    FLOW_CHECK(!flow_is_ud(core) || (tx->ring != 0) ||
               ((tx->busy == 0) && (tx->stop == psn)));
    FLOW_CHECK((tx->ring == 0) ||
               (flow_core_ring(core, tx->ring)->unacked.tx ==
                flow_tx_index(tx)));
    FLOW_CHECK((tx->ring == 0) ||
               !(flow_core_ring(core, tx->ring)->mask & ~tx->busy));
    FLOW_CHECK(!(tx->wait & FLOW_WAIT_LAP) || (tx->busy != 0));
    FLOW_CHECK(!(tx->wait & FLOW_WAIT_HELLO) || !flow_tx_is_live(tx) ||
               ((tx->stop == psn) && flow_wire_is_long(tx->hdr) &&
                ((tx->ctl & FLOW_CTL_TX_HELLO) || (tx->ctl_out != 0))));
    FLOW_CHECK(flow_peer_in_use(flow_core_peer(core, tx->peer)));
    FLOW_CHECK((tx->ctl & FLOW_CTL_QUEUED) || (tx->ctl == 0));
    if ((tx->flags & FLOW_TXF_PAIRED) && (tx->carries != 0)) {
        FLOW_CHECK(flow_core_rx(core, tx->carries)->pair ==
                   flow_tx_index(tx));
    }
    if (tx->flags & FLOW_TXF_CARRIES) {
        FLOW_CHECK(tx->hdr & FLOW_WIRE_LIMIT);
        FLOW_CHECK(!(tx->hdr & FLOW_WIRE_LONG) == !flow_is_ud(core));
        FLOW_CHECK(flow_rx_use(flow_core_rx(core, tx->carries)) ==
                   flow_wire_limit(tx->hdr));
    } else {
        FLOW_CHECK(!(tx->hdr & FLOW_WIRE_LIMIT));
    }
    return NULL;
}

static const char *flow_check_rx(const flow_core_t *core, const flow_rx_t *rx)
{
    flow_psn_t psn = flow_rx_psn(rx);
    const flow_ring_t *ring;

    FLOW_CHECK(rx->state != FLOW_RX_CLOSED || rx->ctl != 0 || rx->lists != 0);
    FLOW_CHECK((rx->ctl & FLOW_CTL_QUEUED) || (rx->ctl == 0));
    if (rx->state > FLOW_RX_ACTIVE) {
        FLOW_CHECK(rx->ring == 0);
        FLOW_CHECK(rx->expect & FLOW_RX_SHUT);
        return NULL;
    }

    FLOW_CHECK(flow_psn_diff(rx->limit, psn) >= 0);
    FLOW_CHECK(flow_psn_diff(rx->limit, psn) <= FLOW_WINDOW_MAX);
    FLOW_CHECK(!(rx->flags & FLOW_RXF_ACTIVE) ||
               (flow_psn_diff(psn, flow_rx_counted(rx)) >= 0));
    FLOW_CHECK(!(rx->flags & FLOW_RXF_ACTIVE) ||
               (rx->flags & FLOW_RXF_GRANTED));
    if (rx->state == FLOW_RX_ACTIVE) {
        FLOW_CHECK(rx->flags & FLOW_RXF_GRANTED);
        FLOW_CHECK((uint8_t)(rx->look_low - psn - 1) < FLOW_WINDOW_MAX);
        FLOW_CHECK(flow_psn_diff(flow_rx_use(rx), psn) >= 0);
        FLOW_CHECK((flow_rx_use(rx) != psn) ||
                   (rx->lists & FLOW_LIST_STARVED));
        FLOW_CHECK((rx->limit != psn) || (rx->expect & FLOW_RX_SHUT));
    }
    if (rx->ring != 0) {
        ring = flow_core_ring(core, rx->ring);
        FLOW_CHECK(ring->mask != 0);
    }
    return NULL;
}

/* Sums over all flows. */
typedef struct flow_check_sum {
    int64_t  owed;
    uint32_t granted, active;
    uint64_t tx_flows, rx_flows;
} flow_check_sum_t;

static const char *flow_check_flows(const flow_core_t *core,
                                    flow_check_sum_t *sum)
{
    const char *error;
    uint32_t index;
    const flow_tx_t *tx;
    const flow_rx_t *rx;

    for (index = 1; index < core->tx_count; ++index) {
        tx = flow_core_tx(core, index);
        if ((tx->state != FLOW_TX_FREE) && (tx->state != FLOW_TX_GONE)) {
            ++sum->tx_flows;
            error = flow_check_tx(core, tx);
            if (error != NULL) {
                return error;
            }
        }
    }
    for (index = 1; index < core->rx_count; ++index) {
        rx = flow_core_rx(core, index);
        if ((rx->state == FLOW_RX_FREE) || (rx->state == FLOW_RX_GONE)) {
            FLOW_CHECK(rx->expect & FLOW_RX_SHUT);
            continue;
        }
        ++sum->rx_flows;
        error = flow_check_rx(core, rx);
        if (error != NULL) {
            return error;
        }
        sum->granted += (rx->flags & FLOW_RXF_GRANTED) != 0;
        if (rx->flags & FLOW_RXF_ACTIVE) {
            ++sum->active;
            sum->owed += flow_psn_diff(flow_rx_use(rx), flow_rx_counted(rx));
        }
    }
    return NULL;
}

/* The flows of a peer are its own; those that went are counted. */
static const char *flow_check_lists(const flow_core_t *core,
                                    const flow_peer_t *peer, uint32_t *gone)
{
    const flow_tx_t *tx;
    const flow_rx_t *rx;
    uint32_t index, left;

    for (index = peer->entombed ? 0 : peer->tx_list; index != 0;
         index = tx->peer_next) {
        tx     = flow_core_tx(core, index);
        *gone += tx->state == FLOW_TX_GONE;
        FLOW_CHECK((tx->state == FLOW_TX_GONE) ?
                           (index != peer->tx_list) :
                           (tx->peer == peer->index));
    }
    for (index = peer->rx_list; index != 0; index = rx->peer_next) {
        rx     = flow_core_rx(core, index);
        left   = (rx->state == FLOW_RX_GONE) ||
                 ((rx->state >= FLOW_RX_PARTED) &&
                  (rx->flags & FLOW_RXF_UNLISTED));
        *gone += left;
        FLOW_CHECK(left ? (index != peer->rx_list) :
                          (rx->peer == peer->index));
    }
    FLOW_CHECK((peer->state != FLOW_PEER_FREE) || !flow_peer_in_use(peer));
    return NULL;
}

static const char *flow_check_peers(const flow_core_t *core)
{
    uint32_t index, gone = 0, out = 0;
    const flow_peer_t *peer;
    const char *error;

    for (index = 1; index < core->peer_count; ++index) {
        peer  = flow_core_peer(core, index);
        out  += peer->ctl_out;
        FLOW_CHECK(!peer->lapped || (peer->ctl_out != 0));
        error = flow_check_lists(core, peer, &gone);
        if (error != NULL) {
            return error;
        }
        /* who waits is waked */
        FLOW_CHECK((peer->parked == 0) || (peer->ctl_out != 0) ||
                   !flow_peer_reachable(peer) || (core->ctl_tx.count != 0) ||
                   (core->ctl_rx.count != 0));
    }
    FLOW_CHECK(gone == core->gone);
    FLOW_CHECK(out == core->ctl_out);
    FLOW_CHECK(core->ctl_asking <= core->ctl_out);
    FLOW_CHECK(core->ctl_pending ==
               (core->ctl_open_rx ? core->ctl_rx.count : 0) +
                       (core->ctl_open_tx ? core->ctl_tx.count : 0));
    FLOW_CHECK(core->ctl_open_tx ==
               ((core->ctl_asking < core->params.ctl_slots / 2) &&
                (core->ctl_out < core->params.ctl_slots)));
    return NULL;
}

const char *flow_check(flow_core_t *core)
{
    flow_check_sum_t sum = {0};
    const char *error;

    error = flow_check_flows(core, &sum);
    if (error == NULL) {
        error = flow_check_peers(core);
    }
    if (error != NULL) {
        return error;
    }
    FLOW_CHECK(sum.owed == core->owed);
    FLOW_CHECK(sum.granted == core->granted);
    FLOW_CHECK(sum.active == core->active);
    FLOW_CHECK(sum.tx_flows == core->counters.tx_flows);
    FLOW_CHECK(sum.rx_flows == core->counters.rx_flows);
    FLOW_CHECK((core->starved.head == 0) ||
               (core->tick_due != FLOW_TIME_NEVER));
    FLOW_CHECK(core->event_pending == core->event_scarce +
                                              core->event_tx.count +
                                              core->event_peer.count +
                                              core->event_ring.count);
    return NULL;
}
