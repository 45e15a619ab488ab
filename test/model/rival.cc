/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rivals (--reborn): at any moment node 1 dies, and node 2 is born with its GID
 * and QPN. Packets that node 1 had sent may arrive at any time after that, or,
 * on UD, never; what is sent to it completes with status 9 (SRD) or gets lost
 * (UD), or, where both have the same QKEY, arrives at node 2 (--key 1). Node 0
 * is to take node 2 for the living one, whatever comes late of node 1, and to
 * forget node 1: no flow with node 2 may fail.
 */
#include "model.h"

namespace model {

unsigned who_gets(const Packet &packet)
{
    if (world.alive[packet.to]) {
        return packet.to;
    }
    return bounds.key ? 2 : NODES;
}

bool step_kill(unsigned *n)
{
    if (!bounds.reborn || world.alive[2] || ((*n)-- != 0)) {
        return false;
    }
    trail          += " k";
    world.alive[1]  = 0;
    world.alive[2]  = 1;
    world.tx[1]     = nullptr;
    touched         = (1u << NODES) - 1;
    flow_timer_run(cores[2], world.now); /* it learns what time it is */
    return true;
}

void note_rivals(const Packet &packet)
{
    const unsigned first = packet.bytes[0];

    world.late  |= !world.alive[packet.from] &&
                   (first == (FLOW_WIRE_CTL | FLOW_CTL_HELLO));
    world.shown |= bounds.reborn && (packet.from == 2) &&
                   (((first == (FLOW_WIRE_CTL | FLOW_CTL_ANSWER)) &&
                     (world.tx[2] != nullptr)) ||
                    (!flow_wire_is_long(first) &&
                     (!packet.ctl ||
                      (first == (FLOW_WIRE_CTL | FLOW_CTL_GOODBYE)))));
}

/*
 * A peer of which only data came is not asked for more. On UD, or with the same
 * QKEY, nobody says that node 1 is dead but its successor's use of what it was
 * told, and not where node 1 was heard of first, or anew, behind that.
 */
bool may_keep(unsigned id)
{
    const flow_peer_t *peer = (id == 0) ? flow_peer_find(cores[0], 2) : nullptr;

    return bounds.reborn && (peer != nullptr) && !world.alive[1] &&
           ((peer->state == FLOW_PEER_UNKNOWN) ||
            ((ud() || bounds.key) && (world.late || !world.shown)));
}

} /* namespace model */
