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
 * that cannot be known. The interfaces are listed again where the last list
 * has it not, but once a second at most: one that came meanwhile is unknown for
 * so long, one that left is known until then.
 */
int near_ip(int family, const void *ip, size_t size);

/*
 * Nonzero if a device address of UCX's tcp, which may come from a connected
 * socket, too, is of this host: flags, family, IP address; that of a loopback
 * device has none.
 */
int near_tcp(const uint8_t *addr);

/*
 * Nonzero if two device addresses of one transport of UCX's ib component are
 * equal. Their first byte says what follows, and so how long they are: of
 * @theirs more is read only if that is as in @ours, of @length bytes.
 */
int near_ib(const uint8_t *ours, size_t length, const uint8_t *theirs);

#endif
