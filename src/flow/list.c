/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The flows of a peer, newest first.
 *
 * A link back would make leaving cheap, and each record longer by 8 B; at two
 * records a peer that is memory for something only peers with many endpoints
 * need. Therefore a flow that leaves from anywhere but the head stays linked,
 * marked as gone, and lists are looked through when a part of all flows are
 * such: the cost for each is a constant. Nothing finds a flow that is gone. A
 * receiving flow that leaves its list and lives on (UNLISTED) is linked
 * likewise until then; its own index in peer_next says that it is linked no
 * more.
 */
#include "flow/assert.h"
#include "flow/list_priv.h"
#include "flow/pool_priv.h"
#include "flow/rx_priv.h"
#include "flow/tx_priv.h"

static int flow_list_left_tx(const flow_tx_t *tx)
{
    return tx->state == FLOW_TX_GONE;
}

static int flow_list_left_rx(const flow_rx_t *rx)
{
    return (rx->state == FLOW_RX_GONE) || ((rx->state >= FLOW_RX_PARTED) &&
                                           (rx->flags & FLOW_RXF_UNLISTED));
}

/* A flow that left is linked no more. */
static void flow_list_unlink_tx(flow_core_t *core, flow_tx_t *tx)
{
    flow_pool_tx_release(core, flow_tx_index(tx));
}

static void flow_list_unlink_rx(flow_core_t *core, flow_rx_t *rx)
{
    uint32_t index = flow_rx_index(rx);

    if (rx->state == FLOW_RX_GONE) {
        flow_pool_rx_release(core, index);
    } else {
        rx->peer_next = index & (FLOW_INDEX_MAX - 1);
    }
}

#define FLOW_LIST_DEFINE(_name, _type, _list, _gone) \
    void flow_list_add_##_name(flow_peer_t *peer, _type *flow) \
    { \
        flow->peer_next = peer->_list; \
        peer->_list     = flow_##_name##_index(flow); \
    } \
    uint32_t flow_list_next_##_name(const flow_core_t *core, \
                                    const _type *flow) \
    { \
        uint32_t index = flow->peer_next; \
        while ((index != 0) && \
               flow_list_left_##_name(flow_core_##_name(core, index))) { \
            index = flow_core_##_name(core, index)->peer_next; \
        } \
        return index; \
    } \
    /* Unlink those that left, from index to the next that did not. */ \
    static uint32_t flow_list_skip_##_name(flow_core_t *core, uint32_t index) \
    { \
        _type *flow; \
        while (index != 0) { \
            flow = flow_core_##_name(core, index); \
            if (!flow_list_left_##_name(flow)) { \
                break; \
            } \
            index = flow->peer_next; \
            flow_list_unlink_##_name(core, flow); \
            --core->gone; \
        } \
        return index; \
    } \
    /* A flow left: only its place in the list is in use. */ \
    static void flow_list_leave_##_name(flow_core_t *core, flow_peer_t *peer, \
                                        uint32_t index) \
    { \
        ++core->gone; \
        if (peer->_list == index) { \
            index       = flow_list_skip_##_name(core, index); \
            peer->_list = index & (FLOW_INDEX_MAX - 1); \
        } \
    } \
    /* Free the record, which keeps its place. */ \
    static void flow_list_clear_##_name(flow_core_t *core, _type *flow) \
    { \
        uint32_t next = flow->peer_next; \
        flow_pool_##_name##_clear(core, flow_##_name##_index(flow)); \
        flow->state     = (_gone); \
        flow->peer_next = next & (FLOW_INDEX_MAX - 1); \
    } \
    void flow_list_free_##_name(flow_core_t *core, flow_peer_t *peer, \
                                _type *flow) \
    { \
        flow_list_clear_##_name(core, flow); \
        flow_list_leave_##_name(core, peer, flow_##_name##_index(flow)); \
    } \
    static void flow_list_sweep_##_name(flow_core_t *core, uint32_t index) \
    { \
        uint32_t next; \
        for (; index != 0; index = next) { \
            next = flow_list_skip_##_name( \
                    core, flow_core_##_name(core, index)->peer_next); \
            flow_core_##_name(core, index)->peer_next = next & \
                                                        (FLOW_INDEX_MAX - 1); \
        } \
    }

FLOW_LIST_DEFINE(tx, flow_tx_t, tx_list, FLOW_TX_GONE)
FLOW_LIST_DEFINE(rx, flow_rx_t, rx_list, FLOW_RX_GONE)

void flow_list_unlist_rx(flow_core_t *core, flow_peer_t *peer, flow_rx_t *rx)
{
    rx->flags |= FLOW_RXF_UNLISTED;
    flow_list_leave_rx(core, peer, flow_rx_index(rx));
}

void flow_list_free_unlisted_rx(flow_core_t *core, flow_rx_t *rx)
{
    uint32_t index = flow_rx_index(rx);

    if (rx->peer_next == index) {
        flow_pool_rx_clear(core, index);
        flow_pool_rx_release(core, index);
    } else {
        flow_list_clear_rx(core, rx);
    }
}

void flow_list_sweep(flow_core_t *core)
{
    uint64_t flows = core->counters.tx_flows + core->counters.rx_flows;
    flow_peer_t *peer;
    uint32_t index;

    if (core->gone <= FLOW_GONE_MIN + flows / 4) {
        return;
    }
    for (index = 1; index < core->peer_count; ++index) {
        peer = flow_core_peer(core, index);
        if (!peer->entombed) {
            flow_list_sweep_tx(core, peer->tx_list);
        }
        flow_list_sweep_rx(core, peer->rx_list);
    }
    flow_assert(core->gone == 0);
}
