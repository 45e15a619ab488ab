/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Old limits. A limit is a number of 16 bits, and the newest wins; so one that
 * is overtaken by 65,500 messages looks new, and allows messages that its
 * receiver never granted: on SRD that flow would fail for overflow. The network
 * may hold a packet back that long: it repeats one that got lost after
 * milliseconds, while others pass on other ways.
 *
 * Therefore the limit of a flow crosses a line, each params.lap numbers, only
 * when no packet that carries one of its limits is out from before the line
 * before that. Then none is ever more than two laps and a window old, which is
 * less than half of all numbers. Limits are carried by control packets to the
 * peer and by the messages of the flow's pair. The device tells when they have
 * arrived; it hands out packets in order of arrival, so no older one comes
 * later.
 *
 * Nothing is remembered of any packet. A receiver that crosses a line while
 * some are out asks for silence: no more control packets to that peer, no more
 * messages of the pair, until none is out. A second line is not crossed before
 * that. This costs a round trip at most in thousands of messages, and is seldom
 * noticed, since a limit is raised when half of the window is left.
 *
 * On UD a completion says nothing of the peer; there a packet beyond the limit
 * is dropped, acknowledged and sent again, so an old limit does no harm.
 */
#include "flow/lap_priv.h"

/* Was a line crossed, and not all has arrived since that was out then? */
static int flow_lap_waits(const flow_core_t *core, const flow_rx_t *rx)
{
    return flow_core_peer(core, rx->peer)->lapped ||
           ((rx->pair != 0) &&
            (flow_core_tx(core, rx->pair)->wait & FLOW_WAIT_LAP));
}

int flow_lap_holds(const flow_core_t *core, const flow_rx_t *rx)
{
    return !flow_is_ud(core) && flow_lap_waits(core, rx) &&
           flow_lap_crosses(core, rx->limit, rx->limit + FLOW_WINDOW_MAX);
}

int flow_lap_cross(flow_core_t *core, const flow_rx_t *rx, flow_psn_t next)
{
    flow_peer_t *peer = flow_core_peer(core, rx->peer);
    flow_tx_t *tx     = flow_core_tx(core, rx->pair);

    if (flow_is_ud(core) || (flow_psn_diff(next, rx->limit) <= 0)) {
        return 1;
    }
    if (flow_lap_waits(core, rx)) {
        return 0;
    }
    peer->lapped = peer->ctl_out != 0;
    if ((rx->pair != 0) && (tx->busy != 0)) {
        tx->wait |= FLOW_WAIT_LAP;
        tx->stop  = flow_wire_psn(tx->hdr);
    }
    return 1;
}
