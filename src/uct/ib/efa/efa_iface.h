/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFA_IFACE_H_
#define EFA_IFACE_H_

#include "efa_ah.h"
#include "efa_events.h"
#include "efa_op.h"
#include "efa_qp.h"
#include "efa_rxq.h"

typedef struct efa_ep efa_ep_t;

#define EFA_STATUS_FLUSHED 1 /* the queue pair is gone, and not by us */
#define EFA_STATUS_REFUSED 14 /* the peer's device has no handle for us */
#define EFA_STATUS_UNKNOWN 12 /* "bad status", for an error without a number */

/* Settings of an interface, after the configuration table was parsed, and what
 * its opener wants. */
typedef struct efa_iface_config {
    unsigned tx_depth;   /* operations in flight */
    unsigned rx_initial; /* receives posted at open */
    unsigned rx_max;     /* receive buffers at most */
    unsigned window;     /* packets granted to one peer */
    unsigned rnr_retry;  /* of the device, before it comes back to us */
    unsigned max_ah;
    unsigned inline_max; /* bytes in a work request, as far as there is room */
    double   get_short;  /* seconds that get_short waits; 0: not offered */
    efa_rxq_layout_t rx_layout; /* packet_size apart */
    int      counted;    /* UCT's own statistics are kept */
} efa_iface_config_t;

/* What progress sees to before it polls. */
enum {
    EFA_ATTEND_RX     = 1 << 0, /* stash_rx */
    EFA_ATTEND_TX     = 1 << 1, /* stash_tx */
    EFA_ATTEND_BROKEN = 1 << 2, /* the device failed: nothing is polled */
    EFA_ATTEND_REPLAY = 1 << 3, /* a replay of UCP's is over (efa_wireup.c) */
    EFA_ATTEND_MEMORY = 1 << 5, /* packets wait for memory */
    EFA_ATTEND_TOLD   = 1 << 4, /* a user was told of a failure a short time
                                   ago: rounds of progress are counted */
    EFA_ATTEND_AGAIN  = 1 << 6  /* RDMA waits to be posted again */
};

/* What is done with each packet beside. */
enum {
    EFA_TRACED_LOG   = 1 << 0, /* a line, and the user's tracer (efa_trace.h) */
    EFA_TRACED_COUNT = 1 << 1  /* UCT's own statistics */
};

/* Endpoints that failed and whose user handles no failures (efa_report.c). */
typedef struct efa_report {
    struct ibv_ah *ah; /* of the peer, with its number */
    uint32_t       qpn;
    flow_end_t     why;
    ucs_status_t   status;  /* of the first */
    unsigned       count;   /* not written yet */
    uint64_t       refused; /* the last peer to which there was no endpoint */
} efa_report_t;

