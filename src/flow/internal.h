/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the core share among themselves. */
#ifndef FLOW_INTERNAL_H_
#define FLOW_INTERNAL_H_

#include "flow/assert.h"
#include "flow/flow.h"

/*
 * The queues: push at the tail, pop at the head. Whether an object is on a
 * queue is kept by its owner, so that none is pushed twice.
 */
#define FLOW_FIFO_DEFINE(_name, _get, _link) \
    static inline void flow_fifo_##_name##_push(flow_core_t *core, \
                                                flow_fifo_t *fifo, \
                                                uint32_t index) \
    { \
        _get(core, index)->_link = 0; \
        if (fifo->tail != 0) { \
            _get(core, fifo->tail)->_link = index; \
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
            fifo->head = _get(core, index)->_link; \
            if (fifo->head == 0) { \
                fifo->tail = 0; \
            } \
            --fifo->count; \
        } \
        return index; \
    }

FLOW_FIFO_DEFINE(tx_ctl, flow_core_tx, ctl_next)
FLOW_FIFO_DEFINE(tx_event, flow_core_tx, event_next)
FLOW_FIFO_DEFINE(rx_ctl, flow_core_rx, ctl_next)
FLOW_FIFO_DEFINE(rx_starved, flow_core_rx, starved_next)
FLOW_FIFO_DEFINE(peer_event, flow_core_peer, event_next)
FLOW_FIFO_DEFINE(peer_tomb, flow_core_peer, tx_list)
FLOW_FIFO_DEFINE(ring, flow_core_ring, next)

/* The same for operations, which are the transport's. */
static inline void flow_op_push(flow_op_list_t *list, flow_op_t *op)
{
    op->next = NULL;
    if (list->tail != NULL) {
        list->tail->next = op;
    } else {
        list->head = op;
    }
    list->tail = op;
}

static inline flow_op_t *flow_op_pop(flow_op_list_t *list)
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

/* Control packets due, per sending and per receiving flow. */
enum flow_ctl_due {
    FLOW_CTL_TX_HELLO   = 1u << 0,
    FLOW_CTL_TX_WANT    = 1u << 1,
    FLOW_CTL_TX_GOODBYE = 1u << 2,
    FLOW_CTL_TX_RESET   = 1u << 3,
    FLOW_CTL_TX_PING    = 1u << 4,
    FLOW_CTL_RX_ANSWER  = 1u << 0,
    FLOW_CTL_RX_LIMIT   = 1u << 1,
    FLOW_CTL_RX_WHO     = 1u << 2,
    FLOW_CTL_RX_RESET   = 1u << 3,
    FLOW_CTL_RX_PARTED  = 1u << 4, /* UD */
    FLOW_CTL_RX_ACK     = 1u << 5, /* UD */
    FLOW_CTL_QUEUED     = 1u << 6, /* on a control queue, parked, in back-off */
    FLOW_CTL_TX_TIMED   = 1u << 5, /* in back-off: with FLOW_CTL_QUEUED       */
    FLOW_CTL_TX_LISTS   = FLOW_CTL_QUEUED | FLOW_CTL_TX_TIMED
};

/* Events due. */
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

/* trace.c: what, of which endpoint number, at which PSN, and one more word. */
typedef enum flow_trace_what {
    FLOW_TRACE_OPEN = 1, FLOW_TRACE_CLOSE, FLOW_TRACE_GONE, FLOW_TRACE_FAIL,
    FLOW_TRACE_STALL, FLOW_TRACE_DROP, FLOW_TRACE_GRANT,
    FLOW_TRACE_STARVED, FLOW_TRACE_LIMIT, FLOW_TRACE_CTL_TX,
    FLOW_TRACE_CTL_RX, FLOW_TRACE_CTL_DONE, FLOW_TRACE_RNR, FLOW_TRACE_PEER,
    FLOW_TRACE_RX_OPEN, FLOW_TRACE_RX_CLOSE, FLOW_TRACE_TIMEOUT,
    FLOW_TRACE_ACK, FLOW_TRACE_RECALL
} flow_trace_what_t;
void flow_trace(flow_core_t *core, flow_trace_what_t what, uint32_t ep,
                flow_psn_t psn, uint64_t arg);

