/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The queues of flows, peers and rings: push at the tail, pop at the head.
 * Whether an object is on a queue is kept by its owner, so that none is pushed
 * twice.
 */
#ifndef FLOW_FIFO_PRIV_H_
#define FLOW_FIFO_PRIV_H_

#include "flow/state_priv.h"
#include "flow/tx.h"

/* _link holds _pack of the next one's index, 0 of the last. */
#define FLOW_FIFO_DEFINE_PACKED(_name, _get, _link, _pack, _unpack) \
    static inline void flow_fifo_##_name##_push(flow_core_t *core, \
                                                flow_fifo_t *fifo, \
                                                uint32_t index) \
    { \
        _get(core, index)->_link = 0; \
        if (fifo->tail != 0) { \
            _get(core, fifo->tail)->_link = _pack(index); \
        } else { \
            fifo->head = index; \
        } \
        fifo->tail = index; \
        ++fifo->count; \
    } \
    static inline uint32_t flow_fifo_##_name##_pop(flow_core_t *core, \
                                                   flow_fifo_t *fifo) \
    { \
        uint32_t index = fifo->head; \
        if (index != 0) { \
            fifo->head = _unpack(_get(core, index)->_link); \
            if (fifo->head == 0) { \
                fifo->tail = 0; \
            } \
            --fifo->count; \
        } \
        return index; \
    }

/* ... the index itself. */
#define FLOW_FIFO_PLAIN(_index) (_index)
#define FLOW_FIFO_DEFINE(_name, _get, _link) \
    FLOW_FIFO_DEFINE_PACKED(_name, _get, _link, FLOW_FIFO_PLAIN, \
                            FLOW_FIFO_PLAIN)

/* ctl_next says of which kind the next flow is, here and where flows are parked
 * (turn.c): so it can be checked in an image, which a loaded one relies on. One
 * of the other kind, which only such an image has here, ends the queue. */
#define FLOW_FIFO_RX(_index) ((_index) | FLOW_TURN_RX)
static inline uint32_t flow_fifo_tx(uint32_t ref)
{
    return (ref & FLOW_TURN_RX) ? 0 : ref;
}
static inline uint32_t flow_fifo_rx(uint32_t ref)
{
    return (ref & FLOW_TURN_RX) ? ref & (FLOW_INDEX_MAX - 1) : 0;
}

FLOW_FIFO_DEFINE_PACKED(tx_ctl, flow_core_tx, ctl_next, FLOW_FIFO_PLAIN,
                        flow_fifo_tx)
FLOW_FIFO_DEFINE_PACKED(rx_ctl, flow_core_rx, ctl_next, FLOW_FIFO_RX,
                        flow_fifo_rx)
FLOW_FIFO_DEFINE(tx_event, flow_core_tx, event_next)
FLOW_FIFO_DEFINE(rx_starved, flow_core_rx, starved_next)
FLOW_FIFO_DEFINE(peer_event, flow_core_peer, event_next)
FLOW_FIFO_DEFINE(peer_tomb, flow_core_peer, tx_list)
FLOW_FIFO_DEFINE(ring, flow_core_ring, next)

/* The same for operations, which are the transport's. */
static inline void flow_fifo_op_push(flow_op_list_t *list, flow_op_t *op)
{
    op->next = NULL;
    if (list->tail != NULL) {
        list->tail->next = op;
    } else {
        list->head = op;
    }
    list->tail = op;
}

static inline flow_op_t *flow_fifo_op_pop(flow_op_list_t *list)
{
    flow_op_t *op = list->head;

    if (op != NULL) {
        list->head = op->next;
        if (list->head == NULL) {
            list->tail = NULL;
        }
        op->next = NULL;
    }
    return op;
}

#endif
