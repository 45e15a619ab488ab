/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The devices that a UCX gets, of those there are.
 *
 * UCX up to 1.17 ends a program in ucp_worker_get_address() that has more than
 * 32 memory domains, 1.18 refuses the address: it gives the number of a domain
 * five bits there. A host of 32 EFAs has more with those of tcp, shared memory
 * and GPUs. UCX from 1.19 on takes the first UCX_MAX_COMPONENT_MDS of a
 * component, 16 unless the user sets it, whatever he chose.
 */
#ifndef UCX_EFA_DEVICES_H
#define UCX_EFA_DEVICES_H

#include "host.h"

/*
 * Sorts @names of @count devices: those that UCX_NET_DEVICES may take come
 * first. Returns how many of them the UCX of @host gets, the first ones. If
 * these are not all, and the user chose none, they are spread over the host, as
 * neighbours serve the same GPU; a warning says so, once in a process.
 */
unsigned ucx_devices_offer(const ucx_host_t *host,
                           char (*names)[UCT_MD_NAME_MAX], unsigned count);

#endif
