/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The devices at the kernel's uverbs ABI. One engine device per process and
 * device of the host, shared by all contexts (open descriptors) of it; a
 * context is a memfd whose pages are the queues and doorbells, so that mmap()
 * needs no help from us.
 *
 * Everything here runs under one lock of the process. Commands take it; the
 * data path (hooks.c) only tries, and when it is taken leaves the work to the
 * holder or the backstop thread.
 */
#ifndef EFASIM_DRIVER_DRIVER_H
#define EFASIM_DRIVER_DRIVER_H

#include "efasim/engine/engine.h"
#include "efasim/fabric/fabric.h"

#include <infiniband/verbs.h>
#include <pthread.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <stddef.h>
#include <stdint.h>

enum {
    DRV_CONTEXTS = 1024, /* of a process; three files each */
    DRV_PAGE     = 4096,
    DRV_HIGH_FD  = 500,
    DRV_CQS      = SIM_DEVICES * SIM_MAX_CQ, /* handles in a process */
    DRV_QPS      = SIM_DEVICES * SIM_MAX_QP,
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
    struct sim_cntr   *cntr;
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
    _Atomic uint32_t  entries;   /* inline entries: the program drives us */
    uint32_t          seen;      /* the backstop's: entries at its last look, */
    unsigned          stuck_us;  /* and how long work has waited since */
    uint32_t          mr_reserved; /* see fabric_mr_reserve() */
    struct drv_pd     pd[SIM_MAX_PD];
    struct drv_ctx  **ah_ctx;    /* by number; counts in the engine */
    struct drv_mr    *mr;        /* by index */
    struct drv_cntr   cntr[SIM_MAX_CNTR];
    void             *dropped[3]; /* given up, not freed: others may be at it */
};

/* The handles of CQs and QPs are unique in the process, so that the data path
 * finds them without asking for the device: index of the device * SIM_MAX_CQ
 * (SIM_MAX_QP) + number. All other handles are numbers of the device. */
