/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that the engine needs from outside; `env` is the caller's. */
#ifndef EFASIM_ENGINE_ENV_OPS_H
#define EFASIM_ENGINE_ENV_OPS_H

#include "efa_io.h"
#include "ring.h"

#include <stddef.h>
#include <stdint.h>

struct sim_cq;

enum { SIM_ALIVE_STOPPED = 2 }; /* else 1 */

enum sim_fatal {
    SIM_FATAL_REMOVED, /* the device was pulled out */
    SIM_FATAL_KILLED,  /* the host dies */
};

/* Our own end of an RDMA operation */
struct sim_near {
    const uint8_t *bytes; /* an inline write's, in the request; else NULL: */
    uint64_t       addr;  /* in our registered memory (sim_mr_attr.addr) */
};

struct sim_env_ops {
    /* Nanoseconds, monotone. */
    uint64_t (*now)(void *env);

    /* The ring from us to `owner`, created on first use; NULL if it cannot be
     * had. */
    struct ring *(*ring_map_tx)(void *env, uint32_t owner);

    /* The ring from `owner` to us; NULL while there is none. */
    struct ring *(*ring_map_rx)(void *env, uint32_t owner);
    void (*ring_unmap)(void *env, struct ring *ring);

    /* Wake the process in this slot, which sleeps. */
    void (*wake)(void *env, unsigned slot);

    /* Is there the process? May cost a few system calls. When there is not (0),
     * the callee has already taken back all that it held (dir_purge).
     * SIM_ALIVE_STOPPED: a signal or a debugger has stopped it. */
    int (*is_alive)(void *env, uint32_t owner);

    /* IO_OP_READ: copy from another process's registered memory; IO_OP_WRITE:
     * into it. 0, -EFAULT (not mapped so), -ESRCH (gone), -EXDEV (in another
     * PID namespace) or -EPERM. */
    int (*rdma)(void *env, uint32_t owner, enum io_tx_op op,
                struct sim_near near, uint64_t addr, size_t length);

    /* Our own process's registered memory. */
    void (*mem_read)(void *env, void *dst, uint64_t addr, size_t length);
    void (*mem_write)(void *env, uint64_t addr, const void *src, size_t length);

    /* A completion arrived in a CQ that was armed. */
    void (*event)(void *env, struct sim_cq *cq);

    /* One line for the user; without newline. */
    void (*log)(void *env, const char *line);

    /* One line of the trace, without newline and time. */
    void (*trace)(void *env, const char *line);

    /* A plan takes the device (its QPs are in error already) or the host. */
    void (*fatal)(void *env, enum sim_fatal what);
};

#endif
