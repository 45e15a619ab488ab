/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state itself. Only src/flow and the inline functions of its headers look
 * inside; callers use the functions.
 *
 * Objects are named by index; index 0 is no object. They lie in chunks that
 * never move, so a pointer stays good while others are opened.
 */
#ifndef FLOW_STATE_PRIV_H_
#define FLOW_STATE_PRIV_H_

#include "flow/core.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    FLOW_CHUNK_SHIFT = 8, /* objects of one chunk: 256 (rings: 32)            */
    FLOW_CHUNK       = 1 << FLOW_CHUNK_SHIFT,
    FLOW_CHUNKS_MAX  = FLOW_INDEX_MAX >> FLOW_CHUNK_SHIFT,
    FLOW_RING_SHIFT  = 5,
    FLOW_RING_CHUNKS = FLOW_INDEX_MAX >> FLOW_RING_SHIFT, /* one per flow     */
    FLOW_ADVERTISED_BITS = 7
};

/* States of a sending flow; tx.c has the table of transitions. */
typedef enum flow_tx_state {
    FLOW_TX_FREE,
    FLOW_TX_HELLO,   /* hello not answered; long headers, initial window      */
    FLOW_TX_OPEN,    /* answered: short headers                               */
    FLOW_TX_LINGER,  /* closed by the user, sends or goodbye outstanding      */
    FLOW_TX_FAILED,  /* failed, the user has not closed it                    */
    FLOW_TX_GONE     /* free but for its place in the list of its peer        */
} flow_tx_state_t;

/*
 * The record is small because it stays while nothing is in flight: 10,000 peers
 * have 10,000 of them. A field of FLOW_INDEX_BITS names a record, 0 none; one
 * bit more says of which kind.
 */
#define FLOW_TURN_RX (1u << FLOW_INDEX_BITS)
struct flow_tx {
    uint64_t   hdr;       /* next header word: number, token, limit, flags    */
    uint64_t   busy;      /* flow_psn_bit: taken and not completed            */
    flow_psn_t stop;      /* the number that may not be sent: the one compare */
    flow_psn_t limit;     /* as the receiver said                             */
    flow_psn_t una;       /* oldest number that may be uncompleted (lazy)     */
    uint8_t    paused : 4; /* enum flow_tx_pause                              */
    uint8_t    why    : 4; /* flow_end_t, once it failed                      */
    uint8_t    wait;      /* enum flow_tx_wait; a completion asks. A message
                             needs these three words                          */
    void      *cookie;    /* the transport's endpoint                         */
    uint32_t   ep;        /* number of this endpoint, never reused: its index
                             and, above, the uses of that index               */
    uint32_t   carries;   /* PAIRED: receive flow of the pair, 0 if gone;
                             AWAITS: its endpoint number, it is not known yet */
    uint64_t   peer       : FLOW_INDEX_BITS;
    uint64_t   peer_next  : FLOW_INDEX_BITS; /* next flow to the same peer    */
    uint64_t   ring       : FLOW_INDEX_BITS; /* UD: of operations that are not
                                                acknowledged                  */
    uint64_t   state      : 3; /* flow_tx_state_t                             */
    uint64_t   rma        : 2; /* flow_rma_t: what the answer said            */
    uint64_t   flags      : 8; /* enum flow_tx_flags                          */
    uint64_t   ctl_next   : FLOW_INDEX_BITS + 1;
    uint64_t   event_next : FLOW_INDEX_BITS;
    uint64_t   events     : 6; /* due for flow_event_next                     */
    uint64_t   ctl        : 7; /* control packets due                         */
    uint64_t   ctl_out    : 4; /* control packets handed out and not done     */
    uint64_t   backoff    : 4; /* level of the next receiver-not-ready        */
    uint64_t   linked     : 7; /* flow_op_t of this flow in back-off;
                                  UD: unanswered control packets in a row     */
};

typedef enum flow_rx_state {
    FLOW_RX_FREE,
    FLOW_RX_STRANGER, /* data came before the hello: the initial window only  */
    FLOW_RX_ACTIVE,
    FLOW_RX_FAILED,   /* packets were lost; a reset is being sent             */
    FLOW_RX_PARTED,   /* UD: ended by its sender; stays a while so that
                         repeated or late packets find it, and are confirmed  */
    FLOW_RX_CLOSED,   /* done with; waits only to leave the lists             */
    FLOW_RX_GONE      /* free but for its place in the list of its peer       */
} flow_rx_state_t;

