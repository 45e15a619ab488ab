/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_TYPES_H_
#define BASE_TYPES_H_

#include <uct/ib/efa/efa_events.h>
#include <uct/ib/efa/efa_qp.h>

#include "base_ah.h"
#include "base_config.h"
#include "base_op.h"
#include "base_rxq.h"

/* The state of interfaces and endpoints, which know each other. */

typedef struct base_ep base_ep_t;

typedef struct base_iface base_iface_t;

/* Where a completed send says nothing of the peer, and a message is over when
 * it was acknowledged (flow/resend.h). */
typedef struct base_acks {
    /* A post of a message is complete. Runs no callback. */
    void (*sent)(base_iface_t *iface, base_op_t *op, unsigned vendor_err);
    /* Completes the messages that are over. Returns how many there were. */
    unsigned (*release)(base_iface_t *iface);
} base_acks_t;

/* Differences between the transports. */
typedef struct base_transport {
    const char   *name;   /* in messages, and as a folder of UCX's files */
    const char   *prefix; /* of its variables */
    efa_qp_kind_t qp_kind;
    void (*release_desc)(uct_recv_desc_t *self, void *desc); /* base_rxq.h */
    flow_time_t   goodbye_time; /* ns that closing waits for goodbyes */
    /* The protocol core's parameters, but for those of the interface itself. */
    void (*flow_params)(flow_params_t *params);
    /* Meaning of the device's status of a completion (0: success): for users,
     * and for the protocol core. */
    ucs_status_t       (*status)(unsigned vendor_err);
    flow_send_status_t (*flow_status)(unsigned vendor_err);
    const base_acks_t *acks; /* NULL: a completed send was delivered */
} base_transport_t;

/* Work of progress before it polls. */
enum {
    BASE_TODO_RX     = 1 << 0, /* polled_rx */
    BASE_TODO_TX     = 1 << 1, /* polled_tx */
    BASE_TODO_BROKEN = 1 << 2, /* the device failed: nothing is polled */
    BASE_TODO_REPLAY = 1 << 3, /* a replay of UCP's is over (base_wireup.c) */
    BASE_TODO_MEMORY = 1 << 5, /* packets wait for memory */
    BASE_TODO_TOLD   = 1 << 4, /* a user was told of a failure a short time
                                   ago: rounds of progress are counted */
    BASE_TODO_RETRY  = 1 << 6, /* RDMA waits to be posted again */
    BASE_TODO_LATER  = 1 << 7, /* messages were taken where nothing could be
                                   delivered (base_rx.h) */
    BASE_TODO_LOOKED = 1 << 8, /* set by a look of srd_info --top from another
                                  thread, cleared by progress, which so shows
                                  that it runs; may get lost, with the same
                                  meaning (base_top_look.c) */
    BASE_TODO_PROBE  = 1 << 9, /* answers of peers are waited for
                                   (base_probe.h) */
    BASE_TODO_DRAIN  = 1 << 10, /* a send waits for completions, or many lie
                                   there */
    BASE_TODO_LATE   = BASE_TODO_RETRY | BASE_TODO_LOOKED | BASE_TODO_PROBE |
                     BASE_TODO_DRAIN /* nothing to do at once */
};

/* Extra work for each packet. */
enum {
    BASE_TRACED_LOG    = 1 << 0, /* a line, and the user's tracer */
    BASE_TRACED_COUNT  = 1 << 1, /* UCT's own statistics */
    BASE_TRACED_PREFIX = 1 << 2, /* the device put something ahead of it */
    BASE_TRACED_RECORD = 1 << 3  /* recorded, and so are the calls behind it */
};

/* Endpoints that failed, all to one peer for one cause, of which a line is to
 * be written (base_report.c). */
typedef struct base_report {
    uint8_t         gid[16]; /* of the peer, with its number */
    uint32_t        qpn;
    flow_end_t      why;
    int             spoke;   /* was the peer ever heard? */
    ucs_log_level_t level;
    ucs_status_t    status;  /* of the first, as the next two */
    uint8_t         ended_as; /* of base_ep_t */
    uint8_t         ended_by;
    unsigned        count;   /* not written yet */
    uint8_t         silent[16]; /* the last GID that was told to be silent */
    int             costly;  /* was a failure that costs something told? */
    int             crowded; /* was that said? */
    uint64_t        refused; /* the last peer to which there was no endpoint */
} base_report_t;

/* Where an endpoint is in its life; it moves forwards only (base_fail.c,
 * base_ep.c). */
typedef enum base_ep_state {
    BASE_EP_ALIVE,
    BASE_EP_FAILED,   /* nothing can be posted; status tells why */
    BASE_EP_DESTROYED /* the user has no pointer to it; operations return */
} base_ep_state_t;

/* State of an endpoint for srd_info --top (base_top_look.c): at the last look,
 * and summed up over the current second. */
typedef struct base_top_ep {
    flow_time_t since;          /* the oldest message began to wait; 0: none */
    uint64_t    bytes;          /* sent, put and got, an estimate */
    uint32_t    sent, received; /* messages */
    uint32_t    size;           /* bytes of a message, an estimate */
    uint32_t    blocked, refused; /* looks at which its user waited for a limit,
                                     or after receiver-not-ready */
    flow_psn_t  psn, oldest, rx_psn;
    uint16_t    lost;
    uint8_t     depth, wait; /* flow_look_t's */
} base_top_ep_t;