/*
 * pool.c: objects by index, zeroed but for index (and generation). 0: none, for
 * peers and rings; the others must be asked for before. A flow goes back in two
 * steps: clear, after which nothing finds it, and put, after which it is used
 * again.
 */
uint32_t flow_pool_tx_get(flow_core_t *core);
void     flow_pool_tx_put(flow_core_t *core, uint32_t index);
void     flow_pool_tx_clear(flow_core_t *core, uint32_t index);
uint32_t flow_pool_rx_get(flow_core_t *core);
void     flow_pool_rx_put(flow_core_t *core, uint32_t index);
void     flow_pool_rx_clear(flow_core_t *core, uint32_t index);
uint32_t flow_pool_peer_get(flow_core_t *core);
void     flow_pool_peer_put(flow_core_t *core, uint32_t index);
/* Indices that may be used now; does one more peer fit now? */
uint32_t flow_pool_rx_free(const flow_core_t *core);
int      flow_pool_peer_free(const flow_core_t *core);
uint32_t flow_pool_ring_get(flow_core_t *core);
void     flow_pool_ring_put(flow_core_t *core, uint32_t index);

/* hash.c: heads of chains (they hold an index), and records put and dropped. */
uint32_t *flow_hash_incarnation(flow_core_t *core, uint64_t incarnation);
uint32_t *flow_hash_addr(flow_core_t *core, const flow_peer_t *peer);
uint32_t *flow_hash_rx(flow_core_t *core, uint32_t peer, uint32_t ep);
void      flow_hash_put_peer(flow_core_t *core, flow_peer_t *peer);
void      flow_hash_drop_peer(flow_core_t *core, flow_peer_t *peer);
void      flow_hash_put_addr(flow_core_t *core, flow_peer_t *peer);
void      flow_hash_drop_addr(flow_core_t *core, flow_peer_t *peer);
void      flow_hash_put_rx(flow_core_t *core, flow_rx_t *rx);
void      flow_hash_drop_rx(flow_core_t *core, flow_rx_t *rx);
/* Move everything to the table at mem; the old one, NULL if there was none. */
void     *flow_hash_move(flow_core_t *core, void *mem);
/* Heads in the next table. */
uint32_t  flow_hash_next_size(const flow_core_t *core);
int       flow_hash_full(const flow_core_t *core);

/* peer.c */
flow_peer_t *flow_peer_find(flow_core_t *core, uint64_t incarnation);
/* NULL: no slot (grow). The new peer has no flow, and of an address the QPN. */
flow_peer_t *flow_peer_create(flow_core_t *core, uint64_t incarnation,
                              flow_src_t src);
/* Its address became known, or a flow to or from it begins: the caller is told
 * where it has to give a handle. */
void flow_peer_introduce(flow_core_t *core, flow_peer_t *peer,
                         const flow_addr_t *addr);
/* A packet of it came: what waited for that may go. */
void flow_peer_heard(flow_core_t *core, flow_peer_t *peer);
/* A control packet did not get through and no flow of the peer is live: all
 * others wait until flow_peer_heard or flow_peer_introduce. */
void flow_peer_park(flow_core_t *core, flow_peer_t *peer);
/* It has just proved that it lives: whoever else was at its QPN does not. By a
 * completion of its device: whoever else had another QKEY. */
void flow_peer_proved(flow_core_t *core, flow_peer_t *peer, int by_device);
/* Could an address be kept: is it valid, and is there room for its prefix? */
int  flow_peer_fits(const flow_core_t *core, const flow_addr_t *addr);
/* Does a known peer have this address? */
int  flow_peer_same_addr(const flow_core_t *core, const flow_peer_t *peer,
                         const flow_addr_t *addr);
