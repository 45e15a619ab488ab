/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_FAIL_H_
#define BASE_FAIL_H_

#include "base_types.h"

/* The device failed: says so once; the next progress ends the interface. No
 * callback runs. */
void base_fail_iface(base_iface_t *iface, const char *what, int err);

/* Rounds of progress between a report and the first error that is returned:
 * UCP acts on it in a callback of the same or the next one. */
#define BASE_TOLD_ROUNDS 4

/* Counts the next BASE_TOLD_ROUNDS rounds of progress; each serves pending
 * requests. */
void base_fail_count_rounds(base_iface_t *iface);

/*
 * The peer or the path failed: no more posts. `why` as for flow_tx_fail, ERROR
 * where it is this endpoint alone. The error handler runs later, from progress,
 * once. Repeating it changes nothing.
 */
void base_fail_ep(base_ep_t *ep, ucs_status_t status, flow_send_status_t why);

/* The line about its endpoint's failure will name this operation and the
 * device's status of its completion. Call it before the endpoint fails. */
void base_fail_by(const base_op_t *op, unsigned vendor_err);

/* The status that a user gets for a flow's end. */
ucs_status_t base_fail_end_status(flow_end_t why);

/* The user gives it up: as base_fail_ep, but nobody is told. */
void base_fail_ep_cancel(base_ep_t *ep);

/* The core said that the flow failed: calls the error handler, which may
 * destroy the endpoint. Where nobody handles it the process ends; but not for a
 * peer whose process is gone while the user has nothing under way to it: then
 * with the next post. */
void base_fail_ep_report(base_ep_t *ep, flow_end_t why);

/*
 * Status of an operation on a failed endpoint: UCS_ERR_NO_RESOURCE until the
 * user was told and had BASE_TOLD_ROUNDS of progress to act upon it, then why
 * it failed. Before that UCP chooses the same lane again: with error mode
 * FAILOVER it starts a request anew from inside the completion that failed, and
 * an error from in there would be answered in the same way, without end.
 */
ucs_status_t base_fail_ep_status(const base_ep_t *ep);

/* Nonzero: requests of this endpoint wait already, and none of them is being
 * served. Progress serves them and asks the peer; a post has nothing to ask. */
static inline int base_fail_ep_waits(const base_ep_t *ep)
{
    return (ep->requests != NULL) && (ep->state == BASE_EP_ALIVE) &&
           (base_ep_iface(ep)->serving != ep);
}

/* Status of a post that found no number, no operation or no buffer:
 * UCS_ERR_NO_RESOURCE, or why the endpoint failed (base_fail_ep_status). */
ucs_status_t base_fail_ep_blocked(base_ep_t *ep);

/* Nanoseconds between two looks at an endpoint that waits. */
#define BASE_PROBE_TIME 1000000000ull

/*
 * The endpoint waits for its peer, at `now`. Where nothing is under way whose
 * completion would tell, the peer is asked, once a second, whether it lives: it
 * may have gone with messages that it took and never consumed, and UCP's
 * keepalive is itself a message for such an endpoint.
 */
void base_fail_ep_ping(base_ep_t *ep, flow_time_t now);

/* A post failed with `err`: UCS_ERR_NO_RESOURCE where it is a matter of time,
 * else the endpoint fails and the status tells why. */
ucs_status_t base_fail_post(base_ep_t *ep, int err);

#endif
