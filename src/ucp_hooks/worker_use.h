/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interfaces and endpoints of a worker, by kind of transport, as fallback.h
 * counts them.
 */
#ifndef UCX_EFA_WORKER_USE_H
#define UCX_EFA_WORKER_USE_H

#include <uct/api/uct.h>

typedef enum use_kind {
    USE_NETWORK, /* UCX may fall back to it */
    USE_EFA,     /* ours, or another component's with a name of ours */
    USE_MEMORY,  /* shared memory that active messages go through */
    USE_KINDS
} use_kind_t;

/* Lives as long as one of the interfaces that it counts. */
typedef struct ucx_worker_use {
    struct ucx_worker_use *next;
    uct_worker_h          worker;
    unsigned              refs;
    unsigned              ifaces[USE_KINDS], eps[USE_KINDS];
} ucx_worker_use_t;

/* One more interface on @worker. NULL: out of memory; the functions below take
 * it. */
ucx_worker_use_t *worker_use_get(uct_worker_h worker, use_kind_t kind);

/* That interface was closed. */
void worker_use_put(ucx_worker_use_t *use, use_kind_t kind);

/* One more endpoint, ever. */
void worker_use_add_ep(ucx_worker_use_t *use, use_kind_t kind);

#endif
