/* SPDX-License-Identifier: BSD-3-Clause */
#include "ud_lock.h"
#include "ud_timer.h"

#include <uct/ib/base/base_am.h>
#include <uct/ib/base/base_arm.h>
#include <uct/ib/base/base_ep.h>
#include <uct/ib/base/base_flow.h>
#include <uct/ib/base/base_flush.h>
#include <uct/ib/base/base_pending.h>
#include <uct/ib/base/base_progress.h>

static ud_iface_t *ud_ep_iface(uct_ep_h tl_ep)
{
    return (ud_iface_t*)base_ep_iface((base_ep_t*)tl_ep);
}

void ud_lock_init(ud_iface_t *iface)
{
    pthread_mutexattr_t attr;

    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&iface->mutex, &attr);
    pthread_mutexattr_destroy(&attr);
}

/* Does `_call` under the lock of `_iface` and returns what it returned. */
#define UD_LOCKED(_iface, _call)              \
    do {                                      \
        ud_iface_t *ud_locked = (_iface);     \
        ud_lock(ud_locked);                   \
        __typeof__(_call) ud_result = _call;  \
        ud_unlock(ud_locked);                 \
        return ud_result;                     \
    } while (0)

/* The same for calls that send or receive: the core measures round trips. */
#define UD_LOCKED_TIMED(_iface, _call)        \
    do {                                      \
        ud_iface_t *ud_timed = (_iface);      \
        ud_lock(ud_timed);                    \
        base_flow_clock(&ud_timed->super);    \
        __typeof__(_call) ud_result = _call;  \
        ud_unlock(ud_timed);                  \
        return ud_result;                     \
    } while (0)

static ucs_status_t ud_ep_am_short(uct_ep_h ep, uint8_t id, uint64_t header,
                                   const void *payload, unsigned length)
{
    UD_LOCKED_TIMED(ud_ep_iface(ep),
                    base_am_short(ep, id, header, payload, length));
}

static ucs_status_t ud_ep_am_short_iov(uct_ep_h ep, uint8_t id,
                                       const uct_iov_t *iov, size_t iovcnt)
{
    UD_LOCKED_TIMED(ud_ep_iface(ep), base_am_short_iov(ep, id, iov, iovcnt));
}

static ssize_t ud_ep_am_bcopy(uct_ep_h ep, uint8_t id,
                              uct_pack_callback_t pack_cb, void *arg,
                              unsigned flags)
{
    UD_LOCKED_TIMED(ud_ep_iface(ep),
                    base_am_bcopy(ep, id, pack_cb, arg, flags));
}

static ucs_status_t ud_ep_am_zcopy(uct_ep_h ep, uint8_t id, const void *header,
                                   unsigned header_length, const uct_iov_t *iov,
                                   size_t iovcnt, unsigned flags,
                                   uct_completion_t *comp)
{
    UD_LOCKED_TIMED(ud_ep_iface(ep),
                    base_am_zcopy(ep, id, header, header_length, iov, iovcnt,
                                  flags, comp));
}

static ucs_status_t
ud_ep_pending_add(uct_ep_h ep, uct_pending_req_t *req, unsigned flags)
{
    UD_LOCKED(ud_ep_iface(ep), base_pending_add(ep, req, flags));
}

static void ud_ep_pending_purge(uct_ep_h ep, uct_pending_purge_callback_t cb,
                                void *arg)
{
    ud_iface_t *iface = ud_ep_iface(ep);

    ud_lock(iface);
    base_pending_purge(ep, cb, arg);
    ud_unlock(iface);
}

static ucs_status_t
ud_ep_flush(uct_ep_h ep, unsigned flags, uct_completion_t *comp)
{
    UD_LOCKED(ud_ep_iface(ep), base_flush_ep(ep, flags, comp));
}

static ucs_status_t ud_ep_fence(uct_ep_h ep, unsigned flags)
{
    UD_LOCKED(ud_ep_iface(ep), base_flush_ep_fence(ep, flags));
}

static ucs_status_t
ud_ep_check(uct_ep_h ep, unsigned flags, uct_completion_t *comp)
{
    UD_LOCKED(ud_ep_iface(ep), base_ep_check(ep, flags, comp));
}

static ucs_status_t ud_ep_create(const uct_ep_params_t *params, uct_ep_h *ep_p)
{
    ud_iface_t  *iface = (ud_iface_t*)params->iface;
    ucs_status_t status;

    ud_lock(iface);
    base_flow_clock(&iface->super); /* a hello may go at once */
    ud_timer_pace(iface, 1); /* it sets itself back where there is no peer */
    status = base_ep_create(params, ep_p);
    ud_unlock(iface);
    return status;
}

static void ud_ep_destroy(uct_ep_h ep)
{
    ud_iface_t *iface = ud_ep_iface(ep);

    ud_lock(iface);
    base_ep_destroy(ep);
    ud_unlock(iface);
}

static ucs_status_t
ud_iface_flush(uct_iface_h iface, unsigned flags, uct_completion_t *comp)
{
    UD_LOCKED((ud_iface_t*)iface, base_flush_iface(iface, flags, comp));
}

static ucs_status_t ud_iface_fence(uct_iface_h iface, unsigned flags)
{
    UD_LOCKED((ud_iface_t*)iface, base_flush_iface_fence(iface, flags));
}

static unsigned ud_iface_progress(uct_iface_h iface)
{
    UD_LOCKED_TIMED((ud_iface_t*)iface, base_progress_any(iface));
}

static ucs_status_t ud_iface_event_arm(uct_iface_h iface, unsigned events)
{
    UD_LOCKED((ud_iface_t*)iface, base_arm_events(iface, events));
}

void ud_lock_ops(uct_iface_ops_t *ops)
{
    ops->ep_am_short      = ud_ep_am_short;
    ops->ep_am_short_iov  = ud_ep_am_short_iov;
    ops->ep_am_bcopy      = ud_ep_am_bcopy;
    ops->ep_am_zcopy      = ud_ep_am_zcopy;
    ops->ep_pending_add   = ud_ep_pending_add;
    ops->ep_pending_purge = ud_ep_pending_purge;
    ops->ep_flush         = ud_ep_flush;
    ops->ep_fence         = ud_ep_fence;
    ops->ep_check         = ud_ep_check;
    ops->ep_create        = ud_ep_create;
    ops->ep_destroy       = ud_ep_destroy;
    ops->iface_flush      = ud_iface_flush;
    ops->iface_fence      = ud_iface_fence;
    ops->iface_progress   = ud_iface_progress;
    ops->iface_event_arm  = ud_iface_event_arm;
}

ucs_status_t ud_lock_invalidate(uct_ep_h ep)
{
    UD_LOCKED(ud_ep_iface(ep), base_ep_invalidate(ep));
}

void ud_lock_release_desc(uct_recv_desc_t *self, void *desc)
{
    base_rxbuf_t *rxbuf = (base_rxbuf_t*)((char*)self -
                                          offsetof(base_rxbuf_t, desc));
    ud_iface_t   *iface = (ud_iface_t*)((char*)rxbuf->rxq -
                                        offsetof(ud_iface_t, super.rxq));

    ud_lock(iface);
    base_rxq_release(self, desc);
    ud_unlock(iface);
}