void flow_peer_event(flow_core_t *core, flow_peer_t *peer, unsigned due);
/* A flow is done with: was it the last? */
void flow_peer_check_idle(flow_core_t *core, flow_peer_t *peer);
/* Flows that are not on its lists but need it: they rest. 0: too many. */
enum { FLOW_PEER_OUT_MAX = (1 << 13) - 2 };
int  flow_peer_hold(flow_peer_t *peer);
void flow_peer_put(flow_core_t *core, flow_peer_t *peer);
static inline int flow_peer_in_use(const flow_peer_t *peer)
{
    return ((peer->tx_list != 0) && !peer->entombed) ||
           (peer->rx_list != 0) || (peer->out != 0) || (peer->ctl_out != 0);
}
/* Nobody refers to it: forget it, or keep a tombstone. */
void flow_peer_release(flow_core_t *core, flow_peer_t *peer);
/*
 * May control packets go to it? To a dead one only resets are ever due: it may
 * live after all, and would else send into the void with good completions.
 */
int  flow_peer_reachable(const flow_peer_t *peer);
/* May a packet of this sender belong to the peer, as far as is known? */
int  flow_peer_sent(const flow_peer_t *peer, flow_src_t src);
/* As what its next packets will come: like this one if it has no handle. */
flow_src_t flow_peer_src(const flow_peer_t *peer, flow_src_t seen);

/*
 * list.c: the flows of a peer. Leaving a list costs the same wherever a flow
 * stands: it is marked as gone, and taken out later; the head is never one.
 */
void flow_list_add_tx(flow_peer_t *peer, flow_tx_t *tx);
void flow_list_add_rx(flow_peer_t *peer, flow_rx_t *rx);
/* Free the flow, which is on the list of the peer. */
void flow_list_free_tx(flow_core_t *core, flow_peer_t *peer, flow_tx_t *tx);
void flow_list_free_rx(flow_core_t *core, flow_peer_t *peer, flow_rx_t *rx);
/* Take a flow off that does not end. Cost grows with the list. */
void flow_list_drop_rx(flow_core_t *core, flow_peer_t *peer, flow_rx_t *rx);
/* The next that is not gone: 0, none. */
uint32_t flow_list_next_tx(const flow_core_t *core, const flow_tx_t *tx);
uint32_t flow_list_next_rx(const flow_core_t *core, const flow_rx_t *rx);
/* Take out those that went, if there are many. Not while a list is walked. */
void flow_list_sweep(flow_core_t *core);

/* turn.c: whose control packets may go. A flow that has some due, is not gone
 * and has FLOW_CTL_QUEUED set, which was not: */
void flow_turn_add_tx(flow_core_t *core, flow_tx_t *tx);
void flow_turn_add_rx(flow_core_t *core, flow_rx_t *rx);
/* The next one, 0: none may go. FLOW_TURN_RX: a receiving flow. */
#define FLOW_TURN_RX (1u << FLOW_INDEX_BITS)
uint32_t flow_turn_next(flow_core_t *core);
/* Its peer; once for each. */
flow_peer_t *flow_turn_peer(flow_core_t *core, uint32_t ref);
/* May a packet to this peer go now, of a receiving flow (rx) or a sending? */
int  flow_turn_may_go(const flow_core_t *core, const flow_peer_t *peer, int rx);
/* It may not: wait for another turn. */
void flow_turn_park(flow_core_t *core, flow_peer_t *peer, uint32_t ref);
/* One went, one ended. */
void flow_turn_take(flow_core_t *core, flow_peer_t *peer, int rx);
void flow_turn_give(flow_core_t *core, flow_peer_t *peer, int rx);
/* As many of the peer as may go now get their turn; all that wait do. */
void flow_turn_wake(flow_core_t *core, flow_peer_t *peer);
void flow_turn_wake_all(flow_core_t *core, flow_peer_t *peer);

/* event.c: senders starve, more receive buffers would help. */
void flow_event_scarce(flow_core_t *core);