/* Small for the same reason as struct flow_tx. Each packet needs the first
 * three words, which therefore lie together: most records have them in one
 * cache line. */
struct flow_rx {
    uint64_t   expect;     /* header word of the next packet, its limit as last
                              seen, message id 0; it names our index and
                              generation. FLOW_RX_SHUT: fits none             */
    flow_src_t src;        /* its sender                                      */
    flow_psn_t limit;      /* what is accepted: packets before this number    */
    /* low bits of numbers that are at most a window away from a whole one:   */
    uint8_t    look_low;   /* of the consumed number at which more is granted;
                              set by flow_grant_next_look                     */
    union {
        uint8_t raised_low; /* CARRIED: of the pair's next number when the
                               limit was raised last: still that, no header has
                               told the limit                                 */
        uint8_t final_low;  /* FINAL: of the goodbye's number                 */
    };
    uint64_t   ring       : FLOW_INDEX_BITS; /* of held packets               */
    uint64_t   ctl_next   : FLOW_INDEX_BITS + 1;
    uint64_t   starved_next : FLOW_INDEX_BITS; /* on either of its lists      */
    uint64_t   flags      : 8; /* enum flow_rx_flags                          */
    uint64_t   backoff    : 4;
    uint64_t   peer       : FLOW_INDEX_BITS;
    uint64_t   peer_next  : FLOW_INDEX_BITS;
    uint64_t   pair       : FLOW_INDEX_BITS; /* sending flow whose limit its
                                                packets carry                 */
    uint64_t   state      : 3; /* flow_rx_state_t                             */
    uint64_t   ctl        : 7; /* control packets due                         */
    uint64_t   lists      : 2; /* enum flow_lists: on which it is             */
    uint64_t   used       : 1; /* it came to look_low, or was given credits,
                                  since the hand's last visit (active), or since
                                  it was silent or recalled (calm)            */
    uint32_t   ep;         /* number of the sending endpoint                  */
    uint32_t   counted_low    : 8; /* of the consumed number: active, up to
                                      which core->owed was lowered; calm, at the
                                      hand's last visit                       */
    uint32_t   advertised_low : FLOW_ADVERTISED_BITS; /* of the limit that was
                              put into a packet last, or that the sender's show
                              it to know; RECALLED: of the lower one          */
    uint32_t   hash_next  : FLOW_INDEX_BITS;
};

/* A message id, so that no packet fits the word: they are compared without. */
#define FLOW_RX_SHUT 1ull

/* The sets of bits below end with one more than their last bit, by which
 * limits.c knows whether all fit in their field. */
enum flow_rx_flags {
    FLOW_RXF_PAIRED  = 1u << 0, /* has or had a pair: never gets another      */
    FLOW_RXF_CARRIED = 1u << 1, /* the pair's headers carry our limit         */
    FLOW_RXF_FINAL   = 1u << 2, /* goodbye seen, earlier packets missing      */
    FLOW_RXF_GRANTED = 1u << 3, /* grant.c knows it                           */
    FLOW_RXF_ACTIVE  = 1u << 4, /* its credits are in core->owed; without this
                                   it is calm. (FLOW_RX_ACTIVE is a state: its
                                   hello was seen.)                           */
    FLOW_RXF_RECALLED = 1u << 5, /* the sender shall use less than its limit  */
    /* two meanings, by the state: */
    FLOW_RXF_OVERRUN = 1u << 6, /* STRANGER, SRD: it lost what was beyond its
                                   window: it fails when it says hello        */
    FLOW_RXF_EARNED  = 1u << 6, /* state ACTIVE: it used so much that it may
                                   have FLOW_CALM_EARNED, and that one recall
                                   is worth its cost                          */
    FLOW_RXF_UNLISTED = 1u << 7, /* PARTED: off the list of its peer, by a
                                   reference                                  */
    FLOW_RXF_MOVED   = 1u << 7, /* state ACTIVE, calm: consumed something since
                                   the last round of the hand that recalls    */
    FLOW_RXF_END
};

