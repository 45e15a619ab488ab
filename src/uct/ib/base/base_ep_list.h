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

/* Frees a destroyed endpoint: its queue is empty, its flow is gone. */
void base_ep_list_free(base_ep_t *ep);

#endif
