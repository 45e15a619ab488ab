/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The device and all that a program makes on it. These structures refer to each
 * other and stand together; the functions of each are in the header of its name
 * (qp.h, cq.h, ...).
 */
#ifndef EFASIM_ENGINE_OBJECTS_H
#define EFASIM_ENGINE_OBJECTS_H

#include "dir.h"
#include "efa_io.h"
#include "env_ops.h"
#include "knobs.h"
#include "list.h"
#include "plan.h"
#include "profile.h"
#include "ring.h"
#include "rng.h"

/* A work queue in host memory: the send queue or the receive queue of a QP */
struct sim_wq {
    uint8_t          *ring;
    _Atomic uint32_t *db;           /* NULL: a queue of depth 0 */
    uint32_t          depth;        /* descriptors, a power of two */
    uint16_t          stride;       /* bytes of one */
    uint16_t          pc;           /* doorbell last seen */
    uint16_t          cc;           /* descriptors taken */
    uint8_t           phase;        /* of the next work request (SQ) */
};

/* The descriptor that the free-running counter names */
static inline const void *sim_wq_at(const struct sim_wq *wq, uint16_t counter)
{
    return wq->ring + (size_t)(counter & (wq->depth - 1)) * wq->stride;
}

struct sim_pd {
    uint16_t index;
    uint32_t refs;                  /* QPs, MRs, AHs */
    uint16_t ah_of_nic[SIM_NICS]; /* IO_AH_UNKNOWN: none */
};

struct sim_ah {
    struct sim_pd *pd;              /* NULL: the number is free */
    uint32_t       refs;
    uint32_t       user;            /* its first QP; 0: none, or any */
    struct sim_list ops;            /* requests with it */
    int            nic;            /* -1: no such NIC in this fabric */
    uint8_t        gid[16];
};

struct sim_cq {
    struct sim_dev  *dev;
    uint16_t         index;
    uint16_t         cqe_size;      /* 16 or 32 */
    uint16_t         subs;          /* rings, one behind the other in buf */
    uint32_t         depth;         /* of each ring, a power of two */
    uint32_t         room;          /* so many more fit, at least */
    _Atomic uint32_t produced[SIM_SUB_CQS_MAX];
    uint32_t         refs;          /* QPs, twice if for both directions */
    uint8_t          with_sgid;
    uint8_t          armed;
    uint8_t          events;        /* that it gave, ever */
    uint8_t          overrun;       /* has been told of */
    uint8_t          blind;         /* nobody says how far the program reads:
                                       overruns are not counted */
    _Atomic uint32_t drained;       /* so many have been read, at least */
    uint8_t         *buf;
    _Atomic uint32_t *db;           /* consumer index and arm bit */
    void            *user;          /* the caller's */
};

struct sim_qp_attr {
    struct sim_pd    *pd;
    struct sim_cq    *send_cq, *recv_cq;
    uint8_t          *sq_ring, *rq_ring;
    uint32_t          sq_depth, rq_depth;   /* descriptors */
    uint16_t          sq_stride;            /* IO_TX_WQE_SMALL or _LARGE */
    uint8_t           ud;           /* datagrams; else SRD */
    uint8_t           unsolicited;  /* writes with imm take no receive */
    uint8_t           req_id_64;    /* work requests have long ids */
    _Atomic uint32_t *sq_db, *rq_db;
};

/* Events that a counter counts, the device's numbers: completions of a kind;
 * the next number is those with an error. Those of memory that others read and
 * write here are not modelled: no CPU of ours sees them. */
enum sim_cntr_op {
    SIM_CNTR_SEND   = 0,
    SIM_CNTR_RECV   = 2,
    SIM_CNTR_READ   = 4,
    SIM_CNTR_WRITE  = 6,
    SIM_CNTR_EVENTS = 8
};

struct sim_cntr {
    struct sim_dev *dev;
    uint16_t        index;
    uint32_t        refs;           /* events of QPs */
    uint64_t        value;
    uint64_t        addr;           /* where the program reads it */
};

