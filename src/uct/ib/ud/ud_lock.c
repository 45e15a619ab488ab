/* SPDX-License-Identifier: BSD-3-Clause */
#include "ud_lock.h"
#include "ud_timer.h"

#include <uct/ib/base/base_ep.h>
#include <uct/ib/base/base_lock.h>
#include <uct/ib/base/base_ops.h>
#include <uct/ib/base/base_pending.h>
#include <uct/ib/base/base_progress.h>

static ud_iface_t *ud_ep_iface(uct_ep_h tl_ep)
{
    return (ud_iface_t*)base_ep_iface((base_ep_t*)tl_ep);
}

#define UD_IFACE_OF_ep(_ep)       ud_ep_iface(_ep)
#define UD_IFACE_OF_iface(_iface) ((ud_iface_t*)(_iface))

/* Defines ud_NAME: `_call` under the lock. */
#define UD_LOCKED_CALL(_returns, _name, _params, _iface, _call) \
    static BASE_LOCKED_CALL(ud, _returns, ud_##_name, _params, _iface, _call)

#define UD_LOCKED_AM(_returns, _name, _params, _args, ...) \
    UD_LOCKED_CALL(_returns, _name, _params, ud_ep_iface(ep), \
                   base_iface_ops._name _args)
#define UD_LOCKED(_returns, _name, _params, _args, _of, ...) \
    UD_LOCKED_CALL(_returns, _name, _params, UD_IFACE_OF_##_of(_of), \
                   base_iface_ops._name _args)

BASE_OPS_AM(UD_LOCKED_AM)
BASE_OPS_FLUSH(UD_LOCKED)
UD_LOCKED(ucs_status_t, ep_check,
          (uct_ep_h ep, unsigned flags, uct_completion_t *comp),
          (ep, flags, comp), ep)
UD_LOCKED(ucs_status_t, iface_event_arm, (uct_iface_h iface, unsigned events),
          (iface, events), iface)
UD_LOCKED_CALL(unsigned, iface_progress, (uct_iface_h iface),
               (ud_iface_t*)iface, base_progress_any(iface))
UD_LOCKED_CALL(ucs_status_t, ep_invalidate, (uct_ep_h ep), ud_ep_iface(ep),
               base_ep_invalidate(ep))

static void ud_ep_pending_purge(uct_ep_h ep, uct_pending_purge_callback_t cb,
                                void *arg)
{
    ud_iface_t *iface = ud_ep_iface(ep);

    ud_lock(iface);
    base_pending_purge(ep, cb, arg);
    ud_unlock(iface);
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

#define UD_LOCK_SET(_returns, _name, ...) ops->_name = ud_##_name;

void ud_lock_ops(uct_iface_ops_t *ops)
{
    BASE_OPS_AM(UD_LOCK_SET)
    BASE_OPS_FLUSH(UD_LOCK_SET)
    ops->ep_pending_purge = ud_ep_pending_purge;
    ops->ep_check         = ud_ep_check;
    ops->ep_create        = ud_ep_create;
    ops->ep_destroy       = ud_ep_destroy;
    ops->iface_progress   = ud_iface_progress;
    ops->iface_event_arm  = ud_iface_event_arm;
}

ucs_status_t ud_lock_invalidate(uct_ep_h ep)
{
    return ud_ep_invalidate(ep);
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