/* What SRD and UD interfaces share: queue pair, pools, protocol core. */
typedef struct efa_iface {
    ucx_iface_base_t super;

    /* the data path */
    flow_core_t  *core;
    efa_qp_t      qp;
    efa_op_pool_t ops;
    uint64_t      ops_posted, ops_done; /* operations of users, since open */
    unsigned      ctl_ops;   /* control packets at the device */
    unsigned      rma_ops;   /* RMA that is not done */
    uint64_t      rma_posted; /* of ops_posted */
    uint64_t      received;   /* messages handed up */
    size_t        max_payload; /* bytes of an active message, headers apart */
    unsigned      few; /* payloads of short messages below it take the shortest
                          way: inside the work request, not traced */
    uint8_t       attend;      /* EFA_ATTEND_ */
    uint8_t       traced;      /* EFA_TRACED_: no short ways for packets */
    flow_time_t   now;         /* as last read: when a timer is set or runs */
    efa_rxq_t     rxq;

    /* pending */
    efa_ep_t     *pending; /* ring of endpoints with requests, or NULL */
    efa_ep_t     *serving; /* whose request is being dispatched, or NULL */
    uint8_t       served_one;   /* it took its one RDMA operation, or flush */
    uint8_t       served_fence; /* a fence stands behind it */
    flow_psn_t    served_psn;   /* the endpoint's when it began */
    uint32_t      fences;       /* ever */
    uint32_t      replays;      /* that were over, ever */
    uint32_t      rounds;       /* of progress, while EFA_ATTEND_TOLD is set */
    uint32_t      rounds_end;   /* when it is no longer */
    unsigned      idle;    /* progress calls in vain while requests waited */
    efa_ep_t     *stuck;   /* first of this round that could not go on */

    /* the rest */
    efa_ah_table_t ahs;
    efa_events_t   events;
    void          *core_chunks; /* memory of the core, linked by first word */
    unsigned       endpoints;   /* alive, destroyed ones that linger too */
    efa_ep_t      *alive;       /* the user's endpoints; changes under
                                   efa_vfs_lock */
    efa_ep_t      *lingering;   /* destroyed with operations outstanding */
    uint32_t       qpn; /* also when the queue pair is gone */
    uint32_t       qkey;
    uint64_t       incarnation;
    flow_time_t    get_short_time; /* ns that get_short waits; 0: not offered */
    efa_rxbuf_t   *waiting, **waiting_tail; /* packets for which the core had
                                               no memory, oldest first */
    efa_report_t   report;
    int            broken; /* the device failed; said once */
    uint64_t      *stats;  /* UCX's copy of our numbers, or NULL */
    int            trace_level; /* ucs_log_level_t of packets */
    struct efa_iface *vfs_next; /* of the open ones (efa_vfs.c) */

    /* completions that were polled and not looked at yet */
    struct ibv_wc  stash_rx;
    efa_op_t      *stash_tx, **stash_tx_tail; /* oldest first */
    flow_time_t    waited_in_vain; /* when efa_ep_take_back last did */
    efa_op_t      *again, **again_tail; /* RDMA that the peer's device did not
                                           know us for (efa_again.c) */
    flow_time_t    again_due;
} efa_iface_t;

static inline efa_md_t *efa_iface_md(const efa_iface_t *iface)
{
    return iface->qp.md;
}

/*
 * Opens queue pair, pools and core. Only fields behind `super` are touched;
 * ucx_iface_init comes before. A failure is logged, and nothing is owed.
 * UCS_OK, UCS_ERR_NO_MEMORY, UCS_ERR_IO_ERROR.
 */
ucs_status_t efa_iface_open(efa_iface_t *iface, efa_md_t *md,
                            const efa_iface_config_t *config);

/*
 * Says goodbye to peers for a bounded time, stops the device, completes what
 * is left with UCS_ERR_CANCELED, frees everything behind `super`.
 */
void efa_iface_close(efa_iface_t *iface);

/* Hands the core what memory it asks for. UCS_OK, UCS_ERR_NO_MEMORY. */
ucs_status_t efa_core_grow(efa_iface_t *iface);
ucs_status_t efa_core_open(efa_iface_t *iface,
                           const efa_iface_config_t *config);
void         efa_core_close(efa_iface_t *iface);

/* Monotonic clock of the core. */
flow_time_t efa_iface_clock(efa_iface_t *iface);

/* Polls for a batch of completed work requests. Returns how many there were. */
unsigned efa_iface_poll_tx(efa_iface_t *iface);

/* Status of a completion as the device gave it; 0 is success. */
static inline unsigned efa_wc_status(const struct ibv_wc *wc)
{
    if (__builtin_expect(wc->status == IBV_WC_SUCCESS, 1)) {
        return 0;
    }
    return (wc->vendor_err != 0) ? wc->vendor_err : EFA_STATUS_UNKNOWN;
}

/* Whether the device may have work requests of ours (or one waits to be sent
 * again). */
static inline int efa_iface_is_sending(const efa_iface_t *iface)
{
    return (iface->ops_posted != iface->ops_done) || (iface->ctl_ops > 0);
}

/* One completion of a work request, just polled or from the stash. */
void efa_tx_completion(efa_iface_t *iface, efa_op_t *op, unsigned vendor_err);

/* Counts the next few rounds of progress (EFA_TOLD_ROUNDS); each serves pending
 * requests. */
void efa_iface_count_rounds(efa_iface_t *iface);