enum flow_tx_flags {
    FLOW_TXF_PAIRED  = 1u << 0, /* has or had a pair                          */
    FLOW_TXF_CARRIES = 1u << 1, /* our headers have the limit of the pair     */
    FLOW_TXF_AWAITS  = 1u << 2, /* carries is an endpoint number to come      */
    FLOW_TXF_ASKED   = 1u << 3, /* UD: asked at this limit                    */
    FLOW_TXF_HELLOED = 1u << 4, /* a hello was handed out                     */
    FLOW_TXF_RMA     = 1u << 5, /* the user wants RMA                         */
    FLOW_TXF_LAST    = 1u << 6, /* goodbye or reset was sent, or is pointless */
    FLOW_TXF_END
};

enum flow_tx_wait {
    FLOW_WAIT_STOP  = 1u << 0, /* FLOW_EVENT_TX_READY is owed                 */
    FLOW_WAIT_DRAIN = 1u << 1, /* closed: goodbye once nothing is out         */
    FLOW_WAIT_RESET = 1u << 2, /* to end by a reset, not a goodbye            */
    FLOW_WAIT_PART  = 1u << 3, /* UD: goodbye or reset is out, not confirmed */
    FLOW_WAIT_PONG  = 1u << 4, /* UD: ping is out, nothing was heard since    */
    FLOW_WAIT_RNR   = 1u << 5, /* receiver-not-ready: nothing new until all
                                  that is out has arrived                     */
    FLOW_WAIT_LAP   = 1u << 6, /* the same, since it carries limits (lap.c)   */
    FLOW_WAIT_HELLO = 1u << 7, /* SRD: its hello was refused: nothing goes until
                                  that has ended otherwise (tx.c)             */
    FLOW_WAIT_END,
    FLOW_WAIT_EMPTY = FLOW_WAIT_RNR | FLOW_WAIT_LAP
};

enum flow_lists {
    FLOW_LIST_STARVED = 1u << 0,
    FLOW_LIST_PARTED  = 1u << 1, /* by starved_next                           */
    FLOW_LIST_END
};

/* State of an operation on UD. */
enum flow_op_flags {
    FLOW_OPF_POSTED = 1u << 0, /* its post has not completed                  */
    FLOW_OPF_OVER   = 1u << 1, /* acknowledged, or its flow failed            */
    FLOW_OPF_FAILED = 1u << 2,
    FLOW_OPF_AGAIN  = 1u << 3, /* was sent more than once                     */
    FLOW_OPF_PROBE  = 1u << 4, /* the last time to ask, with nothing known    */
    FLOW_OPF_END
};

typedef enum flow_peer_state {
    FLOW_PEER_FREE,
    FLOW_PEER_UNKNOWN, /* only its incarnation is known                       */
    FLOW_PEER_KNOWN,   /* address known, the caller has not set a handle yet,
                          or nothing got through: control packets wait        */
    FLOW_PEER_READY,   /* control packets may go                              */
    FLOW_PEER_DEAD     /* also remembered for a while after its last flow     */
} flow_peer_state_t;

struct flow_peer {
    uint64_t incarnation;
    uint64_t gid;             /* lower half, as in memory                     */
    void    *cookie;
    uint32_t qpn    : 24;
    uint32_t prefix : 6;      /* of core->prefixes: upper half of its GID     */
    uint32_t lapped : 1;      /* no control packets until none is out (lap.c) */
    uint32_t spoke  : 1;      /* it was heard, or something got through to it */
    uint32_t qkey;
    uint64_t ah         : 16;
    uint64_t young      : 2;  /* its handle may be younger than packets that
                                 are still to come                            */
    uint64_t live       : FLOW_INDEX_BITS; /* sending flows that neither failed
                                              nor were closed                 */
    uint64_t parked     : FLOW_INDEX_BITS + 1; /* last of its flows whose
                                 control packets wait for their turn (turn.c) */
    uint64_t ctl_out    : 4;  /* control packets handed out and not done      */
    uint64_t woken      : 4;  /* flows in a queue that had waited with it     */
    uint64_t answers    : 1;  /* the last one that ended got through          */
    uint64_t entombed   : 1;  /* on core->tombstones                          */
    uint64_t rival      : 1;  /* another is known at its GID and QPN, which is
                                 dead if this one lives                       */
    uint64_t index      : FLOW_INDEX_BITS;
    uint64_t hash_next  : FLOW_INDEX_BITS; /* by incarnation                  */
    uint64_t addr_next  : FLOW_INDEX_BITS; /* by GID and QPN                  */
    uint64_t refs       : FLOW_PEER_REF_BITS; /* flows that need it and are not
                                                 on its lists                 */
    uint64_t tx_list    : FLOW_INDEX_BITS; /* of a tombstone, which has none:
                                              the next tombstone              */
    uint64_t rx_list    : FLOW_INDEX_BITS;
    uint64_t event_next : FLOW_INDEX_BITS;
    uint64_t events     : 4;
    uint64_t state      : 3;  /* flow_peer_state_t                            */
    uint64_t rma        : 2;  /* flow_rma_t: may it use RMA on us?            */
    uint64_t introduced : 1;  /* the caller knows it: it gets PEER_GONE       */
    uint64_t handled    : 1;  /* the caller set an address handle             */
    uint64_t addressed  : 1;  /* address complete and in the address index    */
    uint64_t heard      : 1;  /* it was heard, and no control packet that was
                                 handed out since then can say otherwise      */
};

