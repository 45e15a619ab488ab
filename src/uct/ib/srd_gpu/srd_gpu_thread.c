/* SPDX-License-Identifier: BSD-3-Clause */
#include "srd_gpu_thread.h"

#include <uct/ib/base/base_ep.h>
#include <uct/ib/base/base_iface.h>
#include <uct/ib/base/base_lock.h>
#include <uct/ib/base/base_progress.h>
#include <uct/ib/efa/efa_clock.h>

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define SRD_GPU_NAP_MIN 20000   /* ns of a sleep, doubled */
#define SRD_GPU_NAP_MAX 2000000
#define SRD_GPU_LOOKS   64      /* rounds between two looks at the clock */

static srd_gpu_iface_t *srd_gpu_iface_of(uct_ep_h ep)
{
    return (srd_gpu_iface_t*)base_ep_iface((base_ep_t*)ep);
}

/* For UCP's calls: the thread takes the lock again and again, and leaves it to
 * those who want it. */
static void srd_gpu_lock(srd_gpu_iface_t *iface)
{
    atomic_fetch_add(&iface->thread.wishes, 1);
    pthread_mutex_lock(&iface->thread.mutex);
    atomic_fetch_sub(&iface->thread.wishes, 1);
}

static void srd_gpu_unlock(srd_gpu_iface_t *iface)
{
    pthread_mutex_unlock(&iface->thread.mutex);
}

/* ------------------------------------------------------------ the thread */

/* Nothing is done since `began`: it polls on, or sleeps longer each time. */
static void srd_gpu_thread_rest(srd_gpu_thread_t *thread,
                                flow_time_t began, long *nap)
{
    struct timespec time = {.tv_sec = 0, .tv_nsec = *nap};

    if (efa_clock() - began < thread->idle) {
        sched_yield();
        return;
    }
    ++thread->naps;
    nanosleep(&time, NULL);
    *nap = efa_at_most(*nap * 2, SRD_GPU_NAP_MAX);
}

static void *srd_gpu_thread_main(void *arg)
{
    srd_gpu_iface_t *iface = arg;
    flow_time_t      began = 0;
    long             nap   = SRD_GPU_NAP_MIN;
    unsigned         empty = 0, count;

    while (!atomic_load(&iface->thread.stops)) {
        while (atomic_load(&iface->thread.wishes) > 0) {
            sched_yield();
        }
        pthread_mutex_lock(&iface->thread.mutex);
        count = srd_gpu_progress((uct_iface_h)iface);
        srd_gpu_unlock(iface);
        if (count > 0) {
            empty = 0;
            began = 0;
            nap   = SRD_GPU_NAP_MIN;
        } else if (++empty % SRD_GPU_LOOKS == 0) {
            began = (began == 0) ? efa_clock() : began;
            srd_gpu_thread_rest(&iface->thread, began, &nap);
        }
    }
    return NULL;
}

/* With signals blocked: they are the program's. (But not SIGBUS, which kills
 * where it is blocked: a counter's file may be cut off.) */
static int srd_gpu_thread_start(srd_gpu_iface_t *iface)
{
    sigset_t all, before;
    int      err;

    if (iface->thread.runs) {
        return 0;
    }
    sigfillset(&all);
    sigdelset(&all, SIGBUS);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    err = pthread_create(&iface->thread.id, NULL, srd_gpu_thread_main, iface);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (err != 0) {
        host_error(iface->super.super.host,
                   "%s: no thread for srd_gpu: %s; UCX_SRD_GPU_THREAD=n does "
                   "without, in the worker's progress",
                   base_iface_md(&iface->super)->device->name, strerror(err));
        return err;
    }
    iface->thread.runs = 1;
    return 0;
}

/* ------------------------------------------------------------ callbacks */

/* A callback for later, under the lock. NULL: no memory. */
static srd_gpu_call_t *srd_gpu_call_new(srd_gpu_iface_t *iface, uct_ep_h ep)
{
    srd_gpu_call_t *call = calloc(1, sizeof(*call)), **tail;

    if (call != NULL) {
        call->iface = iface;
        call->ep    = (base_ep_t*)ep;
        for (tail = &iface->thread.calls; *tail != NULL;
             tail = &(*tail)->next) {
        }
        *tail = call;
    }
    return call;
}

static void srd_gpu_call_is_due(srd_gpu_call_t *call)
{
    call->is_due = 1;
    atomic_fetch_add(&call->iface->thread.due, 1);
}

static void srd_gpu_call_free(srd_gpu_call_t *call)
{
    srd_gpu_call_t **link = &call->iface->thread.calls;

    while (*link != call) {
        link = &(*link)->next;
    }
    *link = call->next;
    if (call->is_due) {
        atomic_fetch_sub(&call->iface->thread.due, 1);
    }
    free(call);
}

static void srd_gpu_call_completed(uct_completion_t *comp)
{
    srd_gpu_call_is_due((srd_gpu_call_t*)((char*)comp -
                                          offsetof(srd_gpu_call_t, comp)));
}

