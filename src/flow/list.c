/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The flows of a peer, newest first.
 *
 * A link back would make leaving cheap, and each record longer by 8 B; at two
 * records a peer that is memory for something only peers with many endpoints
 * need. So a flow that leaves from anywhere but the head stays linked, marked
 * as gone, and lists are looked through when a part of all flows are such: the
 * cost for each is a constant. Nothing finds a flow that is gone.
 */
#include "flow/assert.h"
#include "flow/list_priv.h"
#include "flow/pool_priv.h"
#include "flow/rx_priv.h"
#include "flow/tx_priv.h"

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
               (flow_core_##_name(core, index)->state == (_gone))) { \
            index = flow_core_##_name(core, index)->peer_next; \
        } \
        return index; \
    } \
    /* Release those that went, from index to the next that did not. */ \
    static uint32_t flow_list_skip_##_name(flow_core_t *core, uint32_t index) \
    { \
        uint32_t next; \
        while ((index != 0) && \
               (flow_core_##_name(core, index)->state == (_gone))) { \
            next = flow_core_##_name(core, index)->peer_next; \
            flow_pool_##_name##_release(core, index); \
            --core->gone; \
            index = next; \
        } \
        return index; \
    } \
    void flow_list_free_##_name(flow_core_t *core, flow_peer_t *peer, \
                                _type *flow) \
    { \
        uint32_t index = flow_##_name##_index(flow); \
        uint32_t next  = flow->peer_next; \
        flow_pool_##_name##_clear(core, index); \
        flow->state     = (_gone); \
        flow->peer_next = next & (FLOW_INDEX_MAX - 1); \
        ++core->gone; \
        if (peer->_list == index) { \
            next        = flow_list_skip_##_name(core, index); \
            peer->_list = next & (FLOW_INDEX_MAX - 1); \
        } \
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

void flow_list_remove_rx(flow_core_t *core, flow_peer_t *peer, flow_rx_t *rx)
{
    uint32_t index = flow_rx_index(rx), next;
    flow_rx_t *before = NULL;

    if (peer->rx_list != index) {
        before = flow_core_rx(core, peer->rx_list);
        while (before->peer_next != index) {
            if (!flow_holds(before->peer_next != 0)) {
                return;
            }
            before = flow_core_rx(core, before->peer_next);
        }
    }
    next = flow_list_skip_rx(core, rx->peer_next) & (FLOW_INDEX_MAX - 1);
    if (before == NULL) {
        peer->rx_list = next;
    } else {
        before->peer_next = next;
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
