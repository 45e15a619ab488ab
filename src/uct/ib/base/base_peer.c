/* SPDX-License-Identifier: BSD-3-Clause */
#include "base_peer.h"
#include "base_rx.h"

/* Nearly out of handles, only those peers get one to keep that ask for RMA. */
void base_peer_introduced(base_iface_t *iface, flow_peer_t *peer, int rma)
{
    flow_addr_t  addr = flow_peer_addr(iface->core, peer);
    base_ah_t   *ah   = flow_peer_cookie(peer);
    ucs_status_t status;

    if ((ah == NULL) &&
        (rma || (iface->ahs.gids.count < iface->ahs.limit / 16 * 15) ||
         (iface->ahs.limit < 16))) {
        status = base_ah_get(&iface->ahs, addr.gid, &ah);
        if (status != UCS_OK) {
            host_warn(iface->super.host,
                      "%s: no address handle to keep for a peer: its RMA to us "
                      "will fail, its messages will not (%u of %u in use)",
                      base_iface_md(iface)->device->name, iface->ahs.gids.count,
                      iface->ahs.limit);
            flow_peer_set_ah(iface->core, peer, FLOW_AH_UNKNOWN,
                             FLOW_RMA_REFUSED);
            return;
        }
        flow_peer_set_cookie(peer, ah);
        base_rx_tell(iface); /* who has a handle from now on */
    }
    if (ah == NULL) {
        flow_peer_set_ah(iface->core, peer, FLOW_AH_UNKNOWN,
                         FLOW_RMA_NOT_YET);
    } else {
        flow_peer_set_ah(iface->core, peer, ah->device->number, FLOW_RMA_READY);
    }
}