ucs_status_t
srd_gpu_thread_failed(void *arg, uct_ep_h ep, ucs_status_t status)
{
    srd_gpu_iface_t *iface = srd_gpu_iface_of(ep);
    srd_gpu_call_t  *call  = srd_gpu_call_new(iface, ep);

    (void)arg;
    if (call == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    call->status = status;
    srd_gpu_call_is_due(call);
    return UCS_OK;
}

/* Makes one that is due; requests that were tried are passed by. 0: there was
 * none. */
static int srd_gpu_call_make(srd_gpu_iface_t *iface, unsigned *tried)
{
    unsigned        skip = *tried;
    srd_gpu_call_t *call, made;

    srd_gpu_lock(iface);
    for (call = iface->thread.calls;
         (call != NULL) && (!call->is_due ||
                            ((call->req != NULL) && (skip-- > 0)));
         call = call->next) {
    }
    if (call == NULL) {
        srd_gpu_unlock(iface);
        return 0;
    }
    made = *call;
    srd_gpu_call_free(call);
    srd_gpu_unlock(iface);

    if (made.req != NULL) {
        if (made.req->func(made.req) != UCS_OK) {
            *tried += iface->super.super.super.ops.ep_pending_add(
                              &made.ep->super.super, made.req, 0) == UCS_OK;
        }
    } else if (made.user != NULL) {
        ucx_completion_done(made.user, made.comp.status);
    } else {
        (void)iface->thread.on_error(iface->thread.on_error_arg,
                                     &made.ep->super.super, made.status);
    }
    return 1;
}

/* UCP's progress. It is the interface's, too, until that has a thread: a peer's
 * first increment is a reason for one. */
static unsigned srd_gpu_thread_progress(uct_iface_h tl_iface)
{
    srd_gpu_iface_t *iface = (srd_gpu_iface_t*)tl_iface;
    unsigned         count = 0, tried = 0, due;

    if (!iface->thread.runs) {
        srd_gpu_lock(iface);
        count = srd_gpu_progress(tl_iface);
        if (iface->is_counted) {
            (void)srd_gpu_thread_start(iface);
        }
        srd_gpu_unlock(iface);
    }
    due = count + atomic_load(&iface->thread.due);
    while ((count < due) && srd_gpu_call_make(iface, &tried)) {
        ++count;
    }
    return count;
}

/* ------------------------------------------------------------ operations */

/* An operation that may end later: `_call` uses `ours` in place of UCP's
 * completion. */
#define SRD_GPU_ENDS_LATER(_iface, _ep, _user, _call) \
    srd_gpu_iface_t  *locked = _iface; \
    srd_gpu_call_t   *call   = NULL; \
    uct_completion_t *ours   = NULL; \
    ucs_status_t      status = UCS_ERR_NO_MEMORY; \
    \
    srd_gpu_lock(locked); \
    base_flow_clock(&locked->super); \
    if (_user != NULL) { \
        call = srd_gpu_call_new(locked, _ep); \
    } \
    if (call != NULL) { \
        call->user        = _user; \
        call->comp.func   = srd_gpu_call_completed; \
        call->comp.count  = 1; \
        call->comp.status = UCS_OK; \
        ours              = &call->comp; \
    } \
    if ((_user == NULL) || (call != NULL)) { \
        status = _call; \
    } \
    if ((call != NULL) && (status != UCS_INPROGRESS)) { \
        srd_gpu_call_free(call); \
    } \
    srd_gpu_unlock(locked); \
    return status

static ucs_status_t
srd_gpu_ep_flush(uct_ep_h ep, unsigned flags, uct_completion_t *comp)
{
    SRD_GPU_ENDS_LATER(srd_gpu_iface_of(ep), ep, comp,
                       base_iface_ops.ep_flush(ep, flags, ours));
}

static ucs_status_t
srd_gpu_ep_check(uct_ep_h ep, unsigned flags, uct_completion_t *comp)
{
    SRD_GPU_ENDS_LATER(srd_gpu_iface_of(ep), ep, comp,
                       base_iface_ops.ep_check(ep, flags, ours));
}

static ucs_status_t
srd_gpu_iface_flush(uct_iface_h iface, unsigned flags, uct_completion_t *comp)
{
    SRD_GPU_ENDS_LATER((srd_gpu_iface_t*)iface, NULL, comp,
                       base_iface_ops.iface_flush(iface, flags, ours));
}

static ucs_status_t
srd_gpu_ep_pending_add(uct_ep_h ep, uct_pending_req_t *req, unsigned flags)
{
    srd_gpu_iface_t *iface = srd_gpu_iface_of(ep);
    srd_gpu_call_t  *call;

    (void)flags;
    srd_gpu_lock(iface);
    call = srd_gpu_call_new(iface, ep);
    if (call != NULL) {
        call->req = req;
        srd_gpu_call_is_due(call);
    }
    srd_gpu_unlock(iface);
    return (call != NULL) ? UCS_OK : UCS_ERR_NO_MEMORY;
}

/* The first call of an endpoint's; its requests only, or any. */
static srd_gpu_call_t *
srd_gpu_call_of(const srd_gpu_iface_t *iface, uct_ep_h ep, int is_request)
{
    srd_gpu_call_t *call = iface->thread.calls;

    while ((call != NULL) && (((uct_ep_h)call->ep != ep) ||
                              (is_request && (call->req == NULL)))) {
        call = call->next;
    }
    return call;
}

static void srd_gpu_ep_pending_purge(uct_ep_h ep,
                                     uct_pending_purge_callback_t cb,
                                     void *arg)
{
    srd_gpu_iface_t   *iface = srd_gpu_iface_of(ep);
    srd_gpu_call_t    *call;
    uct_pending_req_t *req;

    for (;;) {
        srd_gpu_lock(iface);
        call = srd_gpu_call_of(iface, ep, 1);
        req  = (call != NULL) ? call->req : NULL;
        if (call != NULL) {
            srd_gpu_call_free(call);
        }
        srd_gpu_unlock(iface);
        if (req == NULL) {
            return;
        }
        cb(req, arg);
    }
}

static void srd_gpu_thread_ep_destroy(uct_ep_h ep)
{
    srd_gpu_iface_t *iface = srd_gpu_iface_of(ep);
    srd_gpu_call_t  *call;

    srd_gpu_lock(iface);
    base_flow_clock(&iface->super);
    srd_gpu_ep_destroy(ep);
    while ((call = srd_gpu_call_of(iface, ep, 0)) != NULL) {
        srd_gpu_call_free(call);
    }
    srd_gpu_unlock(iface);
}

#define SRD_GPU_LOCKED(_name, _params, _iface, _call) \
    BASE_LOCKED_CALL(srd_gpu, ucs_status_t, _name, _params, _iface, _call)

static SRD_GPU_LOCKED(srd_gpu_ep_fence, (uct_ep_h ep, unsigned flags),
                      srd_gpu_iface_of(ep), base_iface_ops.ep_fence(ep, flags))
static SRD_GPU_LOCKED(srd_gpu_iface_fence, (uct_iface_h iface, unsigned flags),
                      (srd_gpu_iface_t*)iface,
                      base_iface_ops.iface_fence(iface, flags))
SRD_GPU_LOCKED(srd_gpu_thread_invalidate, (uct_ep_h ep), srd_gpu_iface_of(ep),
               base_ep_invalidate(ep))

static SRD_GPU_LOCKED(srd_gpu_thread_ep_create,
                      (const uct_ep_params_t *params, uct_ep_h *ep_p),
                      (srd_gpu_iface_t*)params->iface,
                      srd_gpu_ep_create(params, ep_p))

/* Kernels are about to know of us. */
static ucs_status_t
srd_gpu_show_ep(srd_gpu_iface_t *iface, uct_ep_h ep, void **device_ep_p)
{
    return (srd_gpu_thread_start(iface) != 0) ?
                   UCS_ERR_NO_RESOURCE :
                   srd_gpu_ep_get_device_ep(ep, device_ep_p);
}

SRD_GPU_LOCKED(srd_gpu_thread_get_device_ep, (uct_ep_h ep, void **device_ep_p),
               srd_gpu_iface_of(ep), srd_gpu_show_ep(locked, ep, device_ep_p))

void srd_gpu_thread_ops(uct_iface_ops_t *ops)
{
    ops->ep_flush         = srd_gpu_ep_flush;
    ops->ep_fence         = srd_gpu_ep_fence;
    ops->ep_check         = srd_gpu_ep_check;
    ops->ep_pending_add   = srd_gpu_ep_pending_add;
    ops->ep_pending_purge = srd_gpu_ep_pending_purge;
    ops->ep_create        = srd_gpu_thread_ep_create;
    ops->ep_destroy       = srd_gpu_thread_ep_destroy;
    ops->iface_flush      = srd_gpu_iface_flush;
    ops->iface_fence      = srd_gpu_iface_fence;
    ops->iface_progress   = srd_gpu_thread_progress;
}

void srd_gpu_thread_init(srd_gpu_iface_t *iface,
                         const uct_iface_params_t *params, double idle)
{
    base_lock_init(&iface->thread.mutex);
    iface->thread.idle = idle * 1e9;
    if (params->field_mask & UCT_IFACE_PARAM_FIELD_ERR_HANDLER) {
        iface->thread.on_error = params->err_handler;
    }
    if (params->field_mask & UCT_IFACE_PARAM_FIELD_ERR_HANDLER_ARG) {
        iface->thread.on_error_arg = params->err_handler_arg;
    }
}

void srd_gpu_thread_stop(srd_gpu_iface_t *iface)
{
    if (iface->thread.runs) {
        atomic_store(&iface->thread.stops, 1);
        pthread_join(iface->thread.id, NULL);
        iface->thread.runs = 0;
        host_info(iface->super.super.host,
                  "%s: the thread for kernels' operations slept %lu times",
                  base_iface_md(&iface->super)->device->name,
                  (unsigned long)iface->thread.naps);
    }
    while (iface->thread.calls != NULL) {
        srd_gpu_call_free(iface->thread.calls);
    }
}
