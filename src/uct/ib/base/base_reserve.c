/* SPDX-License-Identifier: BSD-3-Clause */
#include "base_reserve.h"
#include "base_core.h"

base_op_t *base_op_from_reserve(base_iface_t *iface, base_ep_t *ep)
{
    int moves = flow_reserve_moves(ep->tx->busy, &ep->reserve_seen);

    if (!base_op_is_left(&iface->ops) ||
        !flow_reserve_may(&iface->ops.reserve, &ep->ah->share, moves,
                          base_iface_clock(iface))) {
        return NULL;
    }
    return iface->ops.free_reserve;
}
