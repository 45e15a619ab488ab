/* SPDX-License-Identifier: BSD-3-Clause */
/* Strangers among the receiving flows: their bounds, and the end of those that
 * exceed them. stranger.c says why. */
#include "flow/rx_life_priv.h"
#include "flow/rx_priv.h"
#include "flow/rx_stranger_priv.h"
#include "flow/stranger_priv.h"

/* The stranger with this token, if it is one still. */
static flow_rx_t *flow_rx_stranger_get(flow_core_t *core, uint32_t token)
{
    flow_rx_t *rx = flow_core_rx(core, token & (FLOW_INDEX_MAX - 1));

    return ((token != 0) && (rx->state == FLOW_RX_STRANGER) &&
            (flow_rx_token(rx) == token)) ?
                   rx :
                   NULL;
}

static void flow_rx_stranger_expire(flow_core_t *core, flow_rx_t *rx)
{
    flow_peer_t *peer = flow_core_peer(core, rx->peer);

    if (peer->state == FLOW_PEER_UNKNOWN) {
        flow_stranger_remember(core, peer->incarnation, rx->ep);
        flow_rx_close(core, rx);
    } else {
        flow_rx_fail(core, rx);
    }
}

void flow_rx_stranger_add(flow_core_t *core, flow_rx_t *rx)
{
    uint32_t *slot   = &core->strangers[core->stranger_pos %
                                        core->params.max_strangers];
    flow_rx_t *oldest = flow_rx_stranger_get(core, *slot);

    *slot = flow_rx_token(rx);
    ++core->stranger_pos;
    if (oldest != NULL) {
        flow_rx_stranger_expire(core, oldest);
    }
}

void flow_rx_stranger_bound(flow_core_t *core, const flow_rx_t *rx)
{
    unsigned left = core->params.max_strangers;
    flow_rx_t *other;

    for (; (core->stranger_bytes > core->params.stranger_bytes) && (left != 0);
         --left) {
        other = flow_rx_stranger_get(core,
                                     core->strangers[core->stranger_look++ %
                                                  core->params.max_strangers]);
        if ((other != NULL) && (other != rx) && (other->ring != 0)) {
            flow_rx_stranger_expire(core, other);
        }
    }
}