/* Hosts differ in the lower half; the upper one is that of their network. */
typedef struct flow_prefix {
    uint64_t gid;
    uint32_t peers;
} flow_prefix_t;

/*
 * UD: a sending flow's knowledge of the way to its receiver (path.c). It stays
 * while nothing is in flight; SRD has none. Times in stamps.
 */
#define FLOW_STAMP_SHIFT 6 /* a stamp is 64 ns                                */
typedef struct flow_path {
    uint32_t   window;  /* congestion window, in 1/2^16 packets               */
    uint32_t   rtt;     /* smoothed round trip; 0: not known                  */
    uint32_t   var;     /* its mean deviation                                 */
    uint32_t   latest;  /* the last one seen                                  */
    uint32_t   least;   /* the least seen                                     */
    uint32_t   base;    /* the least in the last epoch ...                    */
    uint32_t   lately;  /* ... and in this one, ...                           */
    uint32_t   epoch;   /* ... which began then                               */
    uint32_t   round;   /* when this round trip began ...                     */
    uint32_t   round_sum, round_count; /* ... and what was seen in it         */
    uint32_t   cut;     /* when the window was halved last                    */
    uint32_t   ahead;   /* the receiver's clock less ours, if `told`          */
    uint32_t   pressed; /* when the whole window was in use last              */
    uint32_t   behind;  /* what was sent behind a drain arrived last          */
    uint32_t   hello;   /* when the hello was sent; 0: several were           */
    uint32_t   sent;    /* when a packet was sent last                        */
    uint32_t   silent;  /* when the first of the tries was                    */
    uint32_t   spoke;   /* when the other side was told a clock though headers
                           acknowledge ...                                    */
    flow_psn_t spoke_psn; /* ... and up to which of its messages              */
    uint32_t   newest;  /* when the newest of those that arrived was sent ... */
    flow_psn_t newest_psn; /* ... and which it is                             */
    uint16_t   bad;     /* part of the packets that is lost, in 1/2^16        */
    uint16_t   calm;    /* packets acknowledged since a queue overflowed, up to
                           a bound                                            */
    uint8_t    tries;   /* time-outs since something was acknowledged         */
    uint8_t    start;   /* slow start                                         */
    uint8_t    told;    /* an acknowledgement has told the receiver's clock   */
    uint8_t    duplex;  /* our host has other traffic                         */
    uint8_t    trust;   /* in base as the way's own: FLOW_DRAIN_TRUST         */
    uint8_t    rounds;  /* since a queue overflowed, up to a bound            */
    uint32_t   reorder; /* how late they come, of late                        */
    uint32_t   seed;
    uint32_t   kept_window; /* before some packets counted as lost; 0: that is
                               settled                                        */
    uint16_t   kept_calm;
    uint16_t   suspects; /* such packets that did not arrive late             */
    uint16_t   heard;    /* messages the receiver has delivered of all flows  */
    flow_psn_t in_order; /* the next that it wants of this one                */
    uint16_t   local;    /* messages our host has delivered of all flows      */
    uint16_t   all, own; /* messages of all flows of both hosts, and of this
                            one, halved from time to time                     */
} flow_path_t;

