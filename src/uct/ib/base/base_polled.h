/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_POLLED_H_
#define BASE_POLLED_H_

#include "base_types.h"

/* Processes the completions that are kept. Returns how many there were. */
unsigned base_polled_take(base_iface_t *iface);
/* The same for work requests alone. */
unsigned base_polled_take_tx(base_iface_t *iface);
/* A message that is kept will not be delivered. */
void base_polled_drop_rx(base_iface_t *iface);

/* Polls one completion of either kind, if there is one, and keeps it. */
void base_polled_rx(base_iface_t *iface);
void base_polled_tx(base_iface_t *iface);

/*
 * Waits until `op`, just posted, is complete, at most `time` ns. Runs nobody's
 * callback: other completions are kept.
 * UCS_OK; UCS_ERR_TIMED_OUT, then it is still the device's; or the error it
 * ended with; UCS_ERR_NO_RESOURCE: it may be tried again.
 */
ucs_status_t base_polled_wait(base_iface_t *iface, base_op_t *op,
                              flow_time_t time);

/* Keeps a completion of a work request for progress, and completes those of one
 * endpoint that are kept. */
void base_polled_add(base_iface_t *iface, const efa_wc_t *wc);
void base_polled_take_ep(base_iface_t *iface, const base_ep_t *ep);

/*
 * Completions of a batch, from `wc` on, up to the next of a message that nobody
 * waits for. A callback may run, and destroy an endpoint or make progress,
 * which must find those that were not looked at yet. Returns the last one that
 * was dealt with.
 */
const efa_wc_t *base_polled_batch(base_iface_t *iface, const efa_wc_t *wc,
                                  const efa_wc_t *end);
/* The completion of one RDMA operation that ended well. Callbacks run. */
void base_polled_rma(base_iface_t *iface, base_op_t *op);

#endif
