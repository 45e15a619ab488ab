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
#ifndef EFASIM_ABI_ABI_H
#define EFASIM_ABI_ABI_H

#include "efasim/engine/engine.h"
#include "efasim/fabric/fabric.h"

#include <infiniband/verbs.h>
#include <pthread.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ABI_CONTEXTS = 1024, /* of a process; three files each */
    ABI_PAGE     = 4096,
    ABI_HIGH_FD  = 500,
    ABI_CQS      = SIM_DEVICES * SIM_MAX_CQ, /* handles in a process */
    ABI_QPS      = SIM_DEVICES * SIM_MAX_QP,
};

/* Pages of a context's memfd, mapped by us as well */
struct abi_region {
    uint8_t *ptr;
    uint64_t offset; /* the mmap key */
    size_t   size;
};

/* Pages of a dma-buf, mapped by us */
struct abi_mapping {
    void    *start; /* NULL: none */
    size_t   size;
    uint64_t addr;  /* where the part that was asked for begins */
};

struct abi_channel {
    struct sim_list link;
    int             user_fd;  /* the end that the program reads */
    int             fd;       /* ours; -1 once the program closed its own */
};

struct abi_ctx {
    _Atomic int     fd;       /* -1: the entry is free */
    struct abi_dev *dev;
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

struct abi_pd {
    struct sim_pd  *pd;
    struct abi_ctx *ctx;
};

struct abi_cq {
    struct sim_cq      *cq;
    struct abi_ctx     *ctx;
    struct abi_channel *channel;
    struct ibv_cq      *user;    /* the program's structure */
    uint64_t            handle;  /* what an event carries */
    struct abi_region   ring, db;
    struct abi_mapping  ext;     /* the ring, if it is the program's */
    uint32_t            events;  /* sent on the channel */

