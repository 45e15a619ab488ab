/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine: one EFA device of one process. Queues, address handles,
 * registrations, packets, statuses. Pure: memory, clock, signalling and the
 * other processes are reached through struct sim_env_ops; no system call, no
 * thread, no lock. The caller serialises all calls on one device.
 *
 * Errors are negative errno values, as the kernel's driver would return them.
 */
#ifndef EFASIM_ENGINE_ENGINE_H
#define EFASIM_ENGINE_ENGINE_H

#include "dir.h"
#include "efa_io.h"
#include "knobs.h"
#include "list.h"
#include "plan.h"
#include "profile.h"
#include "ring.h"
#include "rng.h"

#include <stddef.h>

struct sim_cq;

enum sim_disaster {
    SIM_DISASTER_REMOVED, /* the device was pulled out */
    SIM_DISASTER_KILLED,  /* the host dies */
};

/* What the engine needs from outside. `env` is the caller's. */
struct sim_env_ops {
    /* Nanoseconds, monotone. */
    uint64_t (*now)(void *env);

    /* The ring from us to `owner`, created on first use; NULL if it cannot be
     * had. ring_put() ends its use. */
    struct ring *(*ring_tx)(void *env, uint32_t owner);

    /* The ring from `owner` to us; NULL while there is none. */
    struct ring *(*ring_rx)(void *env, uint32_t owner);
    void (*ring_put)(void *env, struct ring *ring);

    /* Wake the process in this slot: it said that it sleeps. */
    void (*wake)(void *env, unsigned slot);

    /* Does the process still run? May cost a few system calls. When it does
     * not, the callee has already taken back what it held (dir_purge). */
    int (*is_alive)(void *env, uint32_t owner);

    /* Copy from another process's memory, or with `is_write` into it. 0,
     * -EFAULT (not mapped so), -ESRCH (gone) or -EPERM. */
    int (*rdma)(void *env, uint32_t owner, int is_write, void *local,
                uint64_t addr, size_t length);

    /* Our own process's registered memory. */
    void (*mem_get)(void *env, void *dst, uint64_t addr, size_t length);
    void (*mem_put)(void *env, uint64_t addr, const void *src, size_t length);

    /* A completion arrived in a CQ that was armed. */
    void (*event)(void *env, struct sim_cq *cq);

    /* One line for the user; without newline. */
    void (*log)(void *env, const char *line);

    /* One line of the trace, without newline and time. */
    void (*trace)(void *env, const char *line);

    /* The plan says so. The device's QPs are in error already. */
    void (*disaster)(void *env, enum sim_disaster what);
};

/* Access flags of a registration, the kernel's numbers */
enum {
    SIM_ACCESS_LOCAL_WRITE  = 1 << 0,
    SIM_ACCESS_REMOTE_WRITE = 1 << 1,
    SIM_ACCESS_REMOTE_READ  = 1 << 2,
    SIM_ACCESS_OPTIONAL     = 0x3ff00000,
};

enum sim_qp_state { /* the kernel's numbers */
    SIM_QPS_RESET,
    SIM_QPS_INIT,
    SIM_QPS_RTR,
    SIM_QPS_RTS,
    SIM_QPS_SQD,
    SIM_QPS_SQE,
    SIM_QPS_ERR,
    SIM_QPS_LAST
};

enum { /* attributes that modify_qp can name, the kernel's numbers */
    SIM_QPA_STATE       = 1 << 0,
    SIM_QPA_CUR_STATE   = 1 << 1,
    SIM_QPA_EN_SQD      = 1 << 2,
    SIM_QPA_PKEY_INDEX  = 1 << 4,
    SIM_QPA_PORT        = 1 << 5,
    SIM_QPA_QKEY        = 1 << 6,
    SIM_QPA_RNR_RETRY   = 1 << 11,
    SIM_QPA_SQ_PSN      = 1 << 16,
    SIM_QPA_CAP         = 1 << 19, /* can be asked for, not set */
};

struct sim_pd {
    uint16_t index;
    uint32_t refs;                  /* QPs, MRs, AHs */
    uint16_t ah_of_nic[SIM_NICS]; /* IO_AH_UNKNOWN: none */
};

