/* SPDX-License-Identifier: BSD-3-Clause */
/* Users who wait for a sign of life of a peer. */
#include "base_probe.h"
#include "base_flow.h"

#include <stdlib.h>

typedef struct base_probe base_probe_t;

struct base_probe {
    base_probe_t     *next;
    base_ep_t        *ep;
    uct_completion_t *comp;
    flow_psn_t        psn; /* the endpoint's when it was asked for */
};

static int base_probe_is_known(const base_probe_t *probe)
{
    return (probe->ep->state != BASE_EP_ALIVE) ||
           flow_tx_is_answered(probe->ep->tx, probe->psn);
}

/* Takes *place out of the list and completes it: the callback may ask for more
 * or destroy endpoints. */
static void base_probe_end(base_iface_t *iface, base_probe_t **place)
{
    base_probe_t     *probe = *place;
    uct_completion_t *comp  = probe->comp;
    ucs_status_t      status;

    status = (probe->ep->state == BASE_EP_ALIVE) ? UCS_OK : probe->ep->status;
    *place = probe->next;
    if (iface->probe_next == probe) {
        iface->probe_next = probe->next;
    }
    if (iface->probes == NULL) {
        iface->todo &= ~(uintptr_t)BASE_TODO_PROBE;
    }
    free(probe);
    ucx_completion_done(comp, status);
}

/* Where the list has it. */
static base_probe_t **
base_probe_place(base_iface_t *iface, const base_probe_t *probe)
{
    base_probe_t **place = &iface->probes;

    while (*place != probe) {
        place = &(*place)->next;
    }
    return place;
}

ucs_status_t
base_probe_ep(uct_ep_h tl_ep, unsigned flags, uct_completion_t *comp)
{
    base_ep_t    *ep    = (base_ep_t*)tl_ep;
    base_iface_t *iface = base_ep_iface(ep);
    base_probe_t *probe;

    (void)flags;
    if (ep->state != BASE_EP_ALIVE) { /* else the report follows */
        return (ep->reported || (comp != NULL)) ? ep->status : UCS_OK;
    }
    if (comp == NULL) {
        flow_tx_check(iface->core, ep->tx);
        return UCS_OK;
    }
    probe = malloc(sizeof(*probe));
    if (probe == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    flow_tx_check(iface->core, ep->tx);
    *probe        = (base_probe_t){iface->probes, ep, comp,
                                   flow_tx_psn(ep->tx)};
    iface->probes = probe;
    iface->todo  |= BASE_TODO_PROBE;
    return UCS_INPROGRESS;
}

unsigned base_probe_run(base_iface_t *iface)
{
    unsigned      count = 0;
    base_probe_t *probe;

    iface->probe_next = iface->probes;
    while ((probe = iface->probe_next) != NULL) {
        iface->probe_next = probe->next;
        if (base_probe_is_known(probe)) {
            ++count;
            base_probe_end(iface, base_probe_place(iface, probe));
        }
    }
    return count;
}

int base_probe_is_ready(const base_iface_t *iface)
{
    const base_probe_t *probe = iface->probes;

    while ((probe != NULL) && !base_probe_is_known(probe)) {
        probe = probe->next;
    }
    return probe != NULL;
}

void base_probe_cancel(base_ep_t *ep)
{
    base_iface_t  *iface = base_ep_iface(ep);
    base_probe_t **place = &iface->probes;

    while (*place != NULL) {
        if ((*place)->ep == ep) {
            base_probe_end(iface, place);
            place = &iface->probes; /* the callback may have changed it */
        } else {
            place = &(*place)->next;
        }
    }
}