/* UCP's wire-up of an endpoint, as far as fences go (base_wireup.c). */
typedef enum base_wireup {
    BASE_WIREUP_NONE,
    BASE_WIREUP_ASKED, /* the request is out: UCP may hold requests back */
    BASE_WIREUP_REPLAY /* it hands them to us, and a fence is among them */
} base_wireup_t;

/* The request that is being dispatched (base_pending.c). */
typedef struct base_dispatch {
    uint8_t    took_one; /* it took its one RDMA operation, or flush */
    uint8_t    fenced;   /* a fence stands behind it */
    uint8_t    open;     /* the endpoint's flow lets a message pass, or all */
    flow_psn_t psn;      /* the endpoint's when it began */
    unsigned   idle;     /* progress calls in vain while requests waited */
    uint8_t    cut;      /* the last round ended while more could go on, or
                            since then an endpoint can: the next one does */
    uint8_t    parted;   /* that one goes on behind the endpoints that had
                            their turn */
    uint8_t    lacked;   /* this request found no free operation */
    uint8_t    refused;  /* its message found the flow's window shut */
    base_ep_t *stuck;    /* first of this round that could not go on, or NULL */
    base_ep_t *turn;     /* first that was passed by since there was none: it
                            gets the next one that is not of the reserve */
    uint8_t     held;       /* the ring waits for a list's operations */
    flow_time_t held_since;
    flow_time_t held_in_vain; /* when it last did */
} base_dispatch_t;

/* Completions that were polled and not processed yet (base_polled.c). */
typedef struct base_polled {
    efa_wc_t   rx;
    base_op_t *tx, **tx_tail; /* oldest first */
    const efa_wc_t *rest, *rest_end; /* and these, of a batch that waits for a
                                        callback; rest is NULL: of none */
} base_polled_t;

/* RDMA that the peer's device did not know us for (base_retry.c). */
typedef struct base_retries {
    base_op_t  *first, **tail;
    flow_time_t due;
} base_retries_t;

/* Packets that wait (base_rx.c): for memory, oldest first; and flows, by their
 * tokens, whose messages were taken and not delivered. */
typedef struct base_rx_waits {
    base_rxbuf_t *first, **tail;
    uint32_t     *later; /* NULL: that is never done */
    unsigned      later_max, later_count;
} base_rx_waits_t;

/* The common part of SRD and UD interfaces: queue pair, pools, core. */
struct base_iface {
    ucx_iface_base_t super;

    /* the data path */
    flow_core_t   *core;
    efa_qp_t       qp;
    base_op_pool_t ops;
    uint64_t       ops_posted, ops_done; /* operations of users, since open */
    uint64_t       ctl_ops; /* control packets at the device */
    unsigned       rma_ops; /* RMA that is not done */
    unsigned       ops_delayed; /* of messages that are not posted yet */
    uint64_t       rma_posted; /* of ops_posted */
    uint64_t       received;   /* messages handed up */
    size_t         max_payload; /* bytes of an active message, headers apart */
    unsigned       short_max; /* shorter payloads take the shortest way: inside
                                 the work request, not traced */
    uintptr_t      todo;   /* BASE_TODO_ */
    uint8_t        traced; /* BASE_TRACED_: no short ways for packets */
    uint8_t        acked;  /* transport->acks is not NULL */
    uint8_t        am_other; /* every message is BASE_OUT_AM_OTHER */
    uint8_t        put_flush; /* a put ends with a read behind it */
    flow_time_t    now;    /* as last read: when a timer is set or runs */
    base_rxq_t     rxq;

    /* pending */
    base_ep_t *pending; /* ring of endpoints with requests, or NULL */
    base_ep_t *shut;    /* the same of those whose flows send nothing */
    uintptr_t  waiting; /* how many endpoints both have */
    base_ep_t *serving; /* whose request is being dispatched, or NULL */
    base_dispatch_t dispatch;
    uint32_t   fences;       /* ever */
    uint32_t   replays;      /* that were over, ever */
    uint32_t   rounds;       /* of progress, while BASE_TODO_TOLD is set */
    uint32_t   rounds_end;   /* when it is no longer */
    uint32_t   lax_calls;    /* of progress, and its completions, since the
                                clock was last asked, that found flow_is_lax */

    /* the rest */
    const base_transport_t *transport;
    base_ah_table_t    ahs;
    efa_events_t       events;
    record_t          *recorder; /* base_record.h, or NULL */
    struct base_flow_block *core_chunks; /* the core's (base_flow.c) */
    struct base_probe *probes;      /* base_probe.c, or NULL */
    struct base_probe *probe_next;  /* of them, to be looked at */
    unsigned           endpoints;   /* alive, destroyed ones that linger too */
    unsigned           greeted;     /* sum of the endpoints' */
    base_ep_t         *alive;       /* the user's endpoints; changes under
                                       base_vfs_lock */
    base_ep_t         *lingering;   /* destroyed with operations outstanding */
    uint32_t           qpn; /* also when the queue pair is gone */
    uint32_t           qkey;
    uint64_t           incarnation;
    flow_time_t        get_short_time; /* ns that it waits; 0: not offered */
    base_rx_waits_t    waits;
    base_report_t      report;
    int                broken; /* the device failed; said once */
    uint64_t          *stats;  /* UCX's copy of our numbers, or NULL */
    int                trace_level; /* ucs_log_level_t of packets */
    base_iface_t      *vfs_next; /* of the open ones (base_vfs.c) */