struct sim_ah {
    struct sim_pd *pd;              /* NULL: the number is free */
    uint32_t       refs;
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
    uint8_t          overrun;       /* has been told of */
    _Atomic uint32_t drained;       /* so many have been read, at least */
    uint8_t         *buf;
    _Atomic uint32_t *db;           /* consumer index and arm bit */
    void            *user;          /* the caller's */
};

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
    uint32_t          max_send_sge, max_recv_sge, max_inline;
};

/* What a completion counter counts, the kernel's numbers. The rest, what
 * others read and write here, is not modelled: no CPU of ours sees it. */
enum sim_cntr_op {
    SIM_CNTR_SEND  = 0,
    SIM_CNTR_RECV  = 1,
    SIM_CNTR_READ  = 2,
    SIM_CNTR_WRITE = 4,
    SIM_CNTR_OPS   = 5
};

#define SIM_CNTR_KNOWN \
    (1u << SIM_CNTR_SEND | 1u << SIM_CNTR_RECV | 1u << SIM_CNTR_READ | \
     1u << SIM_CNTR_WRITE)

struct sim_cntr {
    struct sim_dev *dev;
    uint16_t        index;
    uint32_t        refs;           /* kinds of requests of QPs */
    uint64_t        value[2];       /* without and with an error */
    uint64_t        addr[2];        /* where the program reads them */
};

struct sim_qp {
    struct sim_dev    *dev;
    struct sim_list    link;        /* dev->qps */
    struct sim_list    ops;         /* all requests not yet completed */
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
    _Atomic uint8_t    by_library;  /* libefa writes the send queue */
    struct sim_cntr   *cntr[SIM_CNTR_OPS]; /* NULL: nobody counts */
    void              *user;
};

struct sim_qp_mod {
    uint32_t mask;                  /* SIM_QPA_ */
    uint32_t state, cur_state;
    uint32_t qkey, sq_psn;
    uint32_t port, pkey_index, rnr_retry;
};

enum sim_op_state {
    SIM_OP_FREE,
    SIM_OP_DELAYED,   /* not yet on its way; on dev->timed */
    SIM_OP_HELD,      /* others overtake it; on dev->timed */
    SIM_OP_BLOCKED,   /* no room in the ring; on peer->blocked */
    SIM_OP_INFLIGHT,  /* on peer->inflight */
    SIM_OP_RNR,       /* waits to be sent again; on dev->timed */
    SIM_OP_COPYING,   /* RDMA; on dev->copying */
    SIM_OP_LOST,      /* nobody will answer; on dev->timed */
    SIM_OP_DONE,      /* completion is held back; on dev->timed */
};

/* What chance decides about a request, each from a sequence of its own. The
 * answer depends on the seed and on the request's number alone, not on when
 * acknowledgements come: one seed, one order. */
enum sim_fate {
    SIM_FATE_OVERTAKEN,      /* by other requests */
    SIM_FATE_DONE_OVERTAKEN, /* its completion, by other completions */
    SIM_FATE_LOST,
    SIM_FATE_DUPLICATED,
    SIM_FATE_JITTER,
    SIM_FATE_FAILED,
    SIM_FATES = 16
};

/* One work request from the doorbell to its completion */
struct sim_op {
    struct sim_list  link;          /* by state */
    struct sim_list  qp_link;       /* qp->ops */
    struct sim_qp   *qp;
    struct sim_peer *peer;
    uint32_t         token;         /* generation << 20 | index */
    uint8_t          state;         /* enum sim_op_state */
    uint8_t          status;
    uint8_t          rnr_left;
    int8_t           nic;          /* of the destination */
    uint8_t          placed;        /* RDMA: all bytes are where they go */
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
    uint8_t         heard;          /* it has answered once */
    uint8_t         rx_broken;
    uint32_t        idle;           /* looks at rx in a row that found none */
    uint16_t        rnr_qpn;        /* was not ready: what follows to it */
    uint64_t        rnr_until;      /* ns: waits until then */
    uint64_t        next_check;     /* ns: is it alive? */
    struct sim_list blocked, inflight;
    struct sim_list link;           /* dev->peers while it has a tx ring */
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
    uint64_t                  timed_next, check_next; /* ns */
    uint64_t                  work;  /* counts whatever was done */
    uint32_t                  outstanding; /* requests not yet completed */
    uint32_t                  quiet;       /* calls since one of those */
    uint32_t                  overtaking;  /* of those on the timed list */

