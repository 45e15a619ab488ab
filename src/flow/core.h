/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The protocol core of one interface: parameters, memory, counters, checks.
 *
 * Sans-IO: no call posts, allocates, reads a clock or logs. The caller polls
 * the device and tells (flow/rx.h, flow/tx.h); it pulls what is to be sent
 * (flow/ctl.h) and what happened (flow/event.h). One core is used by one thread
 * at a time. No function of the core calls back, so a caller's callback that
 * runs between two calls may call anything here, opening and closing flows
 * included. Pointers to flow_tx_t and flow_peer_t stay valid until the event
 * that releases them; a receive flow is named by its token, checked each time.
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
    uint32_t       rx_posted;   /* receive buffers that serve this core:
                                   posted or held by its flows                */
    uint32_t       rx_reserve;  /* of them kept for control and for the batch
                                   between delivery and reposting             */
    uint16_t       ctl_slots;   /* control packets that the caller can have out
                                   at a time: at least 4 (turn.c)             */
    uint32_t       max_linger;  /* closed flows that are not gone yet; at the
                                   limit flow_tx_open says FLOW_NO_RESOURCE   */
    uint32_t       max_strangers; /* flows whose data came before their hello:
                                   1 .. FLOW_STRANGERS; the oldest expires    */
    uint32_t       stranger_bytes; /* held for all of them                    */
    flow_time_t    rnr_min;     /* first back-off after receiver-not-ready;
                                   UD: first time-out of what is unanswered   */
    flow_time_t    rnr_max;     /* it doubles up to this                      */
    uint16_t       tries;       /* UD: time-outs in a row, with no word from
                                   the peer, after which it is lost: 1 .. 127 */
    uint64_t       seed;        /* of the first token generations             */
    flow_psn_t     first_psn;   /* of every flow; 0 by the protocol. Tests
                                   of the wrap set it alike in all cores      */
} flow_params_t;

/* Pools that grow; each is handed over in chunks of a size the core names. */
typedef enum flow_pool {
    FLOW_POOL_TX,   /* sending flows                                          */
    FLOW_POOL_RX,   /* receiving flows                                        */
    FLOW_POOL_PEER, /* peers, one for both directions                         */
    FLOW_POOL_RING, /* 64-slot rings, only for flows with held (UD: also
                       unacknowledged) packets; on UD ask for growth before
                       each batch of sends, too                               */
    FLOW_POOL_HASH, /* the indices of receiving flows and peers               */
    FLOW_POOL_LAST
} flow_pool_t;

/*
 * Fill with the defaults of an SRD or UD interface; self, seed and rx_posted
 * are 0.
 */
void flow_params_default(flow_params_t *params);
void flow_params_default_ud(flow_params_t *params);

/* Bytes flow_core_init needs, aligned to FLOW_ALIGN. */
size_t flow_core_size(const flow_params_t *params);

/*
 * Make a core in mem (size >= flow_core_size, aligned). It starts with no pool:
 * before anything else, flow_core_grow for what flow_core_grow_needed names.
 * Returns NULL when a parameter is out of range.
 */
flow_core_t *flow_core_init(void *mem, size_t size,
                            const flow_params_t *params);

/*
 * Pools that must grow before the next batch, as bits 1 << flow_pool_t; 0 is
 * the normal answer. After it said 0 the core can open FLOW_RX_BATCH receive
 * flows, hold in as many and open one sending flow without asking again; more
 * may return FLOW_NO_MEMORY / FLOW_RX_NO_MEMORY, upon which the caller grows
 * and repeats the same call: nothing was changed.
 */
enum { FLOW_RX_BATCH = 16 };
unsigned flow_core_grow_needed(const flow_core_t *core);

/* Bytes of the next chunk of a pool (it may differ from call to call). */
size_t flow_core_chunk_size(const flow_core_t *core, flow_pool_t pool);

/*
 * Hand over one chunk: at least flow_core_chunk_size bytes, aligned to
 * FLOW_ALIGN, the caller's to free only after the core is no longer used.
 * Exception: for FLOW_POOL_HASH the former table comes back, to be freed now
 * (NULL when there was none). All other pools return NULL.
 */
void *flow_core_grow(flow_core_t *core, flow_pool_t pool, void *mem);

/*
 * The number of receive buffers changed (posted or held by flows of the core).
 * Grants already given stay; fewer buffers only slow further grants.
 */
void flow_core_rx_posted(flow_core_t *core, uint32_t count);

/*
 * So many packets were handed to the core (or are in its hands), of so many
 * receive buffers ever posted; both may wrap. A device that knows no address
 * handle of a sender says so (FLOW_AH_UNKNOWN), which is good only for what it
 * received before there was one. So call it before flow_peer_set_ah for a new
 * handle and before a packet of an unknown handle is given to flow_rx_accept;
 * who never does has them all accepted.
 */
void flow_core_received(flow_core_t *core, uint32_t taken, uint32_t posted);

typedef struct flow_counters {
    uint64_t drops[FLOW_DROP_LAST];
    uint64_t delivered;     /* in order at once or from a hold                */
    uint64_t held;          /* packets that came early                        */
    uint64_t stalls;        /* a sender met its limit                         */
    uint64_t starved;       /* a receiving flow had to wait for buffers       */
    uint64_t limits_alone;  /* limit packets of their own                     */
    uint64_t ctl_sent;      /* control packets handed out, all kinds          */
    uint64_t rnr;           /* receiver-not-ready seen                        */
    uint64_t acks_alone;    /* UD: acknowledgements in packets of their own   */
    uint64_t timeouts;      /* UD: packets sent again after a time-out        */
    uint64_t fast_resends;  /* UD: packets sent again because later ones were
                               acknowledged                                   */
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

/* Trace ring and its running hash: the same inputs give the same hash (P9). */
uint64_t flow_core_trace_hash(const flow_core_t *core);

/*
 * Check every invariant of every flow, list and pool; NULL, or the expression
 * that is false. For tests and post-mortems: cost grows with flows.
 */
const char *flow_core_check(flow_core_t *core);

#ifdef __cplusplus
}
#endif

#endif