/* tx.c */
void flow_tx_event(flow_core_t *core, flow_tx_t *tx, unsigned due);
void flow_tx_ctl_due(flow_core_t *core, flow_tx_t *tx, unsigned due);
void flow_tx_limit(flow_core_t *core, flow_tx_t *tx, flow_psn_t limit);
/* It shall send nothing from this number on until it hears of a limit again. */
void flow_tx_recall(flow_core_t *core, flow_tx_t *tx, flow_psn_t limit);
void flow_tx_died(flow_core_t *core, flow_tx_t *tx, flow_end_t why);
/* Open or waiting for its answer: it may send, or will. */
static inline int flow_tx_is_live(const flow_tx_t *tx)
{
    return (tx->state == FLOW_TX_HELLO) || (tx->state == FLOW_TX_OPEN);
}
void flow_tx_try_release(flow_core_t *core, flow_tx_t *tx);
/* The flow to this peer with this endpoint number, or NULL. */
flow_tx_t *flow_tx_find(flow_core_t *core, const flow_peer_t *peer,
                        uint32_t ep);
static inline uint32_t flow_tx_index(const flow_tx_t *tx)
{
    return tx->ep & (FLOW_INDEX_MAX - 1);
}

/* resend.c: UD. A ring for a flow that has none; 0: the pool is empty. */
int  flow_resend_prepare(flow_core_t *core, flow_tx_t *tx);
/* The receiver's word: everything before ack, and ack + 1 + i for bit i. */
void flow_resend_ack(flow_core_t *core, flow_tx_t *tx, flow_psn_t ack,
                     uint64_t map);
/* The peer was heard on behalf of this flow. */
void flow_resend_heard(flow_tx_t *tx);
/* The batch of this ring expired. */
void flow_resend_expired(flow_core_t *core, uint32_t ring, flow_time_t now);
/* The flow ends: all its operations are over, with an error. */
void flow_resend_fail(flow_core_t *core, flow_tx_t *tx);
/* The flow is gone: the ring goes when its batch expires. */
void flow_resend_detach(flow_core_t *core, flow_tx_t *tx);
/* A control packet is out of our hands: repeat what has not been answered. */
void flow_resend_ctl(flow_core_t *core, flow_tx_t *tx, flow_time_t now);
/* Is this operation not to be sent again but released? */
int  flow_resend_over(flow_core_t *core, flow_op_t *op);

/* ack.c: UD. What a receiving flow has got: as flow_resend_ack takes it. */
flow_psn_t flow_ack_get(const flow_core_t *core, const flow_rx_t *rx,
                        uint64_t *map);

/* rx.c */
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

/* stranger.c. A new one: the oldest makes room. */
void flow_stranger_add(flow_core_t *core, flow_rx_t *rx);
/* A packet of a stranger is held in its ring; all of them are not any more. */
void flow_stranger_hold(flow_core_t *core, flow_ring_t *ring, size_t len);
void flow_stranger_unhold(flow_core_t *core, flow_ring_t *ring);
/* It is none any more. */
void flow_stranger_leave(flow_core_t *core, const flow_rx_t *rx);
/* Too many bytes are held: others expire, not this one. */
void flow_stranger_bound(flow_core_t *core, const flow_rx_t *rx);
/* Data of a flow was thrown away, and it is not known whom to tell. Was it? */
void flow_stranger_remember(flow_core_t *core, uint64_t incarnation,
                            uint32_t ep);
int  flow_stranger_expired(flow_core_t *core, uint64_t incarnation,
                           uint32_t ep);
/* Are the last indices in use, but for those to say so with? */
int  flow_rx_is_full(const flow_core_t *core, int new_peer);

static inline int flow_is_ud(const flow_core_t *core)
{
    return core->params.profile == FLOW_UD;
}

static inline flow_psn_t flow_rx_psn(const flow_rx_t *rx)
{
    return (flow_psn_t)(rx->expect >> FLOW_WIRE_PSN_SHIFT);
}

/*
 * What the record keeps in 7 or 8 bits is less than that below the number that
 * is named here with it.
 */
static inline flow_psn_t flow_rx_counted(const flow_rx_t *rx)
{
    return rx->limit - (uint8_t)(rx->limit - rx->counted);
}