/* UD: the operations of a sending flow that are not acknowledged (resend.c),
 * with its alarm (alarm.c). */
typedef struct flow_unacked {
    uint64_t    lost;  /* flow_psn_bit: to be sent again when the window
                          allows it                                           */
    flow_time_t due;   /* of the alarm                                        */
    uint32_t    tx;    /* the sending flow; 0: it has gone                    */
    uint32_t    place; /* of this ring among the alarms, 0: it has none       */
    uint32_t    heap;  /* which ring has the place of this one's index        */
} flow_unacked_t;

/* A slot for each number of a window: packets that a receiving flow holds
 * (ring.h), or operations of a sending flow. */
typedef struct flow_ring {
    uint64_t       mask;    /* flow_psn_bit: the slot is taken                */
    uint32_t       next, index;
    uint32_t       bytes;   /* of a stranger: what it holds, about            */
    flow_unacked_t unacked; /* of a sending flow                              */
    void          *slot[FLOW_MAP_BITS];
} flow_ring_t;

/* Three indices in one table. */
enum flow_index {
    FLOW_INDEX_INCARNATION, /* peers                                          */
    FLOW_INDEX_ADDR,        /* peers by GID and QPN                           */
    FLOW_INDEX_RX,          /* receiving flows by peer and endpoint number    */
    FLOW_INDEX_LAST
};

/* First in, first out, linked by one of the *_next fields; 0 ends it. */
typedef struct flow_fifo {
    uint32_t head, tail, count;
} flow_fifo_t;

/*
 * Back-off of one level: the first entry opens a wait of delay; entries during
 * it gather for the next. No entry needs a time of its own, and each waits
 * between one and two delays.
 */
typedef struct flow_batch {
    flow_time_t from, due;
    flow_fifo_t tx_wait, tx_gather; /* flows with control packets due         */
    flow_fifo_t rx_wait, rx_gather;
    flow_op_t  *op_wait, *op_gather;
} flow_batch_t;

typedef struct flow_op_list {
    flow_op_t *head, *tail;      /* linked by next; tail is set when head is  */
} flow_op_list_t;

typedef struct flow_trace_entry {
    uint16_t what;
    uint16_t psn;
    uint32_t ep;
    uint64_t arg;
} flow_trace_entry_t;

struct flow_core {
    uint32_t      rx_count;      /* slots handed over                         */
    uint32_t      ctl_pending;
    uint32_t      event_pending;
    flow_time_t   timer_next;
    uint32_t      only_ticks;    /* timers that run: the hand's tick, or none */
    void         *user;          /* flow_core_user                            */
    flow_rx_t    *rx_chunks[FLOW_CHUNKS_MAX]; /* the first: in the same line  */

    flow_params_t params;
    flow_tx_t    *tx_chunks[FLOW_CHUNKS_MAX];
    flow_peer_t  *peer_chunks[FLOW_CHUNKS_MAX];
    flow_ring_t  *ring_chunks[FLOW_RING_CHUNKS];
    uint32_t      tx_count, peer_count, ring_count;
    flow_fifo_t   tx_free, rx_free, peer_free, ring_free;

    uint32_t     *hash;          /* heads of chains: enum flow_index          */
    uint32_t      hash_size;     /* of each index; power of two               */
    flow_prefix_t prefixes[FLOW_PREFIXES]; /* the first is our own            */
    flow_fifo_t   tombstones;    /* dead peers without flows, oldest first    */

