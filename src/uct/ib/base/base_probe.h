/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_PROBE_H_
#define BASE_PROBE_H_

#include "base_types.h"

/*
 * ep_check of UCT (uct.h; the recovery of UCX 1.23 asks with a completion, its
 * keepalive without). Without `comp` UCS_OK: a peer that is gone fails the
 * endpoint. With it UCS_INPROGRESS, and progress completes it when the peer, or
 * its device (SRD), has answered for all that was sent before, or the endpoint
 * has failed: with that status. An endpoint that has failed: its status;
 * UCS_ERR_NO_MEMORY.
 */
ucs_status_t
base_probe_ep(uct_ep_h tl_ep, unsigned flags, uct_completion_t *comp);

/* Completes those whose answer is known. Returns how many. */
unsigned base_probe_run(base_iface_t *iface);

/* Is there one whose answer is known? */
int base_probe_is_ready(const base_iface_t *iface);

/* Completes those of an endpoint with UCS_ERR_CANCELED. */
void base_probe_cancel(base_ep_t *ep);

#endif
