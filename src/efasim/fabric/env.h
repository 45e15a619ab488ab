/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine's functions of the outside, for a fabric between processes. */
#ifndef EFASIM_FABRIC_ENV_H
#define EFASIM_FABRIC_ENV_H

#include "fabric.h"

#include "efasim/engine/env_ops.h"

/* The environment of an engine on this fabric: rings, memory, clock. */
extern const struct sim_env_ops fabric_env_ops;

struct fabric_env {
    struct fabric *fabric;
    void (*event)(struct sim_cq *cq);
    void (*removed)(struct fabric_env *env);
    int      trace_fd;   /* open for appending, if the device traces */
    int      is_cut;     /* the trace, in which not all could be written */
    uint64_t virtual_ns; /* the time, if it is not the clock's; 0: it is */
    struct {
        uint32_t owner;
        uint64_t ns;     /* its process was seen alive, by the clock */
    } seen[SIM_SLOTS];
};

/*
 * Have pages for the registrations of a NIC before one is entered: a full
 * /dev/shm is then an error and not a SIGBUS. *reserved is the number of
 * entries known to have pages. Returns 0 or -1 with errno.
 */
int fabric_env_mr_reserve(struct fabric *fabric, unsigned nic,
                          uint32_t *reserved);

#endif
