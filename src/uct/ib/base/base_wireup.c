/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fences that UCP hides. When an endpoint needs the peer's id for the first
 * time (a remote key is unpacked, a message wants an answer), UCP sends a
 * wire-up message and holds all requests back until the peer's comes; then it
 * hands them to us in one go. A fence that the user called meanwhile reached
 * the interface long before the puts that it stands behind. Hardware that keeps
 * order does not mind; we know only that it is among the replayed ones, so each
 * request there is fenced. (UCX 1.13 to 1.15; from 1.16 on ucp_worker_fence is
 * a flush, where UCP's protocol selection is on, as it is by default.)
 *
 * The replay is over when our progress runs: UCP does it in one callback.
 */
#include "base_wireup.h"

void base_wireup_sent(base_ep_t *ep)
{
    const base_iface_t *iface = base_ep_iface(ep);

    if (ep->wireup == BASE_WIREUP_NONE) {
        ep->wireup      = BASE_WIREUP_ASKED;
        ep->wireup_seen = iface->fences;
    } else if (ep->wireup == BASE_WIREUP_REPLAY) {
        base_wireup_took_fence(ep); /* that was not the replay */
    }
}

void base_wireup_took_fence(base_ep_t *ep)
{
    ep->wireup      = BASE_WIREUP_ASKED;
    ep->wireup_seen = base_ep_iface(ep)->fences - 1;
}

int base_wireup_is_replayed(base_ep_t *ep)
{
    base_iface_t *iface = base_ep_iface(ep);

    if (ep->wireup == BASE_WIREUP_ASKED) {
        if (ep->wireup_seen != iface->fences) {
            ep->wireup      = BASE_WIREUP_REPLAY;
            ep->wireup_seen = iface->replays;
            iface->todo  |= BASE_TODO_REPLAY;
            return 1;
        }
    } else if (ep->wireup_seen == iface->replays) {
        return 1;
    }
    ep->wireup = BASE_WIREUP_NONE;
    return 0;
}
