/*
 * No silent fallback: one warning in a process when UCX takes another network
 * transport (tcp, or one of the ib component) to another host although this
 * host has an EFA.
 *
 * The moment is the creation of an endpoint by that transport, not the opening
 * of its interface: UCX opens interfaces of all transports it may use, also
 * where all ranks share one host. To know it we stand in front of the
 * transport's iface_open, and of ep_create in the operations of the interface,
 * which are public and of one layout in all versions.
 *
 * No warning: the peer is on this host; there is an srd endpoint for each peer
 * (then the other transport serves besides it); UCX_EFA_WARN_FALLBACK=n.
 * Not seen: endpoints that are made without an address and connected later
 * (rc), and connections by socket address as such.
 */
#ifndef UCX_EFA_FALLBACK_H
#define UCX_EFA_FALLBACK_H

#include "company.h"

/* What a worker has of ours; kept as long as the process lives. */
typedef struct ucx_worker_use ucx_worker_use_t;

/* Stand in front of this transport, if it is a network's and not done yet. */
void ucx_fallback_attach(ucx_host_t *host, const ucx_neighbour_t *neighbour);

/* An interface of ours on @worker was opened. NULL: out of memory, and what
 * follows takes NULL. */
ucx_worker_use_t *ucx_fallback_iface_opened(uct_worker_h worker);
void ucx_fallback_iface_closed(ucx_worker_use_t *use);

/* An endpoint of ours was created on it. */
void ucx_fallback_ep_created(ucx_worker_use_t *use);

#endif
