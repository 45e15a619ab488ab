/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_OUTSTANDING_H_
#define BASE_OUTSTANDING_H_

#include "base_types.h"

/* Puts something at the end of an endpoint's queue, and takes it out. */
static inline void base_outstanding_append(base_ep_t *ep, base_out_t *out)
{
    out->prev       = ep->queue.prev;
    out->next       = &ep->queue;
    out->prev->next = out;
    ep->queue.prev  = out;
}

static inline void base_outstanding_remove(base_out_t *out)
{
    out->prev->next = out->next;
    out->next->prev = out->prev;
}

/* Puts `first` to `last` there, linked to each other in both directions but for
 * their ends. */
static inline void base_outstanding_append_chain(base_ep_t *ep,
                                                 base_out_t *first,
                                                 base_out_t *last)
{
    first->prev       = ep->queue.prev;
    first->prev->next = first;
    last->next        = &ep->queue;
    ep->queue.prev    = last;
}

/* Completes the markers that nothing is outstanding before. Callbacks run; with
 * `ep` they may do as they like, destroy it included. Call it when an operation
 * ended and there are flushes. */
void base_outstanding_end_flushes(base_ep_t *ep);

/* Completes every marker, wherever it stands, with UCS_ERR_CANCELED. */
void base_outstanding_cancel_flushes(base_ep_t *ep);

/* An RMA operation of the endpoint ended: fences may open. */
void base_outstanding_rma_done(base_ep_t *ep);

/* Later posts wait for the RMA that was posted before. */
void base_outstanding_fence(base_ep_t *ep);

#endif
