/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * No silent fallback: one warning in a process when UCX takes another network
 * transport (tcp, or one of the ib component) to another host although this
 * host has an EFA, usable or not.
 *
 * The warning comes when that transport creates or connects an endpoint, not
 * when its interface is opened: UCX opens interfaces of all transports it may
 * use, also where all ranks share one host. To learn of it we replace the
 * transport's iface_open by a function of ours, and in each interface that the
 * original opens the functions that make endpoints. Endpoints of an srd, ours
 * or UCX's own, of our ud, and of shared memory are counted in the same way.
 *
 * A peer is on another host if its address is none of this host; or if it is,
 * but shared memory, which this process has, does not reach the peer
 * (containers, emulated hosts).
 *
 * By socket address UCX may make that endpoint seconds before ours: then the
 * warning waits for 10 s, or for the end of the interface.
 *
 * No warning: the peer is on this host; there is such an endpoint for each peer
 * (then the other transport serves besides it); UCX_EFA_WARN_FALLBACK=n; the
 * process has been told already why none of ours is used.
 */
#ifndef UCX_EFA_FALLBACK_H
#define UCX_EFA_FALLBACK_H

#include "components.h"

/* Replace this transport's iface_open, if it can matter and is not done yet. */
void ucx_fallback_attach(ucx_host_t *host, const ucx_list_entry_t *entry);

/* A memory domain of ours was opened (@change 1) or closed (-1): while one is
 * open, a device can be used. */
void ucx_fallback_md_count(int change);

/* Interfaces and endpoints of a worker are counted, by kind of transport. */
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