    struct sim_list           qps, peers, timed, copying;
    struct sim_qp            *qp[SIM_MAX_QP];
    struct sim_cq            *cq[SIM_MAX_CQ];
    struct sim_pd            *pd[SIM_MAX_PD];
    struct sim_cntr          *cntr[SIM_MAX_CNTR];
    struct sim_ah            *ah;
    struct sim_peer          *peer[SIM_SLOTS];

    /* Peers to look at, bit n = slot n: */
    uint64_t                  rx_more[SIM_SLOTS / 64];  /* left by a burst */
    uint64_t                  rx_hot[SIM_SLOTS / 64];   /* sent of late */
    uint64_t                  awaiting[SIM_SLOTS / 64]; /* will answer us */
    uint32_t                  rx_hot_num;

    const struct sim_plan    *plan;      /* NULL: none */
    uint8_t                  *plan_done; /* per rule */
    uint32_t                  cut, clogged, absent; /* bit n: NIC n */
    uint8_t                   removed;
    uint8_t                   tracing;
    uint64_t                  link_free; /* ns: the link has sent all */
    uint64_t                  ud_free[SIM_NICS]; /* likewise, datagrams */
    uint64_t                  rx_next;   /* ns: a slow receiver's next */

    struct sim_op           **op_chunk;   /* of op.c */
    uint32_t                  op_chunks;
    struct sim_list           op_free;
    char                      line[256];  /* for log */
};

/* The device's capabilities, less what a knob takes away. */
uint32_t sim_dev_caps(const struct sim_dev *dev);

/*
 * Open a device on directory slot `slot` (claimed and live) of `nic`.
 * Returns NULL when memory is short. The directory, ops and env must outlive
 * the device.
 */
struct sim_dev *sim_dev_open(struct dir *dir, uint32_t slot, uint32_t nic,
                             const struct sim_env_ops *ops, void *env,
                             const struct sim_knobs *knobs);

/* Take over one knob, from the next request on. The injections of the device
 * count down in its own copy, so only `knob` is taken. */
void sim_dev_control(struct sim_dev *dev, const struct sim_knobs *knobs,
                     const struct sim_knob *knob);

/* Destroys what is left on it. The directory slot stays the caller's. */
void sim_dev_close(struct sim_dev *dev);

/*
 * Let the device work: take new requests, packets and answers, run timers.
 * Bounded work per call. Returns the number of things done, 0 when idle.
 */
unsigned sim_dev_progress(struct sim_dev *dev);

/* Count something of this device. */
static inline void sim_count(struct sim_dev *dev, enum dir_counter counter,
                             uint64_t n)
{
    dir_own_count(&dev->own->counter[counter], n);
}

/* Something is under way that needs progress calls (requests outstanding,
 * packets not yet taken, doorbells not yet seen). */
int sim_dev_is_busy(struct sim_dev *dev);

/* A line of the trace; costs a branch while nobody wants one. */
#define sim_trace(_dev, ...) \
    do { \
        if ((_dev)->tracing) { \
            sim_dev_trace(_dev, __VA_ARGS__); \
        } \
    } while (0)