    base_polled_t  polled;
    flow_time_t    impatient_until; /* base_reclaim_wait waits little */
    base_retries_t retry;
    int            is_quiet; /* no callback may run now */
    uct_iface_ops_t unchecked; /* behind base_checked.c's */
    struct base_top *top;    /* base_top.h, or NULL */
};

/* Messages that wait for their flow's window, each filled in its operation, and
 * the first of their endpoint's requests, which posts them (base_am.c). */
typedef struct base_delayed {
    uct_pending_req_t req;
    base_out_t       *first, **tail; /* linked by next; NULL: none */
    unsigned          opened; /* times that the window opened again */
} base_delayed_t;

struct base_ep { /* begins a cache line, which has all that a message needs */
    ucx_ep_base_t super;
    flow_tx_t    *tx;
    efa_dest_t    dest;
    unsigned      flushes; /* markers in the queue */
    uint8_t       is_flushed; /* flushes is not 0, by one instruction */
    uint8_t       fenced;  /* until rma_ops is 0 */
    uint8_t       state;   /* base_ep_state_t; the first line ends here */
    base_out_t    queue;   /* head of the outstanding; .next is oldest */
    unsigned      rma_ops; /* in the queue */
    uint8_t       reported; /* the error handler was called, or need not be */
    uint8_t       unused;  /* it failed, nobody handles that, and nothing was
                              lost yet (base_fail_ep_report) */
    uint8_t       rma_asked;   /* RMA had to wait for the peer's answer */
    uint8_t       rma_refused; /* and the user was told */
    uint8_t       rma_worked;  /* some RMA ended well */
    uint8_t       is_shut; /* it is in the ring of that name */
    uint8_t       rma_blocked; /* RMA found no operation: its request follows */
    uint8_t       greeted; /* 1: its peer may still answer for the first time */
    union {
        struct {
            uint8_t wireup;    /* base_wireup_t */
            uint8_t permitted; /* RMA of the request that is being dispatched
                                  may pass others, and was not posted yet */
        };
        uint16_t  rma_unusual; /* either: more is to be done when it is */
    };
    uint16_t      list_needs; /* operations that a refused list waits for */
    uint16_t      held;   /* uses behind callbacks that run (base_ep_list.h) */
    uint8_t       ended_as; /* base_out_kind_t of what failed it */
    uint8_t       ended_by; /* its completion's efa_status_t; 0: none did */
    uint8_t       table_read; /* a peer's table of keys comes: RMA waits */
    ucs_status_t  status; /* UCS_OK while alive */
    uint32_t      wireup_seen; /* ASKED: fences then; REPLAY: progress then */
    uint32_t      told;    /* iface->rounds when it was reported */

    uint64_t            reserve_seen; /* flow_reserve_moves */
    flow_time_t         pinged;  /* when base_fail_ep_ping last took a look */
    base_refused_t      refused;
    uct_pending_req_t  *requests; /* oldest first, linked by priv */
    uct_pending_req_t **requests_tail;
    base_ep_t          *ring_prev, *ring_next; /* while requests is not NULL */
    base_delayed_t      delayed;

    base_ah_t *ah;
    base_ep_t *list_prev, *list_next; /* of the alive, then of the lingering */
    base_top_ep_t top;
    struct srd_gpu_peer *peer; /* srd_gpu's part, or NULL */
};

static inline efa_md_t *base_iface_md(const base_iface_t *iface)
{
    return iface->qp.md;
}

static inline base_iface_t *base_ep_iface(const base_ep_t *ep)
{
    return (base_iface_t*)ep->super.super.iface;
}

static inline const char *base_ep_device(const base_ep_t *ep)
{
    return base_iface_md(base_ep_iface(ep))->device->name;
}

/* Whether the device may have work requests of ours (or one waits to be sent
 * again). */
static inline int base_iface_is_sending(const base_iface_t *iface)
{
    return ((iface->ops_posted - iface->ops_done) | iface->ctl_ops) != 0;
}

/* Whether the device has an operation that is not over; else it waits for the
 * protocol core to send it again, or (acks) for an acknowledgement. */
static inline int
base_op_is_posted(const base_iface_t *iface, const base_op_t *op)
{
    return iface->acked ? flow_resend_is_posted(&op->flow) : !op->flow.linked;
}

/* Nothing is outstanding. */
static inline int base_ep_is_idle(const base_ep_t *ep)
{
    return (ep->queue.next == &ep->queue) &&
           ((ep->tx == NULL) || (flow_tx_outstanding(ep->tx) == 0));
}

#endif