    flow_fifo_t   ctl_tx, ctl_rx; /* flows with control packets due now       */
    uint32_t      ctl_out;       /* control packets handed out and not done   */
    uint32_t      ctl_asking;    /* of them those of sending flows            */
    uint8_t       ctl_open_rx, ctl_open_tx; /* packets of theirs may go       */
    uint32_t      posted_ever;   /* the last call of flow_peer_age            */
    uint32_t      young_any;     /* is any peer?                              */
    uint32_t      young_last;    /* posted_ever at the newest handle          */
    uint32_t      young_mark;    /* and when young was counted down last      */
    uint32_t      gone;          /* FLOW_TX_GONE and FLOW_RX_GONE             */
    flow_fifo_t   event_tx, event_peer, event_ring;
    flow_fifo_t   starved;       /* receiving flows without credits           */
    int64_t       owed;          /* credits of active flows that are out, or
                                    were consumed of late                     */
    uint32_t      granted;       /* receiving flows with FLOW_RXF_GRANTED     */
    uint32_t      active;        /* of them those with FLOW_RXF_ACTIVE        */
    int64_t       lent;          /* credits that calm flows were given since a
                                    tick without backlog, or FLOW_LENT_TICKS  */
    uint32_t      hand;          /* flow that hand.c visited last, 0: none in
                                    this round                                */
    uint32_t      round;         /* of the hand                               */
    uint32_t      moved;         /* has a flow moved in it?                   */
    uint32_t      quiet;         /* rounds in a row in which none did         */
    uint32_t      ticks;         /* since the last visits                     */
    uint32_t      lent_ticks;    /* since lent was 0                          */
    uint32_t      backlog;       /* flow_core_rx_backlog                      */
    uint32_t      backlog_ticks; /* ticks in a row at which there was one     */
    uint32_t      scarce_at;     /* rx_posted at the last RX_SCARCE           */
    uint32_t      event_scarce;  /* FLOW_EVENT_RX_SCARCE is due               */
    flow_time_t   tick_due;
    uint64_t      random;        /* of flow_timer_random                      */
    flow_op_list_t repost;       /* to be sent again now                      */
    flow_op_list_t release;      /* UD: over, the caller's again              */
    flow_batch_t  batch[FLOW_LEVELS];
    flow_fifo_t   parted_wait, parted_gather;
    flow_time_t   parted_due;
    flow_time_t   now;           /* UD: as the caller said                    */
    uint64_t      told;          /* UD: messages that receivers told to have  */
    uint32_t      alarms;        /* UD: rings that have one                   */
    int           hold_all;      /* flow_rx_accept_held is running            */
    uint32_t      stranger_pos;  /* in strangers: the next, modulo their max */
    uint32_t      stranger_look; /* likewise: where to look for who holds     */
    uint64_t      stranger_bytes; /* held                                     */

    flow_counters_t    counters;
    uint64_t           trace_hash;
    uint32_t           trace_pos;
    uint32_t           trace_off; /* flow_trace_end                           */
    flow_trace_entry_t trace[FLOW_TRACE_LEN];
    uint32_t           strangers[FLOW_STRANGERS]; /* tokens                   */
    uint64_t           expired[FLOW_EXPIRED + 1]; /* hashes; 0 is none        */
    uint16_t           expired_next[FLOW_EXPIRED + 1]; /* in chains by hash   */
    uint16_t           expired_head[FLOW_EXPIRED];
};

/* The word of flow_core_set_user. One load. */
static inline void *flow_core_user(const flow_core_t *core)
{
    return core->user;
}

static inline flow_rx_t *flow_core_rx(const flow_core_t *core, uint32_t index)
{
    return &core->rx_chunks[index >> FLOW_CHUNK_SHIFT]
                           [index & (FLOW_CHUNK - 1)];
}

static inline flow_tx_t *flow_core_tx(const flow_core_t *core, uint32_t index)
{
    return &core->tx_chunks[index >> FLOW_CHUNK_SHIFT]
                           [index & (FLOW_CHUNK - 1)];
}

static inline flow_peer_t *flow_core_peer(const flow_core_t *core,
                                          uint32_t index)
{
    return &core->peer_chunks[index >> FLOW_CHUNK_SHIFT]
                             [index & (FLOW_CHUNK - 1)];
}

static inline flow_ring_t *flow_core_ring(const flow_core_t *core,
                                          uint32_t index)
{
    return &core->ring_chunks[index >> FLOW_RING_SHIFT]
                             [index & ((1u << FLOW_RING_SHIFT) - 1)];
}

/* UD: the path of a sending flow, behind the flows of its chunk. */
static inline flow_path_t *flow_core_path(const flow_core_t *core,
                                          uint32_t index)
{
    return (flow_path_t*)(core->tx_chunks[index >> FLOW_CHUNK_SHIFT] +
                          FLOW_CHUNK) + (index & (FLOW_CHUNK - 1));
}

static inline int flow_is_ud(const flow_core_t *core)
{
    return core->params.profile == FLOW_UD;
}

#ifdef __cplusplus
}
#endif

#endif
