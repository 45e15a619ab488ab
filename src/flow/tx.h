/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sending half: one flow_tx_t per endpoint.
 *
 * A send is: flow_tx_ready, flow_tx_header, post, flow_tx_commit. Nothing else
 * of the core may be called between header and commit; if the post fails, do
 * not commit: no number was taken. Then exactly one of flow_tx_done
 * (delivered), flow_tx_rnr (flow_tx_repost_next says when to send again), or
 * flow_tx_fail. On UD, see flow/resend.h for commit and what comes after.
 */
#ifndef FLOW_TX_H_
#define FLOW_TX_H_

#include "flow/peer.h"
#include "flow/state_priv.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Why a flow failed. */
typedef enum flow_end {
    FLOW_END_NONE,
    FLOW_END_ERROR, /* our own device                                         */
    FLOW_END_RESET, /* a reset of its receiver                                */
    FLOW_END_PAIR,  /* a reset: the peer's flow of this pair was lost         */
    FLOW_END_LOST,  /* flow_peer_lost                                         */
    FLOW_END_DEAD,  /* flow_peer_dead                                         */
    FLOW_END_GIVEN_UP /* by its user                                          */
} flow_end_t;

/* Reasons of the transport to pause a flow; any number at once. */
enum flow_tx_pause {
    FLOW_PAUSE_PENDING = 1u << 0, /* its pending queue is not empty           */
    FLOW_PAUSE_FENCE   = 1u << 1, /* a fence waits for RMA                    */
    FLOW_PAUSE_USER    = 1u << 2, /* no address handle yet, or the like       */
    /* the core's own: */
    FLOW_PAUSE_CLOSED  = 1u << 3, /* closed or failed                         */
    FLOW_PAUSE_END                /* one more than the last (limits.c)        */
};

/*
 * The part that the transport embeds in each send it keeps (a message until its
 * completion). The core links it only while the packet waits to be sent again,
 * on UD also while it waits to be released.
 */
struct flow_op {
    flow_op_t *next;
    flow_tx_t *tx;
    flow_psn_t psn;
    uint8_t    linked;
    uint8_t    flags; /* UD: enum flow_op_flags, the core's                   */
    uint32_t   sent;  /* UD: when it was sent last, the core's                */
};

/*
 * Open a flow to peer. The hello goes out by flow_ctl_next; data may be sent at
 * once. FLOW_NO_MEMORY: grow and repeat. FLOW_LINGERING: too many closed ones
 * are not gone yet. FLOW_NO_RESOURCE: too many flows, or the peer is known dead
 * (that incarnation of it ended).
 */
flow_status_t flow_tx_open(flow_core_t *core, const flow_addr_t *peer,
                           void *cookie, flow_tx_t **tx_p);

/*
 * The user is done with it: the only event still to come is
 * FLOW_EVENT_TX_GONE, which carries the cookie once more. Sends that are out
 * still report by flow_tx_done and so on; when none is left the core says
 * goodbye, and then the flow is gone. Until then the pointer may be used for
 * those reports only. Also right for a failed flow. Once per flow.
 */
void flow_tx_close(flow_core_t *core, flow_tx_t *tx);

/* Out of line part of flow_tx_ready. */
int flow_tx_ready_slow(flow_core_t *core, flow_tx_t *tx);

/* The one compare: a packet may be sent now. Else ask flow_tx_ready. */
static inline int flow_tx_is_open(const flow_tx_t *tx)
{
    return flow_likely(flow_wire_psn(tx->hdr) != tx->stop);
}

/*
 * 1: one packet may be sent now. 0: not; FLOW_EVENT_TX_READY comes when the
 * window opens (not for a pause of the transport: it resumes by itself).
 */
static inline int flow_tx_ready(flow_core_t *core, flow_tx_t *tx)
{
    return flow_tx_is_open(tx) || flow_tx_ready_slow(core, tx);
}

/* Nonzero: flow_tx_ready found the window shut, and FLOW_EVENT_TX_READY is
 * still to come. */
int flow_tx_is_stopped(const flow_tx_t *tx);

/* The peer of a flow, to give it an address handle at once. */
flow_peer_t *flow_tx_peer(flow_core_t *core, const flow_tx_t *tx);

/* Number of the next packet. */
static inline flow_psn_t flow_tx_psn(const flow_tx_t *tx)
{
    return flow_wire_psn(tx->hdr);
}

/*
 * 8, or 28 before the answer; UD: 16 where it carries an acknowledgement.
 * Constant between flow_tx_ready and commit.
 */
