/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * No silent fallback: one warning in a process when UCX takes another network
 * transport (tcp, or one of the ib component) to another host although this
 * host has an EFA, usable or not.
 *
 * The moment is the creation or connection of an endpoint by that transport,
 * not the opening of its interface: UCX opens interfaces of all transports it
 * may use, also where all ranks share one host. To know it we stand in front of
 * the transport's iface_open, and of what makes endpoints in the operations of
 * the interface. Those that serve beside it are counted in the same way:
 * endpoints of an srd, ours or UCX's own, and of shared memory.
 *
 * Another host is one with another address; or with one of ours, where this
 * process has shared memory and it does not reach the peer: containers, and
 * emulated hosts.
 *
 * No warning: the peer is on this host; there is an srd endpoint for each peer
 * (then the other transport serves besides it); UCX_EFA_WARN_FALLBACK=n; the
 * process has been told already why there is no srd.
 */
#ifndef UCX_EFA_FALLBACK_H
#define UCX_EFA_FALLBACK_H

#include "components.h"
#include "worker_use.h"

/* Stand in front of this transport, if it matters and it is not done yet. */
void ucx_fallback_attach(ucx_host_t *host, const ucx_list_entry_t *entry);

/* A memory domain of ours: while there is one the device is not what lacks. */
void ucx_fallback_md_opened(void);
void ucx_fallback_md_closed(void);

/* An interface of ours on @worker was opened. NULL: out of memory, and what
 * follows takes NULL. */
ucx_worker_use_t *ucx_fallback_iface_opened(uct_worker_h worker);
void ucx_fallback_iface_closed(ucx_worker_use_t *use);

/* An endpoint of ours was created on it. */
void ucx_fallback_ep_created(ucx_worker_use_t *use);

#endif