static inline flow_psn_t flow_rx_told(const flow_rx_t *rx)
{
    return rx->limit - ((rx->limit - rx->told) & 0x7f);
}

/* The number from which on the sender should send nothing: its limit, unless it
 * was recalled. */
static inline flow_psn_t flow_rx_use(const flow_rx_t *rx)
{
    return (rx->flags & FLOW_RXF_RECALLED) ? flow_rx_told(rx) : rx->limit;
}

/* Of a flow with FLOW_RXF_FINAL; at most a window above what is consumed. */
static inline flow_psn_t flow_rx_final(const flow_rx_t *rx)
{
    return flow_rx_psn(rx) + (uint8_t)(rx->mark - flow_rx_psn(rx));
}

static inline uint32_t flow_rx_token(const flow_rx_t *rx)
{
    return (uint32_t)(rx->expect >> FLOW_WIRE_TOKEN_SHIFT) &
           FLOW_WIRE_TOKEN_MASK;
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

/* grant.c */
void flow_grant_open(flow_core_t *core, flow_rx_t *rx);
void flow_grant_close(flow_core_t *core, flow_rx_t *rx);
void flow_grant_mark(flow_rx_t *rx);
/* UD: it is blocked at this limit, having sent all up to it. */
void flow_grant_asked(flow_core_t *core, flow_rx_t *rx, flow_psn_t limit);
void flow_grant_serve(flow_core_t *core);
/* The flow fell silent: it keeps a little, which is not counted. Not one that
 * waits for credits, or has ended. */
int  flow_grant_may_leave(const flow_rx_t *rx);
void flow_grant_leave(flow_core_t *core, flow_rx_t *rx);
/* Look for silent flows. 0: no need to come back. */
int  flow_grant_tick(flow_core_t *core);

/* pair.c: which flow's headers carry whose limit. */
void flow_pair_hello(flow_core_t *core, flow_rx_t *rx);
void flow_pair_open(flow_core_t *core, flow_tx_t *tx);
void flow_pair_answer(flow_core_t *core, flow_tx_t *tx, uint32_t ep);
void flow_pair_rx_gone(flow_core_t *core, flow_rx_t *rx);
void flow_pair_tx_gone(flow_core_t *core, flow_tx_t *tx);
/* A sending flow failed: what its headers told may not have arrived. */
void flow_pair_tx_failed(flow_core_t *core, flow_tx_t *tx);
/* It failed, and whoever had opened it lets go: so does its pair (SRD). */
void flow_pair_break(flow_core_t *core, const flow_tx_t *tx);

/* ctl_rx.c: a control packet that is no goodbye. */
flow_rx_verdict_t flow_ctl_accept(flow_core_t *core, const uint8_t *pkt,
                                  size_t len, flow_src_t src,
                                  flow_rx_out_t *out);

/* timer.c: come back after the back-off of this level; not queued so far. */
void flow_timer_tx(flow_core_t *core, uint32_t index, unsigned level,
                   flow_time_t now);
void flow_timer_rx(flow_core_t *core, uint32_t index, unsigned level,
                   flow_time_t now);
void flow_timer_op(flow_core_t *core, flow_op_t *op, unsigned level,
                   flow_time_t now);
/* UD: as flow_timer_tx, where the time is not known. */
void flow_timer_tx_later(flow_core_t *core, uint32_t index, unsigned level);
/* UD: a ring of a sending flow expires after the delay of its level. */
void flow_timer_ring(flow_core_t *core, uint32_t ring, unsigned level,
                     flow_time_t now);
void flow_timer_ring_later(flow_core_t *core, uint32_t ring, unsigned level);
/* flow_grant_tick is called after a while, unless that is due already. */
void flow_timer_tick(flow_core_t *core);
/* UD: a receiving flow that was closed rests. */
void flow_timer_parted(flow_core_t *core, uint32_t index);
/* The level after this one, held at the last whose delay is <= rnr_max. */
unsigned flow_timer_level_next(const flow_core_t *core, unsigned level);

#endif
