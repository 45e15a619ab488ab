/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SRD_SEGMENTS_H_
#define SRD_SEGMENTS_H_

#include "srd.h"

/*
 * Puts and gets of a peer's memory that is registered in segments
 * (efa_rkey.h). They stand before the usual ones in an interface's table from
 * the first such key that the process has unpacked, so that others cost
 * nothing. Until an endpoint has read the table of keys from the peer they
 * return UCS_ERR_NO_RESOURCE; no other of their statuses is new.
 */

/* The interface is complete. */
void srd_segments_open(base_iface_t *iface);

/* As efa_rkey_unpack. */
ucs_status_t srd_rkey_unpack(ucx_host_t *host, const void *buffer,
                             uct_rkey_t *rkey_p, void **handle_p);

#endif