struct drv_state {
    pthread_mutex_t   lock;
    _Atomic int       again;     /* somebody found the lock taken */
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

/* This thread is inside the device and holds the lock: what it opens and
 * closes is its own, not the program's. */
enum {
    DRV_OUTSIDE,
    DRV_INSIDE_COMMAND, /* signals are held off */
    DRV_INSIDE_DATA,    /* a signal handler may interrupt, and find this */
};
extern __thread int drv_inside;

/* device.c: the process's devices */

/* From the environment; 0, or -1 when there is nothing to emulate. */
int drv_is_enabled(void);

/* With the lock held: attach the device to the fabric. 0 or a negative errno,
 * after one line on stderr. */
int drv_device_start(struct drv_dev *dev);

/* This process has a device open. Lock-free. */
int drv_is_open(void);

void drv_lock(void);
int drv_trylock(void);   /* 1: taken */
void drv_unlock(void);

/*
 * For a program under ThreadSanitizer, which sees neither doorbells nor
 * completions: what a thread did before it posted is seen by the device, and
 * what the device did by the thread that polled. Nothing in other programs.
 */
void drv_order_before(void); /* a post, the end of the device's work */
void drv_order_after(void);  /* a completion, the begin of its work */

/* 1, the first time after a line that names `what`: we are in a signal handler
 * that found its own thread in the data path, and drv_lock() would wait for
 * ever. */
int drv_is_interrupted(const char *what);
void drv_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* node of this process, from EFASIM_NODE or the rank. */
unsigned drv_node(void);

/* The folder that stands for /sys; "" when not enabled. */
const char *drv_sysfs_root(void);

/* context.c */

/* Open a device of the host; a descriptor, or -1 with errno. */
int drv_open(unsigned device, int flags);

/* Is fd one of our contexts? Lock-free. */
struct drv_ctx *drv_ctx_find(int fd);

/* The program closes fd, which may be a context or a channel's end. */
void drv_close(int fd);

/* Fresh zeroed pages, one region for each of `sizes`: all, or none and a
 * negative errno. */
int drv_regions_alloc(struct drv_ctx *ctx, const size_t *sizes, unsigned num,
                      struct drv_region *regions);
void drv_region_free(struct drv_ctx *ctx, struct drv_region *region);

/* ioctl.c: the command decoder; 0 or a negative errno. */
int drv_ioctl(struct drv_ctx *ctx, struct ib_uverbs_ioctl_hdr *hdr);

/* A decoded command */
struct drv_cmd {
    struct drv_ctx         *ctx;
    struct ib_uverbs_attr  *attrs;
    unsigned                num;
    const char             *name; /* as in sim_command_names */
};

/* Attribute `id`, or NULL. */
struct ib_uverbs_attr *drv_attr(const struct drv_cmd *cmd, uint16_t id);

/* Copy at most `size` bytes of an input attribute into buf, the rest zero.
 * -EINVAL: missing or shorter than `need`. */
int drv_attr_in(const struct drv_cmd *cmd, uint16_t id, void *buf,
                size_t size, size_t need);

/* Write an output attribute, as much as the program has room for. A missing
 * one is no error. */
void drv_attr_out(const struct drv_cmd *cmd, uint16_t id, const void *buf,
                  size_t size);
void drv_attr_out_handle(const struct drv_cmd *cmd, uint16_t id,
                         uint64_t handle);

/* An object's handle; -1: missing. */
int64_t drv_attr_handle(const struct drv_cmd *cmd, uint16_t id);

/* Commands: 0 or a negative errno. device_cmds.c: */
int drv_get_context(struct drv_cmd *cmd);
int drv_query_port(struct drv_cmd *cmd);
int drv_query_gid_entry(struct drv_cmd *cmd);
int drv_query_gid_table(struct drv_cmd *cmd);
int drv_async_event_alloc(struct drv_cmd *cmd);
int drv_invoke_write(struct drv_cmd *cmd);

/* The "write" form of a command: its name, "" for an unknown one. */
const char *drv_write_name(const struct drv_cmd *cmd);

/* Tell the program that the device is gone (IBV_EVENT_DEVICE_FATAL), in every
 * context of it. */
void drv_async_fatal(struct fabric_env *env);
int drv_query_device(struct drv_cmd *cmd, int extended);

/* object_cmds.c: PD, AH, MR, channel */
int drv_pd_alloc(struct drv_cmd *cmd);
int drv_pd_destroy(struct drv_cmd *cmd);
int drv_ah_create(struct drv_cmd *cmd);
int drv_ah_destroy(struct drv_cmd *cmd);
int drv_mr_reg(struct drv_cmd *cmd);
int drv_mr_room(struct drv_dev *dev);
int drv_mr_destroy(struct drv_cmd *cmd);
int drv_mr_query(struct drv_cmd *cmd);
int drv_channel_create(struct drv_cmd *cmd);
void drv_mr_drop(struct drv_dev *dev, uint32_t index);
int drv_is_mapped(uint64_t addr, uint64_t span); /* 1 or 0 */
struct sim_pd *drv_pd_get(struct drv_ctx *ctx, int64_t handle);

/* dmabuf.c */
int drv_mr_reg_dmabuf(struct drv_cmd *cmd);

/* Map a part of a dma-buf. 0; -EBADF: no descriptor; -EINVAL: not of a dma-buf,
 * or shorter than that. Unmapping one that is not mapped does nothing. */
int drv_dmabuf_map(int fd, uint64_t offset, uint64_t length,
                   struct drv_mapping *map);
void drv_dmabuf_unmap(struct drv_mapping *map);

/* cntr_cmds.c: completion counters */
int drv_cntr_caps(struct drv_cmd *cmd);
int drv_cntr_create(struct drv_cmd *cmd);
int drv_cntr_destroy(struct drv_cmd *cmd);
int drv_cntr_modify(struct drv_cmd *cmd);
int drv_cntr_read(struct drv_cmd *cmd);
int drv_cntr_attach(struct drv_cmd *cmd);
void drv_cntr_drop(struct drv_cntr *cntr);

/* queue_cmds.c: CQ, QP */
int drv_cq_create(struct drv_cmd *cmd);
int drv_cq_destroy(struct drv_cmd *cmd);
int drv_qp_create(struct drv_cmd *cmd);
int drv_qp_destroy(struct drv_cmd *cmd);
int drv_qp_modify(struct drv_cmd *cmd);
int drv_qp_query(struct drv_cmd *cmd);
struct drv_qp *drv_qp_get(struct drv_ctx *ctx, int64_t handle);
void drv_cq_drop(struct drv_cq *cq);
void drv_qp_drop(struct drv_qp *qp);

/* channel.c */
void drv_channel_event(struct sim_cq *cq);
uint32_t drv_channel_forget(struct drv_cq *cq);
void drv_channel_close(int fd);
struct drv_channel *drv_channel_find(int fd);

/* hooks.c: enter the device from poll and post. With the lock held. */
void drv_hook_cq(struct drv_cq *cq);
void drv_hook_qp(struct drv_qp *qp);

/* Let a device work, if nobody else is at it; NULL: all of them. Returns the
 * number of things done. */
unsigned drv_progress(struct drv_dev *dev);

/* backstop.c */
void drv_backstop_start(void);

/* The thread may sleep: this device has something for it. */
void drv_backstop_kick(struct drv_dev *dev);

#endif
