/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The protocol core of one interface: parameters, memory, counters, checks.
 *
 * Sans-IO: no call posts, allocates, reads a clock or logs. The caller polls
 * the device and passes on packets and completions (flow/rx.h, flow/tx.h); it
 * pulls control packets to send (flow/ctl.h) and events (flow/event.h). One
 * core is used by one thread at a time. No function of the core calls back, so
 * a caller's callback that runs between two calls may call anything here,
 * opening and closing flows included. Pointers to flow_tx_t and flow_peer_t
 * stay valid until the event that releases them; a receive flow is named by its
 * token, checked each time.
 */
#ifndef FLOW_CORE_H_
#define FLOW_CORE_H_

#include "flow/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct flow_params {
    flow_profile_t profile;
    flow_addr_t    self;
    uint16_t       grant;       /* window given to an introduced flow:
                                   1 .. FLOW_WINDOW_MAX                       */
    uint16_t       init_window; /* packets sent before the first answer:
                                   1 .. FLOW_INIT_WINDOW_MAX                  */
    uint32_t       rx_posted;   /* receive buffers from which windows are
                                   granted, posted or held                    */
    uint32_t       rx_reserve;  /* of them never granted: for control packets,
                                   and those between delivery and reposting   */
    uint16_t       ctl_slots;   /* control packets that the caller can have out
                                   at a time: at least 4 (turn.c)             */
    uint32_t       max_linger;  /* closed flows that are not gone yet; at the
                                   limit flow_tx_open says FLOW_LINGERING     */
    uint32_t       max_strangers; /* flows whose data came before their hello:
                                   1 .. FLOW_STRANGERS; the oldest expires    */
    uint32_t       stranger_bytes; /* held for all of them                    */
    flow_time_t    rnr_min;     /* first back-off after receiver-not-ready;
                                   UD: first time-out of what is unanswered, and
                                   what a time-out has beyond a round trip    */
    flow_time_t    rnr_max;     /* it doubles, but not over this:
                                   FLOW_BACKOFF_MAX at most                   */
    uint16_t       first_window; /* UD: congestion window of a flow before
                                   anything is acknowledged:
                                   1 .. FLOW_WINDOW_MAX                       */
    uint16_t       tries;       /* UD: time-outs in a row, with no word from
                                   the peer, after which it is lost, but not
                                   before an eighth of rnr_max for each:
                                   1 .. FLOW_TRIES_MAX                        */
    uint64_t       seed;        /* of the first token generations             */
    uint64_t       key[2];      /* of the indices' hash: random, so that no
                                   peer knows it (util/keyed_hash.h)          */
    uint16_t       lap;         /* SRD: numbers from one line to the next: a
                                   power of two, 2 .. FLOW_LAP. After a limit
                                   has crossed one its peer gets no limit and
                                   the pair sends nothing until the old ones
                                   have arrived; only then the next (lap.c)   */
    flow_psn_t     first_psn;   /* of every flow; 0 by the protocol. Tests
                                   of the wrap set it alike in all cores      */
} flow_params_t;

/*
 * Fill with the defaults of an SRD or UD interface; self, seed and rx_posted
 * are 0, the key is one that everybody knows.
 */
void flow_params_default(flow_params_t *params);
void flow_params_default_ud(flow_params_t *params);

/* Is every parameter in its range? */
int flow_params_valid(const flow_params_t *params);

/* Bytes flow_core_init needs, aligned to FLOW_ALIGN. */
size_t flow_core_size(const flow_params_t *params);

/*
 * Make a core in mem (size >= flow_core_size, aligned). It starts with no pool:
 * before anything else, flow_pool_grow for what flow_pool_grow_needed
 * names.
 * Returns NULL when a parameter is out of range.
 */
flow_core_t *flow_core_init(void *mem, size_t size,
                            const flow_params_t *params);

/* The same in memory that holds zeros: most of it is not touched, which saves
 * an interface that serves nobody 200 kB. */
flow_core_t *flow_core_init_zeroed(void *mem, size_t size,
                                   const flow_params_t *params);

/*
 * The number of receive buffers changed (posted or held by flows of the core).
 * Grants already given stay; fewer buffers only slow further grants.
 */
void flow_core_rx_posted(flow_core_t *core, uint32_t count);

/*
 * Has the device received many more packets than the core was given, as many
 * as a good part of the receive queue (1), or not (0)? To be said before
 * flow_timer_run where that is due, a guess will do; the last word stands until
 * the next. While it is 1 at each tick no round of the hand begins, up to
 * FLOW_HELD_TICKS: nobody is taken for silent whose packets lie there.
 */
void flow_core_rx_backlog(flow_core_t *core, int more);

typedef struct flow_counters {
    uint64_t drops[FLOW_DROP_LAST];
    uint64_t delivered;     /* data packets by the slow way or from a hold; not
                               those of flow_rx_short                         */
    uint64_t held;          /* packets that came early                        */
    uint64_t stalls;        /* a sender met its limit                         */
    uint64_t starved;       /* a receiving flow had to wait for buffers       */
    uint64_t limits_alone;  /* limit packets of their own                     */
    uint64_t ctl_sent;      /* control packets handed out, all kinds          */
    uint64_t rnr;           /* sends to be repeated (FLOW_SEND_RNR)           */
    uint64_t acks_alone;    /* UD: acknowledgements in packets of their own   */
    uint64_t timeouts;      /* UD: packets sent again because nothing arrived */
    uint64_t fast_resends;  /* UD: packets sent again because later ones
                               arrived                                        */
    uint64_t failed_flows;
    uint64_t overflows;     /* beyond the limit on SRD: the flow failed       */
    uint64_t tx_flows, rx_flows, peers, rings; /* in use now                  */
    uint64_t lingering;     /* closed, not gone yet                           */
    uint64_t expired;       /* flows that did not say hello in time          */
    uint64_t recalls;       /* credits that were taken back from silent flows */
    uint64_t active;        /* receiving flows that share the buffers now     */
    uint64_t owed;          /* granted, not consumed; of a flow that is not
                               active FLOW_IDLE_WINDOW                        */
} flow_counters_t;

void flow_core_counters(const flow_core_t *core, flow_counters_t *out);

/* The caller's word for a core: NULL at first. The core never looks at it;
 * flow_core_user of state_priv.h reads it. */
void flow_core_set_user(flow_core_t *core, void *user);

#ifdef __cplusplus
}
#endif

#endif