    /* libefa's functions that ours stand before; NULL: not hooked */
    int (*poll_cq)(struct ibv_cq*, int, struct ibv_wc*);
    int (*req_notify_cq)(struct ibv_cq*, int);
    int (*start_poll)(struct ibv_cq_ex*, struct ibv_poll_cq_attr*);
    int (*next_poll)(struct ibv_cq_ex*);
};

struct abi_qp {
    struct sim_qp    *qp;
    struct abi_ctx   *ctx;
    struct ibv_qp    *user;
    struct abi_region sq, rq, db;
    uint32_t          caps[5];   /* ib_uverbs_qp_cap */
    uint8_t           sq_sig_all;
    int (*post_send)(struct ibv_qp*, struct ibv_send_wr*,
                     struct ibv_send_wr**);
    int (*post_recv)(struct ibv_qp*, struct ibv_recv_wr*,
                     struct ibv_recv_wr**);
    int (*wr_complete)(struct ibv_qp_ex*);
};

struct abi_mr {
    struct abi_ctx *ctx;
    uint64_t        pinned;  /* bytes charged against RLIMIT_MEMLOCK */
    struct abi_mapping map;  /* of a dma-buf */
};

struct abi_cntr {
    struct sim_cntr   *cntr;
    struct abi_ctx    *ctx;
    struct abi_mapping map[2]; /* of words that are in dma-bufs */
};

/* A device of this process's host */
struct abi_dev {
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
    struct abi_pd     pd[SIM_MAX_PD];
    struct abi_ctx  **ah_ctx;    /* by number; counts in the engine */
    struct abi_mr    *mr;        /* by index */
    struct abi_cntr   cntr[SIM_MAX_CNTR];
    void             *dropped[3]; /* given up, not freed: others may be at it */
};

/* The handles of CQs and QPs are unique in the process, so that the data path
 * finds them without asking for the device: index of the device * SIM_MAX_CQ
 * (SIM_MAX_QP) + number. All other handles are numbers of the device. */
struct abi_state {
    pthread_mutex_t   lock;
    _Atomic int       again;     /* somebody found the lock taken */
    struct fabric    *host;      /* --per-node: keeps our place on a host */
    struct sim_plan  *plan;      /* NULL: none */
    int               pid;       /* the process that owns all this */
    uint64_t          pinned;
    struct abi_dev    device[SIM_DEVICES];
    struct abi_ctx    ctx[ABI_CONTEXTS];
    _Atomic int       contexts;  /* open ones */
    _Atomic unsigned  ctx_end;   /* entries of ctx that mean anything */
    struct sim_list   channels;
    struct abi_cq     cq[ABI_CQS]; /* by handle */
    struct abi_qp     qp[ABI_QPS];
};

extern struct abi_state abi;

#define abi_for_each_device(_dev) \
    for ((_dev) = abi.device; (_dev) < abi.device + SIM_DEVICES; ++(_dev))

/* This thread is inside the device and holds the lock: what it opens and
 * closes is its own, not the program's. */
enum {
    ABI_OUTSIDE,
    ABI_INSIDE_COMMAND, /* signals are held off */
    ABI_INSIDE_DATA,    /* a signal handler may interrupt, and find this */
};
extern __thread int abi_inside;

/* device.c: the process's devices */

/* From the environment; 0, or -1 when there is nothing to emulate. */
int abi_is_enabled(void);

/* With the lock held: attach the device to the fabric. 0 or a negative errno,
 * after one line on stderr. */
int abi_device_start(struct abi_dev *dev);

/* This process has a device open. Lock-free. */
int abi_is_open(void);

void abi_lock(void);
int abi_trylock(void);   /* 1: taken */
void abi_unlock(void);

/*
 * For a program under ThreadSanitizer, which sees neither doorbells nor
 * completions: what a thread did before it posted is seen by the device, and
 * what the device did by the thread that polled. Nothing in other programs.
 */
void abi_order_before(void); /* a post, the end of the device's work */
void abi_order_after(void);  /* a completion, the begin of its work */

/* 1, the first time after a line that names `what`: we are in a signal handler
 * that found its own thread in the data path, and abi_lock() would wait for
 * ever. */
int abi_is_interrupted(const char *what);
void abi_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* node of this process, from EFASIM_NODE or the rank. */
unsigned abi_node(void);

/* The folder that stands for /sys; "" when not enabled. */
const char *abi_sysfs_root(void);

/* context.c */

/* Open a device of the host; a descriptor, or -1 with errno. */
int abi_open(unsigned device, int flags);

/* Is fd one of our contexts? Lock-free. */
struct abi_ctx *abi_ctx_find(int fd);

/* The program closes fd, which may be a context or a channel's end. */
void abi_close(int fd);

/* Fresh zeroed pages, one region for each of `sizes`: all, or none and a
 * negative errno. */
int abi_regions_alloc(struct abi_ctx *ctx, const size_t *sizes, unsigned num,
                      struct abi_region *regions);
void abi_region_free(struct abi_ctx *ctx, struct abi_region *region);

/* ioctl.c: the command decoder; 0 or a negative errno. */
int abi_ioctl(struct abi_ctx *ctx, struct ib_uverbs_ioctl_hdr *hdr);

/* A decoded command */
struct abi_cmd {
    struct abi_ctx         *ctx;
    struct ib_uverbs_attr  *attrs;
    unsigned                num;
    const char             *name; /* as in sim_command_names */
};

/* Attribute `id`, or NULL. */
struct ib_uverbs_attr *abi_attr(const struct abi_cmd *cmd, uint16_t id);

/* Copy at most `size` bytes of an input attribute into buf, the rest zero.
 * -EINVAL: missing or shorter than `need`. */
int abi_attr_in(const struct abi_cmd *cmd, uint16_t id, void *buf,
                size_t size, size_t need);

/* Write an output attribute, as much as the program has room for. A missing
 * one is no error. */
void abi_attr_out(const struct abi_cmd *cmd, uint16_t id, const void *buf,
                  size_t size);
void abi_attr_out_handle(const struct abi_cmd *cmd, uint16_t id,
                         uint64_t handle);

/* An object's handle; -1: missing. */
int64_t abi_attr_handle(const struct abi_cmd *cmd, uint16_t id);

/* Commands: 0 or a negative errno. device_cmds.c: */
int abi_get_context(struct abi_cmd *cmd);
int abi_query_port(struct abi_cmd *cmd);
int abi_query_gid_entry(struct abi_cmd *cmd);
int abi_query_gid_table(struct abi_cmd *cmd);
int abi_async_event_alloc(struct abi_cmd *cmd);
int abi_invoke_write(struct abi_cmd *cmd);

/* The "write" form of a command: its name, "" for an unknown one. */
const char *abi_write_name(const struct abi_cmd *cmd);

/* Tell the program that the device is gone (IBV_EVENT_DEVICE_FATAL), in every
 * context of it. */
void abi_async_fatal(struct fabric_env *env);
int abi_query_device(struct abi_cmd *cmd, int extended);

/* object_cmds.c: PD, AH, MR, channel */
int abi_pd_alloc(struct abi_cmd *cmd);
int abi_pd_destroy(struct abi_cmd *cmd);
int abi_ah_create(struct abi_cmd *cmd);
int abi_ah_destroy(struct abi_cmd *cmd);
int abi_mr_reg(struct abi_cmd *cmd);
int abi_mr_room(struct abi_dev *dev);
int abi_mr_destroy(struct abi_cmd *cmd);
int abi_mr_query(struct abi_cmd *cmd);
int abi_channel_create(struct abi_cmd *cmd);
void abi_mr_drop(struct abi_dev *dev, uint32_t index);
int abi_is_mapped(uint64_t addr, uint64_t span); /* 1 or 0 */
struct sim_pd *abi_pd_get(struct abi_ctx *ctx, int64_t handle);

/* dmabuf.c */
int abi_mr_reg_dmabuf(struct abi_cmd *cmd);

/* Map a part of a dma-buf. 0; -EBADF: no descriptor; -EINVAL: not of a dma-buf,
 * or shorter than that. Unmapping one that is not mapped does nothing. */
int abi_dmabuf_map(int fd, uint64_t offset, uint64_t length,
                   struct abi_mapping *map);
void abi_dmabuf_unmap(struct abi_mapping *map);

/* cntr_cmds.c: completion counters */
int abi_cntr_caps(struct abi_cmd *cmd);
int abi_cntr_create(struct abi_cmd *cmd);
int abi_cntr_destroy(struct abi_cmd *cmd);
int abi_cntr_modify(struct abi_cmd *cmd);
int abi_cntr_read(struct abi_cmd *cmd);
int abi_cntr_attach(struct abi_cmd *cmd);
void abi_cntr_drop(struct abi_cntr *cntr);

/* queue_cmds.c: CQ, QP */
int abi_cq_create(struct abi_cmd *cmd);
int abi_cq_destroy(struct abi_cmd *cmd);
int abi_qp_create(struct abi_cmd *cmd);
int abi_qp_destroy(struct abi_cmd *cmd);
int abi_qp_modify(struct abi_cmd *cmd);
int abi_qp_query(struct abi_cmd *cmd);
struct abi_qp *abi_qp_get(struct abi_ctx *ctx, int64_t handle);
void abi_cq_drop(struct abi_cq *cq);
void abi_qp_drop(struct abi_qp *qp);

/* channel.c */
void abi_channel_event(struct sim_cq *cq);
uint32_t abi_channel_forget(struct abi_cq *cq);
void abi_channel_close(int fd);
struct abi_channel *abi_channel_find(int fd);

/* hooks.c: enter the device from poll and post. With the lock held. */
void abi_hook_cq(struct abi_cq *cq);
void abi_hook_qp(struct abi_qp *qp);

/* Let a device work, if nobody else is at it; NULL: all of them. Returns the
 * number of things done. */
unsigned abi_progress(struct abi_dev *dev);

/* backstop.c */
void abi_backstop_start(void);

/* The thread may sleep: this device has something for it. */
void abi_backstop_kick(struct abi_dev *dev);

#endif
