/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transports in a peer's UCP address. UCP alone reads such an address; but
 * its line "no %s transport to %s: %s" (UCX from 1.13 on) has a name as second
 * argument that is a member of the address, as UCP has unpacked it. Behind the
 * name come the entries, one for each transport and device of the peer, each
 * with a checksum of the transport's name.
 */
#ifndef UCX_EFA_PEER_ADDRESS_H
#define UCX_EFA_PEER_ADDRESS_H

#include "host.h"

/*
 * The checksums (ucs_crc16_string) in the address whose name is at @name, at
 * most @max of them, into @sums. Returns their number; 0: they cannot be read.
 * Memory is read by a system call: an address with another layout, of a UCX
 * that was modified, gives 0 or numbers of no transport, and never a fault.
 */
unsigned peer_address_sums(const ucx_host_t *host, const char *name,
                           uint16_t *sums, unsigned max);

/* The checksum of a transport's name as this UCX makes it. Only after
 * peer_address_sums() returned some. */
uint16_t peer_address_sum(const ucx_host_t *host, const char *tl_name);

#endif
