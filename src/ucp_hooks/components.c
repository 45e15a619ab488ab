/* SPDX-License-Identifier: BSD-3-Clause */
#include "components.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"
#include "fallback.h"
#include "message.h"

enum { CLAIMS_MAX = 16 }; /* one for each libuct with an ib component */

#define IB_COMPONENT "ib"

typedef struct claim {
    const void           *component;
    ucx_host_t           *host;
    ucx_query_mds_func_t query; /* the component's own */
} claim_t;

static pthread_mutex_t claims_lock = PTHREAD_MUTEX_INITIALIZER;
static claim_t claims[CLAIMS_MAX];
static unsigned claim_count;

static const claim_t *claim_find(const void *component)
{
    const claim_t *found = NULL;
    unsigned i;

    pthread_mutex_lock(&claims_lock);
    for (i = 0; (i < claim_count) && (found == NULL); ++i) {
        found = (claims[i].component == component) ? &claims[i] : NULL;
    }
    pthread_mutex_unlock(&claims_lock);
    return found;
}

static int claim_is_ours(char (*names)[UCT_MD_NAME_MAX], unsigned count,
                         const char *md_name)
{
    unsigned i;

    for (i = 0; i < count; ++i) {
        if (!strncmp(names[i], md_name, UCT_MD_NAME_MAX - 1)) {
            return 1;
        }
    }
    return 0;
}

static void claim_say(const claim_t *claim, const char *md_name)
{
    host_debug(claim->host, "%s is an EFA device: kept from UCX's %s component "
               "(UCX_EFA_CLAIM=n leaves it there)", md_name, IB_COMPONENT);
}

static void claim_filter(const claim_t *claim, uct_md_resource_desc_t *list,
                         unsigned *count_p)
{
    char (*names)[UCT_MD_NAME_MAX] = NULL;
    unsigned i, count = 0, kept = 0;

    if (ucx_provider.query_mds(claim->host, &names, &count) != UCS_OK) {
        return; /* we serve no device, so ib keeps all of its own */
    }
    for (i = 0; i < *count_p; ++i) {
        if (claim_is_ours(names, count, list[i].md_name)) {
            claim_say(claim, list[i].md_name);
        } else {
            list[kept++] = list[i];
        }
    }
    *count_p = kept;
    free(names);
}

/* Nonzero if we serve all that this machine has for RDMA. Then the component
 * is not asked: for its answer it reads some ten files of each device. */
static int claim_is_all(const claim_t *claim)
{
    unsigned all                   = ucx_provider.count_rdma();
    char (*names)[UCT_MD_NAME_MAX] = NULL;
    unsigned i, count = 0;

    if ((all == 0) ||
        (ucx_provider.query_mds(claim->host, &names, &count) != UCS_OK)) {
        return 0;
    }
    for (i = 0; (i < count) && (count == all); ++i) {
        claim_say(claim, names[i]);
    }
    free(names);
    return count == all;
}

/* In the place of the ib component's query function. */
static ucs_status_t claim_query(void *component,
                                uct_md_resource_desc_t **resources_p,
                                unsigned *count_p)
{
    const claim_t *claim = claim_find(component);
    ucs_status_t status;
    int is_on;

    if (claim == NULL) {
        return UCS_ERR_NO_DEVICE; /* cannot be: claim_attach adds it first */
    }
    is_on = (claim->host->calls->global.claim != UCS_NO) &&
            (ucx_collision_find(claim->host).name == NULL);
    if (is_on && claim_is_all(claim)) {
        *resources_p = NULL;
        *count_p     = 0;
        return UCS_OK;
    }
    status = claim->query(component, resources_p, count_p);
    if (is_on && (status == UCS_OK) && (*count_p > 0)) {
        claim_filter(claim, *resources_p, count_p);
    }
    return status;
}

static void claim_attach(ucx_host_t *host, const ucx_list_entry_t *entry)
{
    ucx_query_mds_func_t ours = claim_query, theirs;
    int full = 0;

    pthread_mutex_lock(&claims_lock);
    memcpy(&theirs, entry->query_mds, sizeof(theirs));
    if (theirs != ours) {
        full = claim_count == CLAIMS_MAX;
        if (!full) {
            claims[claim_count++] = (claim_t){entry->component, host,
                                              theirs};
            memcpy(entry->query_mds, &ours, sizeof(ours));
        }
    }
    pthread_mutex_unlock(&claims_lock);
    if (full) {
        host_debug(host, "more than %d copies of UCX's %s component: this one "
                   "keeps its EFA devices", CLAIMS_MAX, IB_COMPONENT);
    }
}

static void intercept_visit(const ucx_list_entry_t *entry, void *arg)
{
    ucx_host_t *host = arg;

    if (entry->tl_name != NULL) {
        ucx_fallback_attach(host, entry);
    } else if (!strncmp(entry->component_name, IB_COMPONENT,
                        UCT_COMPONENT_NAME_MAX)) {
        claim_attach(host, entry);
    }
}

int ucx_components_intercept(ucx_host_t *host)
{
    const ucx_calls_t *calls  = host->calls;
    ucx_collision_t collision = ucx_collision_find(host);

    if (collision.name != NULL) {
        ucx_message_collision(host, &collision);
    }
    /* a second copy of this module does the same for its own transports */
    if ((collision.name == NULL) || !collision.is_copy) {
        calls->abi->list_visit(calls, calls->component, intercept_visit, host);
    }
    return collision.name != NULL;
}
