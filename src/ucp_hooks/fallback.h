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
#include "worker_use.h"

/* Replace this transport's iface_open, if it can matter and is not done yet. */
void ucx_fallback_attach(ucx_host_t *host, const ucx_list_entry_t *entry);

/* A memory domain of ours: while one is open, a device can be used. */
void ucx_fallback_md_opened(void);
void ucx_fallback_md_closed(void);

/* An interface of ours on @worker was opened. NULL: out of memory; the
 * functions below take it. */
ucx_worker_use_t *ucx_fallback_iface_opened(uct_worker_h worker);
void ucx_fallback_iface_closed(ucx_worker_use_t *use);

/* An endpoint of ours was created on it. */
void ucx_fallback_ep_created(ucx_worker_use_t *use);

#endif
