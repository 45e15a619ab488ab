/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_EP_LIST_H_
#define BASE_EP_LIST_H_

#include "base_types.h"

/* Adds an endpoint to a list of its interface (alive, lingering), and takes it
 * off. */
void base_ep_list_add(base_ep_t **list, base_ep_t *ep);
void base_ep_list_remove(base_ep_t **list, base_ep_t *ep);

/* Nothing is posted to ep->dest any more: gives its address handle back. Later
 * control packets of the flow take a handle of their own, and may wait long for
 * a host that is away. */
void base_ep_list_put_handle(base_ep_t *ep);

/* The core is done with the flow of a destroyed endpoint: frees it, or its last
 * operation will. */
void base_ep_list_flow_gone(base_ep_t *ep);

/* Its flow is gone: frees it where nothing is outstanding and nobody holds
 * it. */
void base_ep_list_free_idle(base_ep_t *ep);

/* Frees a destroyed endpoint: its queue is empty, its flow is gone. */
void base_ep_list_free(base_ep_t *ep);

/* A callback of the user's may destroy an endpoint, and make progress until its
 * flow is gone. Hold it where it is used behind one: the last release frees
 * it. */
static inline void base_ep_list_hold(base_ep_t *ep)
{
    ++ep->held;
}

static inline void base_ep_list_release(base_ep_t *ep)
{
    --ep->held;
    if (__builtin_expect(ep->tx == NULL, 0)) {
        base_ep_list_free_idle(ep);
    }
}

#endif