/* By the raw status of the device (EFA-FACTS: completion status); 0: UCS_OK. */
ucs_status_t efa_tx_status(unsigned vendor_err);
/* Packets wait for memory: tries again. Returns how many were taken up. */
unsigned efa_rx_retry(efa_iface_t *iface);

/* Tells the core how far the receive queue is read: flow_peer_age. What a
 * poll brought and was not looked at yet does not count. */
void efa_rx_tell(efa_iface_t *iface);

/* One received message. */
void efa_rx_completion(efa_iface_t *iface, const struct ibv_wc *wc);

/* Whether the core has control packets, events or timers due. */
static inline int efa_iface_has_chores(const efa_iface_t *iface)
{
    return flow_ctl_pending(iface->core) || flow_event_pending(iface->core) ||
           (flow_timer_next(iface->core) != FLOW_TIME_NEVER);
}

/* Runs them. Returns how much was done, 0 when nothing was due. */
unsigned efa_iface_chores(efa_iface_t *iface);

/* A peer is known, by its hello or since we opened a flow to it: its requests
 * need our address handle for it, and packets may go to it. `rma`: it asked. */
void efa_peer_introduced(efa_iface_t *iface, flow_peer_t *peer, int rma);

/* Posts the control packets that are due, as far as there are slots. */
unsigned efa_ctl_post_all(efa_iface_t *iface);

/* The device failed: says so once; the next progress ends the interface. No
 * callback runs. */
void efa_iface_break(efa_iface_t *iface, const char *what, int err);

/* iface_progress, iface_flush, iface_fence of UCT. */
unsigned     efa_iface_progress(uct_iface_h tl_iface);
ucs_status_t efa_iface_flush(uct_iface_h tl_iface, unsigned flags,
                             uct_completion_t *comp);
ucs_status_t efa_iface_fence(uct_iface_h tl_iface, unsigned flags);

/* iface_event_fd_get, iface_event_arm of UCT (efa_arm.c). */
ucs_status_t efa_iface_event_fd(uct_iface_h tl_iface, int *fd_p);
ucs_status_t efa_iface_event_arm(uct_iface_h tl_iface, unsigned events);

/* Handles what was stashed. Returns how many completions that was. */
unsigned efa_iface_take_stash(efa_iface_t *iface);
/* The same for work requests alone. */
unsigned efa_stash_take_tx(efa_iface_t *iface);
/* A stashed message will not be delivered. */
void efa_stash_drop_rx(efa_iface_t *iface);

/* Polls one completion of either kind into the stash, if there is one. */
void efa_iface_stash_rx(efa_iface_t *iface);
void efa_iface_stash_tx(efa_iface_t *iface);

/*
 * Waits until `op`, just posted, is complete, at most `time` ns. Runs nobody's
 * callback: other completions are stashed.
 * UCS_OK; UCS_ERR_TIMED_OUT, then it is still the device's; or the error it
 * ended with; UCS_ERR_NO_RESOURCE: it may be tried again.
 */
ucs_status_t efa_tx_wait(efa_iface_t *iface, efa_op_t *op, flow_time_t time);

/* Keeps a completion of a work request for progress, and completes those of one
 * endpoint that are kept. */
void
efa_stash_add(efa_iface_t *iface, efa_op_t *op, const struct ibv_wc *wc);
void efa_stash_take_ep(efa_iface_t *iface, const efa_ep_t *ep);

/* Ends an interface whose device failed (efa_break.c), from progress: stops the
 * queue pair, so that no buffer of a user is touched any more, then completes
 * and reports everything with an error. Idempotent. Returns how much that was.
 */
unsigned efa_iface_end(efa_iface_t *iface);

/* Address operations of UCT. */
ucs_status_t
efa_iface_get_device_address(uct_iface_h tl_iface, uct_device_addr_t *addr);
ucs_status_t
efa_iface_get_address(uct_iface_h tl_iface, uct_iface_addr_t *addr);
int efa_iface_is_reachable(uct_iface_h tl_iface,
                           const uct_device_addr_t *dev_addr,
                           const uct_iface_addr_t *iface_addr);

#endif
