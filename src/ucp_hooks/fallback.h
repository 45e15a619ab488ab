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

/* One interface that is open. */
typedef struct ucx_use {
    struct ucx_use *next;
    uct_iface_h    iface;
    uct_worker_h   worker;
    use_kind_t     kind;
    unsigned       eps; /* that it ever had */
} ucx_use_t;

/* An interface was opened: an object of @size bytes that begins with a
 * ucx_use_t, the rest zeros; ucx_use_end frees it. NULL: out of memory; the
 * functions below take it. */
ucx_use_t *ucx_use_begin(size_t size, uct_iface_h iface, uct_worker_h worker,
                         use_kind_t kind);
void ucx_use_end(ucx_use_t *use);

/* One more endpoint of it. */
void ucx_use_add_ep(ucx_use_t *use);

#endif
