/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fences that UCP hides. When an endpoint needs the peer's id for the first
 * time (a remote key is unpacked, a message wants an answer), UCP sends a
 * wire-up message and holds all requests back until the peer's comes; then it
 * hands them to us in one go. A fence that the user called meanwhile reached
 * the interface long before the puts that it stands behind. Hardware that keeps
 * order does not mind; we know only that it is among what is replayed, so each
 * request there is fenced. (UCX 1.13 to 1.15; from 1.16 on ucp_worker_fence is
 * a flush, where UCP's protocol selection is on, as it is by default.)
 *
 * The replay is over when our progress runs: UCP does it in one callback.
 */
#include "efa_ep.h"

void efa_wireup_sent(efa_ep_t *ep)
{
    const efa_iface_t *iface = efa_ep_iface(ep);

    if (ep->wireup == EFA_WIREUP_NONE) {
        ep->wireup      = EFA_WIREUP_ASKED;
        ep->wireup_mark = iface->fences;
    } else if (ep->wireup == EFA_WIREUP_REPLAY) {
        efa_wireup_took_fence(ep); /* that was not the replay */
    }
}

void efa_wireup_took_fence(efa_ep_t *ep)
{
    ep->wireup      = EFA_WIREUP_ASKED;
    ep->wireup_mark = efa_ep_iface(ep)->fences - 1;
}

int efa_wireup_is_replayed(efa_ep_t *ep)
{
    efa_iface_t *iface = efa_ep_iface(ep);

    if (ep->wireup == EFA_WIREUP_ASKED) {
        if (ep->wireup_mark != iface->fences) {
            ep->wireup      = EFA_WIREUP_REPLAY;
            ep->wireup_mark = iface->replays;
            iface->attend  |= EFA_ATTEND_REPLAY;
            return 1;
        }
    } else if (ep->wireup_mark == iface->replays) {
        return 1;
    }
    ep->wireup = EFA_WIREUP_NONE;
    return 0;
}