static inline unsigned flow_tx_header_len(const flow_tx_t *tx)
{
    return flow_wire_word_len(tx->hdr);
}

/* Write the part behind the word in any but the shortest header; its length. */
unsigned flow_tx_header_rest(const flow_core_t *core, const flow_tx_t *tx,
                             void *buf);

/*
 * Write the header of the next packet; am_id < FLOW_AM_ID_MAX; buf has room for
 * flow_tx_header_len bytes, which are returned. Takes no number.
 */
static inline unsigned flow_tx_header(const flow_core_t *core,
                                      const flow_tx_t *tx, unsigned am_id,
                                      void *buf)
{
    flow_wire_store64(buf, tx->hdr | am_id);
    if (flow_unlikely(tx->hdr & FLOW_WIRE_LONG)) {
        return flow_tx_header_rest(core, tx, buf);
    }
    return FLOW_SHORT_HDR;
}

/* The next packet's header where flow_tx_header_len is FLOW_SHORT_HDR, as bytes
 * in memory. */
static inline uint64_t flow_tx_word(const flow_tx_t *tx, unsigned am_id)
{
    uint64_t word;

    flow_wire_store64(&word, tx->hdr | am_id);
    return word;
}

/* flow_tx_header where flow_tx_header_len is FLOW_SHORT_HDR. */
static inline void flow_tx_header_short(const flow_tx_t *tx, unsigned am_id,
                                        void *buf)
{
    flow_wire_store64(buf, tx->hdr | am_id);
}

/* The number of its record. */
static inline uint32_t flow_tx_index(const flow_tx_t *tx)
{
    return tx->ep & (FLOW_INDEX_MAX - 1);
}

/*
 * The packet was posted (or will surely be): take the number, which is
 * returned. The caller keeps (tx, psn) with the work request.
 */
static inline flow_psn_t flow_tx_commit(flow_tx_t *tx)
{
    flow_psn_t psn = flow_tx_psn(tx);

    tx->busy |= 1ull << (psn % FLOW_MAP_BITS);
    tx->hdr  += FLOW_WIRE_PSN_ONE;
    return psn;
}

/* Out of line part of flow_tx_done. */
void flow_tx_done_slow(flow_core_t *core, flow_tx_t *tx);

/* Does the flow wait for a limit alone? Then flow_tx_done_slow does nothing.
 * (volatile: else the one compare before it takes two instructions.) */
static inline int flow_tx_wants_limit(const flow_tx_t *tx)
{
    return (*(const volatile uint8_t*)&tx->wait == FLOW_WAIT_STOP) &&
           (tx->limit == flow_tx_psn(tx));
}

/* First half of flow_tx_done; nonzero: flow_tx_done_slow is the other one. */
static inline int flow_tx_end(flow_tx_t *tx, unsigned psn)
{
    tx->busy &= flow_psn_rotate_up(~1ull, psn % FLOW_MAP_BITS);
    return flow_unlikely(tx->wait != 0);
}

/* The packet psn (any number congruent to it modulo FLOW_MAP_BITS) was
 * delivered. */
static inline void flow_tx_done(flow_core_t *core, flow_tx_t *tx, unsigned psn)
{
    if (flow_tx_end(tx, psn)) {
        flow_tx_done_slow(core, tx);
    }
}

/*
 * The packet was refused by receiver-not-ready. The core keeps op (with tx and
 * psn filled in by the caller) until flow_tx_repost_next returns it; the caller
 * keeps the bytes and sends them unchanged. On a flow that failed meanwhile op
 * comes back by flow_tx_repost_next too, with *fail set.
 */
void flow_tx_rnr(flow_core_t *core, flow_op_t *op, flow_time_t now);

/*
 * Next packet whose back-off is over, else NULL. Post it again, or, when the
 * queue is full, give it back by flow_tx_repost_return: it stays first.
 * *fail: the flow failed, complete the operation with an error and report it
 * by flow_tx_done (its number is released either way). UD: fail is never set.
 */
flow_op_t *flow_tx_repost_next(flow_core_t *core, flow_time_t now, int *fail);
/* It would find none, and no timer is due. */
static inline int
flow_tx_repost_is_idle(const flow_core_t *core, flow_time_t now)
{
    return (core->repost.head == NULL) && (now < core->timer_next);
}
void flow_tx_repost_return(flow_core_t *core, flow_op_t *op);