struct sim_qp {
    struct sim_dev    *dev;
    struct sim_list    link;        /* dev->qps */
    struct sim_list    ops;         /* all requests not yet completed */
    uint32_t           under_way;   /* how many these are */
    struct sim_qp_attr attr;
    struct sim_wq      sq, rq;
    struct dir_qp     *entry;       /* in the directory */
    struct dir_qp_count *count;     /* likewise */
    uint32_t           qpn;
    uint8_t            gen;         /* dir_qp.gen */
    uint32_t           qkey;
    uint32_t           sq_psn;
    uint8_t            state;       /* enum sim_qp_state */
    uint8_t            rnr_retry;
    uint32_t           srd_sent, srd_received; /* for knobs that count */
    _Atomic uint8_t    by_library;  /* libefa writes the send queue */
    struct sim_cntr   *cntr[SIM_CNTR_EVENTS]; /* NULL: nobody counts */
    void              *user;
};

enum sim_op_state {
    SIM_OP_FREE,
    SIM_OP_DELAYED,   /* not yet on its way; in dev->heap */
    SIM_OP_HELD,      /* others overtake it; on dev->held */
    SIM_OP_BLOCKED,   /* no room in the ring; on peer->blocked */
    SIM_OP_INFLIGHT,  /* on peer->inflight */
    SIM_OP_RNR,       /* waits to be sent again; in dev->heap */
    SIM_OP_COPYING,   /* RDMA, or its receiver ended where no way leads to;
                         on dev->copying */
    SIM_OP_ANSWERED,  /* the answer is on its way; in dev->heap */
    SIM_OP_LOST,      /* no answer will come; in dev->heap */
    SIM_OP_DONE,      /* completion is held back; on dev->held */
};

/* Random properties of a request, each from a stream of its own. The value
 * depends on the seed and on the request's number alone, not on when
 * acknowledgements come: one seed, one order. */
enum sim_stream {
    SIM_STREAM_OVERTAKEN,      /* by other requests */
    SIM_STREAM_DONE_OVERTAKEN, /* its completion, by other completions */
    SIM_STREAM_LOST,
    SIM_STREAM_DUPLICATED,
    SIM_STREAM_JITTER,
    SIM_STREAM_RETRANSMITTED,
    SIM_STREAMS = 16
};

/* One work request from the doorbell to its completion */
struct sim_op {
    struct sim_list  link;          /* by state */
    struct sim_list  qp_link;       /* qp->ops */
    struct sim_list  ah_link;       /* ah->ops */
    uint64_t         wait;          /* its entry of dev->heap; 0: none */
    struct sim_qp   *qp;
    struct sim_peer *peer;
    uint32_t         token;         /* generation << 20 | index */
    uint8_t          state;         /* enum sim_op_state */
    uint8_t          status;
    uint8_t          rnr_left;
    int16_t          nic;           /* of the destination */
    uint8_t          placed;        /* RDMA: all bytes are where they go */
    uint8_t          is_dropped;    /* a datagram that met a full buffer, or a
                                       request of which no try arrives */
    uint8_t          tries;         /* sent again so often, in vain */
    uint32_t         length;
    uint32_t         done;          /* bytes of an RDMA operation */
    uint64_t         due;           /* ns: time-out, or end of a wait */
    uint64_t         number;        /* counts the device's requests */
    uint64_t         overtake;      /* held until so many departures, or
                                       (state DONE) completions; 0: not held */
    struct io_tx_wqe wqe;
};

/* Another process (or this one), as seen by a sender and receiver */
struct sim_peer {
    uint32_t        slot;
    uint32_t        tx_owner, rx_owner; /* whom tx and rx belong to */
    struct ring_tx  tx;
    struct ring_rx  rx;
    uint32_t        unanswered;     /* packets in tx without an answer */
    uint8_t         has_answered;   /* once, at least */
    uint8_t         rx_broken;
    uint32_t        idle;           /* polls of rx in a row without a packet */
    uint16_t        rnr_qpn;        /* the QP that was not ready last: what */
    uint64_t        rnr_until;      /* is sent to it waits until then (ns) */
    uint64_t        next_check;     /* ns: see whether it is alive */
    struct sim_list blocked, inflight;
    struct sim_list link;           /* dev->peers while it has a tx ring */
};

