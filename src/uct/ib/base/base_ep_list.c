/* SPDX-License-Identifier: BSD-3-Clause */
/* The lists of an interface's endpoints. A destroyed one lingers until nothing
 * of it is outstanding and its flow is closed. */
#include "base_ep_list.h"
#include "base_vfs.h"

#include <stdlib.h>

void base_ep_list_add(base_ep_t **list, base_ep_t *ep)
{
    ep->list_prev = NULL;
    ep->list_next = *list;
    if (*list != NULL) {
        (*list)->list_prev = ep;
    }
    *list = ep;
}

void base_ep_list_remove(base_ep_t **list, base_ep_t *ep)
{
    if (ep->list_prev != NULL) {
        ep->list_prev->list_next = ep->list_next;
    } else {
        *list = ep->list_next;
    }
    if (ep->list_next != NULL) {
        ep->list_next->list_prev = ep->list_prev;
    }
}

void base_ep_list_put_handle(base_ep_t *ep)
{
    if (ep->ah != NULL) {
        base_ah_put(&base_ep_iface(ep)->ahs, ep->ah);
        ep->ah = NULL;
    }
}

void base_ep_list_free(base_ep_t *ep)
{
    base_iface_t *iface = base_ep_iface(ep);

    base_ep_list_remove(&iface->lingering, ep);
    base_ep_list_put_handle(ep);
    --iface->endpoints;
    free(ep);
}

void base_ep_list_free_idle(base_ep_t *ep)
{
    if ((ep->held == 0) && base_ep_is_idle(ep)) {
        base_ep_list_free(ep);
    }
}

void base_ep_list_flow_gone(base_ep_t *ep)
{
    ep->tx = NULL;
    base_ep_list_free_idle(ep);
}
