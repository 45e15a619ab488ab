/* SPDX-License-Identifier: BSD-3-Clause */
#include "worker_use.h"

#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t uses_lock = PTHREAD_MUTEX_INITIALIZER;
static ucx_worker_use_t *uses;

ucx_worker_use_t *worker_use_get(uct_worker_h worker, use_kind_t kind)
{
    ucx_worker_use_t *use;

    pthread_mutex_lock(&uses_lock);
    for (use = uses; (use != NULL) && (use->worker != worker);
         use = use->next) {
    }
    if ((use == NULL) && ((use = calloc(1, sizeof(*use))) != NULL)) {
        use->worker = worker;
        use->next   = uses;
        uses        = use;
    }
    if (use != NULL) {
        ++use->refs;
        ++use->ifaces[kind];
    }
    pthread_mutex_unlock(&uses_lock);
    return use;
}

void worker_use_put(ucx_worker_use_t *use, use_kind_t kind)
{
    ucx_worker_use_t **link = &uses;

    if (use == NULL) {
        return;
    }
    pthread_mutex_lock(&uses_lock);
    --use->ifaces[kind];
    if (--use->refs == 0) {
        while (*link != use) {
            link = &(*link)->next;
        }
        *link = use->next;
        free(use);
    }
    pthread_mutex_unlock(&uses_lock);
}

void worker_use_add_ep(ucx_worker_use_t *use, use_kind_t kind)
{
    if (use != NULL) {
        __atomic_fetch_add(&use->eps[kind], 1, __ATOMIC_RELAXED);
    }
}
