/* SPDX-License-Identifier: BSD-3-Clause */
#include "collision.h"

#include <string.h>

#include "abi.h"

static void collision_visit(const ucx_list_entry_t *entry, void *arg)
{
    ucx_collision_t *collision = arg;
    unsigned i;

    for (i = 0; (entry->tl_name != NULL) &&
                (i < ucx_provider.carrier_count); ++i) {
        const char *name = ucx_provider.transports[i]->name;

        if ((collision->name == NULL) &&
            !strncmp(entry->tl_name, name, UCT_TL_NAME_MAX)) {
            collision->name    = name;
            collision->is_copy = !strncmp(entry->component_name,
                                          ucx_provider.name,
                                          UCT_COMPONENT_NAME_MAX);
            if (collision->is_copy) {
                memcpy(&collision->code, entry->query_mds,
                       sizeof(collision->code));
            }
        }
    }
}

ucx_collision_t ucx_collision_find(const ucx_host_t *host)
{
    const ucx_calls_t *calls  = host->calls;
    ucx_collision_t collision = {NULL, 0, NULL};

    calls->abi->list_visit(calls, calls->component, collision_visit,
                           &collision);
    if ((calls->global.claim != UCS_NO) && !collision.is_copy) {
        collision.name = NULL; /* components.c sets UCX's own aside */
    }
    return collision;
}

const char *ucx_collision_name(const ucx_host_t *host)
{
    return ucx_collision_find(host).name;
}