/* When a request's wait ends. Stale, if op->wait is another number by now. */
struct sim_wait {
    uint64_t       due;
    uint64_t       number;
    struct sim_op *op;
};

/* A byte that is put in place after the completion that told of it. */
struct sim_late {
    uint8_t  remote;                /* by RDMA; else a received message's */
    uint8_t  op;                    /* then: IO_OP_READ or IO_OP_WRITE */
    uint8_t  value;                 /* of the message's byte */
    uint32_t owner;                 /* of the remote address */
    uint64_t local, far;            /* addresses */
    uint64_t due;                   /* ns */
};

/* A range of memory that a request wants to touch */
struct sim_mr_range {
    uint32_t key;
    uint32_t access;
    uint64_t iova, length;
};

/* The beginning of a write that comes once more. */
struct sim_again {
    uint32_t            owner, nic, pd; /* whose memory it is */
    struct sim_mr_range range;          /* in it */
    uint8_t             bytes[16];
    uint64_t            due;            /* ns */
};

struct sim_dev {
    struct dir               *dir;
    const struct sim_env_ops *ops;
    void                     *env;
    const struct sim_profile *profile;
    struct sim_knobs          knobs;
    struct sim_rng            rng;
    struct sim_rng            chance; /* of injections */
    uint32_t                  slot, owner, nic;
    struct dir_slot          *own;   /* the slot's entry */
    uint64_t                  now;   /* ns, refreshed when it matters */
    uint64_t                  requests, departures, completions; /* ever */
    uint64_t                  check_next;  /* ns: of silent peers */
    uint32_t                  outstanding; /* requests not yet completed */
    uint32_t                  quiet;       /* calls since one came or ended */
    uint32_t                  overtaking;  /* held back for others to pass */

    struct sim_list           qps, peers, copying;
    struct sim_list           held;      /* for others to pass, or the heap
                                            has no memory */
    struct sim_wait          *heap;      /* other waits, the next one first */
    uint32_t                  heap_num, heap_room;
    uint64_t                  heap_number; /* waits ever */
    struct sim_qp            *qp[SIM_MAX_QP];
    struct sim_cq            *cq[SIM_MAX_CQ];
    unsigned                  cq_end;    /* none of this number or above was
                                            ever made */
    struct sim_pd            *pd[SIM_MAX_PD];
    struct sim_cntr          *cntr[SIM_MAX_CNTR];
    struct sim_ah            *ah;
    unsigned                  ah_end;    /* likewise */
    struct sim_peer          *peer[SIM_SLOTS];

    /* Peers whose rings to poll, bit n = slot n: */
    uint64_t                  rx_more[SIM_SLOTS / 64];  /* a burst left some */
    uint64_t                  rx_hot[SIM_SLOTS / 64];   /* sent lately */
    uint64_t                  awaiting[SIM_SLOTS / 64]; /* owe answers */
    uint32_t                  rx_hot_num;

    const struct sim_plan    *plan;      /* NULL: none */
    uint8_t                  *plan_done; /* per rule */
    struct sim_nics           partitioned, clogged, absent;
    struct sim_nics           impaired;  /* requests to these wait in vain */
    uint8_t                   removed;
    uint8_t                   guest;     /* hostile programs may use it: what
                                            one call does is bounded whatever
                                            they do (set before first use) */
    _Atomic uint8_t           told;      /* the program calls after each of its
                                            doorbells: each is seen alone */
    _Atomic uint8_t           self_rung; /* it rings itself, without calls */
    uint8_t                   tracing;
    uint64_t                  link_free; /* ns: the link has sent all */
    uint64_t                  ud_free[SIM_NICS]; /* likewise, datagrams */
    uint64_t                  rx_next;   /* ns: a slow receiver's next */

    struct sim_late           late[SIM_LATE_MAX];
    uint32_t                  late_num;
    struct sim_again          again[SIM_AGAIN_MAX];
    uint32_t                  again_num;
    uint32_t                  qpn_next;  /* without reuse */

    struct sim_op           **op_chunk;   /* of op.c */
    uint32_t                  op_chunks;
    struct sim_list           op_free;
    char                      line[256];  /* for log */
};

#endif
