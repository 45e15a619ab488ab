/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Is an address one of this host? Asked for each endpoint of a transport that
 * serves in place of ours (fallback.c). All functions from any thread.
 */
#ifndef UCX_EFA_NEAR_H
#define UCX_EFA_NEAR_H

#include <stddef.h>
#include <stdint.h>

/*
 * Nonzero if @ip, of @family and @size bytes, is an address of this host, or if
 * that cannot be known. If the last list of the host's addresses has not @ip,
 * they are listed again, but at most once a second: a new address may be
 * unknown for so long, and one that is gone is known until then.
 */
int near_ip(int family, const void *ip, size_t size);

/*
 * Nonzero if a device address of UCX's tcp is of this host. It consists of
 * flags, address family and, except for a loopback device, IP address.
 */
int near_tcp(const uint8_t *addr);

/*
 * Nonzero if two device addresses of one transport of UCX's ib component are
 * equal. The first byte says what follows, and so how long an address is: only
 * if it is the same in both are @length bytes, those of @ours, compared.
 */
int near_ib(const uint8_t *ours, size_t length, const uint8_t *theirs);

#endif