/*
 * The flow cannot go on (completion with an error that is no receiver-not-
 * ready); why says how far that reaches:
 *   FLOW_SEND_ERROR  this flow
 *   FLOW_SEND_LOST   flow_peer_lost, unless the flow had failed before: then
 *                    it is an old story, and newer flows may do well
 *   FLOW_SEND_DEAD   flow_peer_dead
 *   FLOW_SEND_GIVEN_UP  this flow, and not its pair
 * The number stays taken until flow_tx_done. Each flow of a user gets one
 * FLOW_EVENT_TX_FAILED. Repeating it changes nothing.
 */
void flow_tx_fail(flow_core_t *core, flow_tx_t *tx, flow_send_status_t why);

/*
 * Is the peer alive? Makes a control packet due that has no effect there; its
 * completion with LOST or DEAD fails the flow. Nothing happens when a packet
 * is out whose completion says as much.
 */
void flow_tx_ping(flow_core_t *core, flow_tx_t *tx);

/*
 * The same for a user that waits for the word: on UD a peer that has answered
 * before, and is silent now, is lost after FLOW_CHECK_TRIES time-outs, about
 * 5 s, if not sooner.
 */
void flow_tx_check(flow_core_t *core, flow_tx_t *tx);

/* Is that answered: all messages before `psn`, and the ping, if any? */
int flow_tx_is_answered(const flow_tx_t *tx, flow_psn_t psn);

/* For reasons (enum flow_tx_pause) of the transport. */
void flow_tx_pause(flow_tx_t *tx, unsigned reasons);
void flow_tx_resume(flow_core_t *core, flow_tx_t *tx, unsigned reasons);

/*
 * Let one packet pass a flow that is paused by FLOW_PAUSE_PENDING alone and has
 * room in its window; until the next flow_tx_pause. For the first request of
 * the transport's queue: messages that its completion sends must not pass the
 * others. UD: not while the pool of rings is empty (grow).
 */
void flow_tx_pass_one(flow_core_t *core, flow_tx_t *tx);

/*
 * 1: the peer said that it keeps an address handle for us, RMA may be posted.
 * 0: not yet (FLOW_EVENT_TX_RMA comes; asking makes the core ask the peer), or
 * never: then flow_tx_rma_refused is 1 (the peer's table is full).
 */
int flow_tx_rma_ready(flow_core_t *core, flow_tx_t *tx);
/* Its usual answer, for which nothing changes. */
static inline int flow_tx_rma_is_open(const flow_tx_t *tx)
{
    return (tx->rma == FLOW_RMA_READY) && (tx->state == FLOW_TX_OPEN);
}

int flow_tx_rma_refused(const flow_tx_t *tx);

/* flow_psn_bit of each packet posted and not completed. */
static inline uint64_t flow_tx_busy(const flow_tx_t *tx)
{
    return tx->busy;
}

/* Reasons for which it is paused, enum flow_tx_pause; 0: it is not. */
static inline unsigned flow_tx_paused(const flow_tx_t *tx)
{
    return tx->paused;
}

/* The receiver's limit: the first number that may not be sent. Before its first
 * answer: init_window from the first. */
static inline flow_psn_t flow_tx_last_limit(const flow_tx_t *tx)
{
    return tx->limit;
}

/* Nonzero until the receiver answered the hello. */
static inline int flow_tx_is_unanswered(const flow_tx_t *tx)
{
    return tx->state == FLOW_TX_HELLO;
}

/* Packets posted and not completed, 0 .. FLOW_WINDOW_MAX. */
static inline unsigned flow_tx_outstanding(const flow_tx_t *tx)
{
    uint64_t bits  = tx->busy;
    unsigned count = 0;

    for (; bits != 0; bits &= bits - 1) { /* popcount would need libgcc */
        ++count;
    }
    return count;
}

/* Why it failed; FLOW_END_NONE: it did not. */
static inline flow_end_t flow_tx_why(const flow_tx_t *tx)
{
    return (flow_end_t)tx->why;
}

/* Is nothing known to have got through: no answer came, and no packet was
 * delivered? */
int flow_tx_is_fresh(const flow_core_t *core, const flow_tx_t *tx);

/* Is every packet before number psn (at most the next one) completed? */
static inline int flow_tx_done_before(const flow_tx_t *tx, flow_psn_t psn)
{
    uint64_t map = flow_psn_rotate_down(tx->busy, tx->una % FLOW_MAP_BITS);

    return (map == 0) ||
           !flow_psn_lt((flow_psn_t)(tx->una + __builtin_ctzll(map)), psn);
}

#ifdef __cplusplus
}
#endif

#endif
