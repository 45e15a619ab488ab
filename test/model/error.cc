/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Further events. SRD: a packet ends with an error of our own device, or
 * without an answer, whether it arrived or not; flows fail then, and their
 * users close them. A side asks whether the other lives. UD: the thread that
 * acknowledges takes a message, and progress hands it up later.
 *
 * Where flows fail effect.cc does not apply, as grants and receives are taken
 * back then: all packets count, byte by byte.
 */
#include "model.h"

extern "C" {
#include "flow/stranger_priv.h"
}

namespace model {

bool step_error(unsigned *n)
{
    for (unsigned i = 0; (i < world.on_wire) && (world.errors > 0); ++i) {
        if (world.wire[i].twin) {
            continue;
        }
        for (unsigned how = 0; how < 3; ++how) {
            if ((*n)-- != 0) {
                continue;
            }
            Packet packet = take_off_wire(i);
            --world.errors;
            trail += " " + std::string(1, "xyz"[how]) + std::to_string(i) +
                     named(packet);
            if (how == 2) {
                receive(packet);
            }
            world.lost |= how != 0;
            complete(packet, (how == 0) ? FLOW_SEND_ERROR : FLOW_SEND_LOST);
            return true;
        }
    }
    return false;
}

bool step_ping(unsigned *n)
{
    for (unsigned id = 0; (id < NODES) && (world.pings > 0); ++id) {
        if ((world.tx[id] == nullptr) || world.closed[id] ||
            world.failed[id] || ((*n)-- != 0)) {
            continue;
        }
        --world.pings;
        trail   += " p" + std::to_string(id);
        touched |= 1u << id;
        flow_tx_ping(cores[id], world.tx[id]);
        return true;
    }
    return false;
}

bool step_hold(unsigned *n)
{
    for (unsigned id = 0; id < NODES; ++id) {
        if ((world.drain[id] == 0) || ((*n)-- != 0)) {
            continue;
        }
        trail   += " u" + std::to_string(id);
        touched |= 1u << id;
        deliver_held(id, world.drain[id]);
        world.drain[id] = 0;
        return true;
    }
    for (unsigned i = 0; (i < world.on_wire) && (world.held > 0); ++i) {
        if (world.wire[i].twin || (world.wire[i].effect == 0) ||
            ((*n)-- != 0)) {
            continue;
        }
        Packet packet = take_off_wire(i);
        --world.held;
        trail += " h" + std::to_string(i) + named(packet);
        receive(packet, true);
        return true;
    }
    return false;
}

void check_okay()
{
    for (unsigned id = 0; id < NODES; ++id) {
        const unsigned consumed = (1u << world.got[id ^ 1]) - 1;
        /* who closed its flow is told no more; the messages went with the
         * other's flow of the pair then */
        if ((world.okay[id] & ~consumed) && !world.failed[id] &&
            !world.erred[id] && !world.failed[id ^ 1]) {
            broken("a message that completed well was not consumed, and nobody "
                   "was told");
        }
    }
}

/* A flow whose last word our own device refused, or whose peer does not answer,
 * keeps a record: but no message is out, and where there was an answer each
 * flow has gone. */
void check_failed_end()
{
    for (unsigned id = 0; id < NODES; ++id) {
        const flow_tx_t *tx = world.tx[id];
        if ((tx != nullptr) && ((tx->busy != 0) || !world.lost)) {
            broken("nothing moves, and a flow is left");
        }
    }
}

uint64_t error_hash(unsigned id)
{
    flow_core_t *core       = cores[id];
    const flow_peer_t *peer = flow_peer_find(core, (id ^ 1u) + 1);
    uint64_t hash           = mix_word(world.okay[id], world.failed[id]);

    hash = mix_word(hash, world.erred[id]);
    hash = mix_word(hash, world.drain[id] != 0);
    if (bounds.errors == 0) {
        return hash;
    }
    hash = mix_word(hash, flow_stranger_expired(core, (id ^ 1u) + 1,
                                                FLOW_INDEX_MAX + 1));
    hash = mix_word(hash, core->counters.lingering);
    if (peer != nullptr) {
        hash = mix_word(hash, ((uint64_t)peer->live << 8) |
                              ((uint64_t)peer->heard << 3) |
                              ((uint64_t)peer->spoke << 2) |
                              ((uint64_t)peer->handled << 1) | peer->addressed);
    }
    return hash;
}

} /* namespace model */