void sim_dev_trace(struct sim_dev *dev, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Follow a plan, which must outlive the device, from the next progress on.
 * Rules of knobs that hold from the start are the caller's (sim_plan_knobs). */
void sim_fault_plan(struct sim_dev *dev, const struct sim_plan *plan);

/* The errno that the command `name` (of sim_command_names) is to fail with; 0:
 * it goes on. Counts it. */
int sim_command_error(struct sim_dev *dev, const char *name);

/* Pull the device out: its QPs go to error, it answers nobody. */
void sim_fault_remove(struct sim_dev *dev);

/* Zeroed, in whole pages: what posts and polls take (pages.c). NULL: none. */
void *sim_pages_get(size_t size);
void sim_pages_put(void *pages, size_t size);

void sim_dev_log(struct sim_dev *dev, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Protection domains. -ENOMEM at the limit; -EBUSY while in use. */
int sim_pd_create(struct sim_dev *dev, struct sim_pd **pd_p);
int sim_pd_destroy(struct sim_dev *dev, struct sim_pd *pd);

/*
 * Address handles: one number per (PD, GID). The first to destroy it ends it
 * for all, as the driver does not count its users; without the knob strict_ah
 * the last. Requests under way with it are then flushed. -EINVAL: the GID is
 * zero or a multicast one, or there is no such handle; -ENOMEM: knobs.max_ah
 * are in use.
 */
int sim_ah_create(struct sim_dev *dev, struct sim_pd *pd,
                  const uint8_t gid[16], uint16_t *number_p);
int sim_ah_destroy(struct sim_dev *dev, uint16_t number);

/*
 * Registrations. `iova` is what work requests will name, `addr` where it is.
 * -EINVAL: length 0, too long or wrapping; -EOPNOTSUPP: access flags the
 * device does not have; -ENOMEM: none free. On success key and index are set.
 */
struct sim_mr_attr {
    uint64_t addr, length, iova;
    uint32_t access;     /* SIM_ACCESS_ */
    uint32_t key, index; /* out */
};

int sim_mr_register(struct sim_dev *dev, struct sim_pd *pd,
                    struct sim_mr_attr *attr);
int sim_mr_deregister(struct sim_dev *dev, uint32_t index);

/* What a request wants to touch */
struct sim_mr_range {
    uint32_t key;
    uint32_t access;
    uint64_t iova, length;
};

static inline struct sim_mr_range sim_mr_range(const struct io_buf *buf,
                                               uint32_t access)
{
    return (struct sim_mr_range){
        .key    = buf->lkey,
        .access = access,
        .iova   = io_addr(buf->addr_lo, buf->addr_hi),
        .length = buf->length,
    };
}

/*
 * Translate a local key. Returns 0 and *addr, or -1: the key is not valid for
 * this PD, range or access.
 */
int sim_mr_local(struct sim_dev *dev, const struct sim_pd *pd,
                 const struct sim_mr_range *range, uint64_t *addr);

/* The same for a remote key, as the responder's device judges it. */
int sim_mr_remote(struct sim_dev *dev, uint32_t nic, uint32_t owner,
                  uint32_t pd, const struct sim_mr_range *range,
                  uint64_t *addr);

/*
 * Completion queues. `buf` holds depth * cqe_size zeroed bytes for each of the
 * profile's sub-CQs: sends in the first, receives in the last. -EINVAL: depth
 * not a power of two in 1 ... SIM_MAX_CQE, or cqe_size; -ENOMEM; -EBUSY.
 */
int sim_cq_create(struct sim_dev *dev, uint32_t depth, uint16_t cqe_size,
                  uint8_t *buf, _Atomic uint32_t *db, struct sim_cq **cq_p);
int sim_cq_destroy(struct sim_cq *cq);

/* Completions written so far, of all rings. Needs no serialising. */
static inline uint32_t sim_cq_produced(const struct sim_cq *cq)
{
    return atomic_load_explicit(&cq->produced[0], memory_order_relaxed) +
           atomic_load_explicit(&cq->produced[1], memory_order_relaxed);
}

/* A poll that began when `produced` were written found the CQ empty. Needs no
 * serialising. */
static inline void sim_cq_drained(struct sim_cq *cq, uint32_t produced)
{
    uint32_t before = atomic_load_explicit(&cq->drained, memory_order_relaxed);

    if ((int32_t)(produced - before) > 0) { /* another thread was later */
        atomic_store_explicit(&cq->drained, produced, memory_order_relaxed);
    }
}

/* The next completion (one may be there already) causes one event. */
void sim_cq_arm(struct sim_cq *cq);

/* Engine-internal: append a completion; phase and order are its matter. Where
 * the program has not read in time it loses others. */
void sim_cq_push(struct sim_cq *cq, const struct io_cqe *cqe);

/*
 * Queue pairs. -ENOMEM at the limit. Destroying one completes its requests
 * with status 1; what it sent may still arrive.
 */
int sim_qp_create(struct sim_dev *dev, const struct sim_qp_attr *attr,
                  struct sim_qp **qp_p);
void sim_qp_destroy(struct sim_qp *qp);

/* The program posts by libefa, which keeps to max_tx_batch, and rings more than
 * once between two looks of ours. Needs no serialising. */
static inline void sim_qp_by_library(struct sim_qp *qp)
{
    atomic_store_explicit(&qp->by_library, 1, memory_order_relaxed);
}

/* -EINVAL: not in the state table, a missing or a surplus attribute, port
 * other than 1; -EOPNOTSUPP: unknown attribute, pkey index other than 0;
 * -EPERM, and a line: a QKEY of the privileged range. */
int sim_qp_modify(struct sim_qp *qp, const struct sim_qp_mod *mod);

/*
 * Completion counters. `addr`: two words of 8 bytes in the program's memory.
 * -ENOMEM at the limit; -EBUSY: a QP uses it. Attached: the QP counts these
 * kinds of requests (bits of enum sim_cntr_op) there; -EINVAL: none, or one
 * that is not counted; -EBUSY: it counts one elsewhere.
 */
int sim_cntr_create(struct sim_dev *dev, const uint64_t addr[2],
                    struct sim_cntr **cntr_p);
int sim_cntr_destroy(struct sim_cntr *cntr);
void sim_cntr_set(struct sim_cntr *cntr, int is_error, uint64_t value);
int sim_cntr_attach(struct sim_qp *qp, struct sim_cntr *cntr, uint32_t ops);

/* Engine-internal: a QP goes; one of its requests is complete. */
void sim_cntr_detach(struct sim_qp *qp);
void sim_cntr_count(struct sim_qp *qp, enum sim_cntr_op op, uint8_t status);

/* Engine-internal: what a program that writes the queues itself got wrong. The
 * device stops the QP, and says why. */
void sim_qp_refuse(struct sim_qp *qp, const char *what, uint32_t value);

/* Engine-internal: complete a work request. */
void sim_qp_send_cqe(struct sim_qp *qp, const struct io_tx_meta *meta,
                     uint8_t status);

/* Engine-internal, by file */
unsigned sim_tx_fetch(struct sim_qp *qp);                      /* tx.c */
void sim_tx_send(struct sim_op *op);
void sim_tx_start(struct sim_op *op);                           /* op.c */
void sim_tx_leave(struct sim_op *op); /* its delay is over; op.c */
void sim_tx_unblock(struct sim_peer *peer);
unsigned sim_rx_answers(struct sim_dev *dev, struct sim_peer *peer); /* rx.c */
unsigned sim_rx_packets(struct sim_dev *dev, struct sim_peer *peer);
unsigned sim_rdma_step(struct sim_dev *dev);                   /* rdma.c */
void sim_rdma_start(struct sim_op *op);
uint8_t sim_rdma_check(struct sim_op *op);
uint8_t sim_tx_check_buf(const struct sim_qp *qp, const struct io_buf *buf,
                         uint32_t access);
void sim_tx_expire(struct sim_op *op);
void sim_tx_killed(struct sim_op *op);
uint8_t sim_tx_nobody(const struct sim_op *op);
void sim_tx_reject(struct sim_op *op, uint8_t status);
struct sim_op *sim_op_get(struct sim_qp *qp);                  /* op.c */
void sim_op_free(struct sim_dev *dev); /* all of the device, at its end */
struct sim_rng sim_op_rng(const struct sim_op *op, enum sim_fate fate);
struct sim_op *sim_op_find(struct sim_dev *dev, uint32_t token);
void sim_op_complete(struct sim_op *op, uint8_t status);
void sim_op_finish(struct sim_op *op);
void sim_op_drop(struct sim_op *op);
void sim_op_wait(struct sim_op *op, enum sim_op_state state, uint64_t due);
void sim_op_deadline(struct sim_op *op);
void sim_fault_run(struct sim_dev *dev);                       /* fault.c */
int sim_fault_pending(const struct sim_dev *dev);
int sim_fault_frozen(const struct sim_dev *dev, unsigned nic);
int sim_fault_cut(const struct sim_dev *dev, unsigned nic);
uint64_t sim_fault_due(struct sim_op *op);
unsigned sim_timer_run(struct sim_dev *dev);                   /* timer.c */
unsigned sim_timer_overtaken(struct sim_dev *dev);
struct sim_peer *sim_peer_get(struct sim_dev *dev, uint32_t slot); /* peer.c */
int sim_peer_tx_open(struct sim_dev *dev, struct sim_peer *peer,
                     uint32_t owner);
void sim_peer_tx_close(struct sim_dev *dev, struct sim_peer *peer);
void sim_peer_signal(struct sim_dev *dev, uint32_t slot);
unsigned sim_peer_run(struct sim_dev *dev);
int sim_peer_has_packets(const struct sim_dev *dev);
void sim_peer_await(struct sim_dev *dev, const struct sim_peer *peer);
void sim_peer_check(struct sim_dev *dev, struct sim_peer *peer);
int sim_inject_hit(struct sim_dev *dev, enum sim_inject_op op,
                   uint8_t *status);

#endif
