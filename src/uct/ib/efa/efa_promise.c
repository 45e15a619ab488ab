/* SPDX-License-Identifier: BSD-3-Clause */
#include "efa_promise.h"

static pthread_mutex_t efa_promise_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned        efa_promises[EFA_QP_KINDS];

int efa_promise_is(const efa_md_t *md, efa_qp_kind_t kind)
{
    return !!(md->promised & UCS_BIT(kind));
}

void efa_promise_make(efa_md_t *md, efa_qp_kind_t kind)
{
    pthread_mutex_lock(&efa_promise_lock);
    efa_promises[kind] += !efa_promise_is(md, kind);
    md->promised |= UCS_BIT(kind);
    pthread_mutex_unlock(&efa_promise_lock);
}

void efa_promise_end(efa_md_t *md, efa_qp_kind_t kind)
{
    pthread_mutex_lock(&efa_promise_lock);
    efa_promises[kind] -= efa_promise_is(md, kind);
    md->promised &= ~UCS_BIT(kind);
    pthread_mutex_unlock(&efa_promise_lock);
}

unsigned efa_promise_count(efa_qp_kind_t kind)
{
    unsigned count;

    pthread_mutex_lock(&efa_promise_lock);
    count = efa_promises[kind];
    pthread_mutex_unlock(&efa_promise_lock);
    return count;
}
