/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * State of the emulated driver: the devices of the host, which all contexts
 * (open descriptors) of this process share, and the objects made on them. A
 * context is a memfd whose pages are the queues and doorbells, so that mmap()
 * needs no help from us.
 *
 * All of it is written under one lock of the process (lock.h).
 */
#ifndef EFASIM_DRIVER_STATE_H
#define EFASIM_DRIVER_STATE_H

#include "efasim/engine/engine.h"
#include "efasim/fabric/env.h"

#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdint.h>

enum {
    DRV_CONTEXTS = 1024, /* of a process; three files each */
    DRV_HIGH_FD  = 500,
    DRV_CQS      = SIM_DEVICES * SIM_MAX_CQ, /* handles in a process */
    DRV_QPS      = SIM_DEVICES * SIM_MAX_QP,
    DRV_CNTRS    = SIM_MAX_CNTR / 2, /* of a device */
};

/* Pages of a context's memfd, mapped by us as well */
struct drv_region {
    uint8_t *ptr;
    uint64_t offset; /* the mmap key */
    size_t   size;
};

/* Pages of a dma-buf, mapped by us */
struct drv_mapping {
    void    *start; /* NULL: none */
    size_t   size;
    uint64_t addr;  /* where the part that was asked for begins */
};

struct drv_channel {
    struct sim_list link;
    struct drv_ctx *ctx;
    int             user_fd;  /* the end that the program reads */
    int             fd;       /* ours; -1 once the program closed its own */
};

struct drv_ctx {
    _Atomic int     fd;       /* -1: the entry is free */
    struct drv_dev *dev;
    uint64_t        size;     /* of the memfd */
    int             async_fd; /* our end of its asynchronous events; -1 */
    unsigned        mrs;      /* registrations it has */

    /* libefa's functions that ours stand before */
    int (*poll_cq)(struct ibv_cq*, int, struct ibv_wc*);
    int (*req_notify_cq)(struct ibv_cq*, int);
    int (*post_send)(struct ibv_qp*, struct ibv_send_wr*,
                     struct ibv_send_wr**);
    int (*post_recv)(struct ibv_qp*, struct ibv_recv_wr*,
                     struct ibv_recv_wr**);
};

struct drv_pd {
    struct sim_pd  *pd;
    struct drv_ctx *ctx;
};

struct drv_cq {
    struct sim_cq      *cq;
    struct drv_ctx     *ctx;
    struct drv_channel *channel;
    struct ibv_cq      *user;    /* the program's structure */
    uint64_t            handle;  /* what an event carries */
    struct drv_region   ring, db;
    struct drv_mapping  ext;     /* the ring, if it is the program's */
    uint32_t            events;  /* sent on the channel */

    /* libefa's functions that ours stand before; NULL: not hooked */
    int (*poll_cq)(struct ibv_cq*, int, struct ibv_wc*);
    int (*req_notify_cq)(struct ibv_cq*, int);
    int (*start_poll)(struct ibv_cq_ex*, struct ibv_poll_cq_attr*);
    int (*next_poll)(struct ibv_cq_ex*);
};

struct drv_qp {
    struct sim_qp    *qp;
    struct drv_ctx   *ctx;
    struct ibv_qp    *user;
    struct drv_region sq, rq, db;
    uint32_t          caps[5];   /* ib_uverbs_qp_cap */
    uint8_t           sq_sig_all;
    uint8_t           state;     /* that the program put it in */
    int (*post_send)(struct ibv_qp*, struct ibv_send_wr*,
                     struct ibv_send_wr**);
    int (*post_recv)(struct ibv_qp*, struct ibv_recv_wr*,
                     struct ibv_recv_wr**);
    int (*wr_complete)(struct ibv_qp_ex*);
};

struct drv_mr {
    struct drv_ctx *ctx;
    uint64_t        pinned;  /* bytes charged against RLIMIT_MEMLOCK */
    struct drv_mapping map;  /* of a dma-buf */
};

struct drv_cntr {
    struct sim_cntr   *cntr[2]; /* without and with an error */
    struct drv_ctx    *ctx;
    struct drv_mapping map[2]; /* of words that are in dma-bufs */
};

/* A device of this process's host */
struct drv_dev {
    unsigned          index;
    struct sim_dev   *sim;       /* NULL until the first open */
    struct fabric    *fabric;    /* with the slot that is this device's */
    struct fabric    *left;      /* at exit: left, still mapped */
    struct fabric_env env;
    struct sim_knobs  knobs;
    _Atomic uint32_t  calls;     /* polls and posts: the program drives us */
    uint32_t          seen;      /* the backstop's: calls when it last ran, */
    unsigned          stuck_us;  /* and how long work has waited since; */
    unsigned          waits_us;  /* > 0: the program armed a CQ, lately */
    uint32_t          mr_reserved; /* see fabric_env_mr_reserve() */
    struct drv_pd     pd[SIM_MAX_PD];
    struct drv_ctx  **ah_ctx;    /* by number; counts in the engine */
    struct drv_mr    *mr;        /* by index */
    struct drv_cntr   cntr[DRV_CNTRS];
    void             *abandoned[3]; /* not freed: other threads may use it */
};

/* The handles of CQs and QPs are unique in the process, so that the data path
 * finds them without asking for the device: index of the device * SIM_MAX_CQ
 * (SIM_MAX_QP) + number. All other handles are numbers of the device. */
struct drv_state {
    pthread_mutex_t   lock;
    _Atomic int       again;     /* somebody found the lock taken: run again */
    struct fabric    *host;      /* --per-node: keeps our place on a host */
    struct sim_plan  *plan;      /* NULL: none */
    int               pid;       /* the process that owns all this */
    uint64_t          pinned;
    struct drv_dev    device[SIM_DEVICES];
    struct drv_ctx    ctx[DRV_CONTEXTS];
    _Atomic int       contexts;  /* open ones */
    _Atomic unsigned  ctx_end;   /* entries of ctx that mean anything */
    struct sim_list   channels;
    struct drv_cq     cq[DRV_CQS]; /* by handle */
    struct drv_qp     qp[DRV_QPS];
};

extern struct drv_state drv;

#define drv_for_each_device(_dev) \
    for ((_dev) = drv.device; (_dev) < drv.device + SIM_DEVICES; ++(_dev))

/* This process has a device open. Needs no lock. */
int drv_is_open(void);

/* One line for the user, without newline. */
void drv_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
