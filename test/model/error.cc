/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Further events. SRD: a packet ends with any other status that EFA has,
 * whether it arrived or not; UD: our own device refuses it; a user gives a flow
 * up. Flows fail then, and their users close them. A side asks whether the
 * other lives. UD: the thread that acknowledges takes a message, and progress
 * hands it up later.
 *
 * Where flows fail effect.cc does not apply, as grants and receives are taken
 * back then: all packets count, byte by byte.
 */
#include "model.h"

extern "C" {
#include "flow/stranger_priv.h"
}

namespace model {

/*
 * How a packet may end, after it arrived or before. A receiver that is not ready
 * is no error (world.cc). On UD only our own device ends a packet otherwise:
 * step_refuse.
 */
static const struct {
    char               letter;
    bool               arrives;
    flow_send_status_t status;
} endings[] = {
    {'x', false, FLOW_SEND_ERROR},
    {'X', true, FLOW_SEND_ERROR},
    {'y', false, FLOW_SEND_LOST},
    {'z', true, FLOW_SEND_LOST},
    {'q', false, FLOW_SEND_DEAD},
    {'Q', true, FLOW_SEND_DEAD}
};

/* UD: the next packet of a side is refused by its own device. */
static bool step_refuse(unsigned *n)
{
    for (unsigned id = 0; id < bounds.nodes; ++id) {
        if (world.alive[id] && !world.refuses[id] && ((*n)-- == 0)) {
            --world.errors;
            world.hard         = 1;
            touched           |= 1u << id;
            world.refuses[id]  = 1;
            trail += " x" + std::to_string(id);
            return true;
        }
    }
    return false;
}

bool step_error(unsigned *n)
{
    if (ud()) {
        return (world.errors > 0) && step_refuse(n);
    }
    for (unsigned i = 0; (i < world.on_wire) && (world.errors > 0); ++i) {
        if (world.wire[i].twin) {
            continue;
        }
        for (const auto &ending : endings) {
            if ((*n)-- != 0) {
                continue;
            }
            Packet packet = take_off_wire(i);
            --world.errors;
            trail += " " + std::string(1, ending.letter) + std::to_string(i) +
                     named(packet);
            world.hard = 1;
            if (ending.arrives && (who_gets(packet) != NODES)) {
                receive(packet);
            }
            world.lost |= ending.status == FLOW_SEND_LOST;
            world.dead |= (ending.status == FLOW_SEND_DEAD) &&
                          world.alive[packet.to];
            complete(packet, ending.status);
            return true;
        }
    }
    return false;
}

bool may_fail_now(unsigned flow)
{
    return world.hard || !world.alive[to_of(flow)] ||
           ((world.given >> flow) & 1);
}

/* The *n-th flow that its user holds open; FLOWS: there is none. *n counts down
 * by those that are passed. */
static unsigned open_flow_nth(unsigned *n)
{
    for (unsigned flow = 0; flow < FLOWS; ++flow) {
        if (world.alive[from_of(flow)] && (world.tx[flow] != nullptr) &&
            !world.closed[flow] && !world.failed[flow] && ((*n)-- == 0)) {
            return flow;
        }
    }
    return FLOWS;
}

bool step_give_up(unsigned *n)
{
    unsigned flow = (world.errors > 0) ? open_flow_nth(n) : (unsigned)FLOWS;
    if (flow == FLOWS) {
        return false;
    }
    --world.errors;
    trail            += " g" + std::to_string(flow);
    touched          |= 1u << from_of(flow);
    world.erred[flow] = 1;
    world.given      |= (uint8_t)(1u << flow);
    flow_tx_fail(cores[from_of(flow)], world.tx[flow], FLOW_SEND_GIVEN_UP);
    return true;
}

bool step_ping(unsigned *n)
{
    unsigned flow = (world.pings > 0) ? open_flow_nth(n) : (unsigned)FLOWS;
    if (flow == FLOWS) {
        return false;
    }
    --world.pings;
    trail   += " p" + std::to_string(flow);
    touched |= 1u << from_of(flow);
    flow_tx_ping(cores[from_of(flow)], world.tx[flow]);
    return true;
}

bool step_hold(unsigned *n)
{
    for (unsigned flow = 0; flow < FLOWS; ++flow) {
        if ((world.drain[flow] == 0) || ((*n)-- != 0)) {
            continue;
        }
        trail   += " u" + std::to_string(flow);
        touched |= 1u << to_of(flow);
        deliver_held(flow, world.drain[flow]);
        world.drain[flow] = 0;
        return true;
    }
    for (unsigned i = 0; (i < world.on_wire) && (world.held > 0); ++i) {
        if (world.wire[i].twin || (world.wire[i].effect == 0) ||
            (who_gets(world.wire[i]) != world.wire[i].to) ||
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

void told(unsigned flow)
{
    const flow_tx_t *tx = world.tx[flow];

    world.erred[flow]  = 1;
    world.owing[flow] |= (tx != nullptr) && !world.closed[flow];
}

/* Did a flow fail between the two that this one is between, or was a peer given
 * up by its user who closed and can be told no more? */
static bool is_excused(unsigned flow)
{
    if (world.erred[flow] || world.failed[flow]) {
        return true;
    }
    for (unsigned other = 0; other < FLOWS; ++other) {
        if ((far_of(other) == far_of(flow)) &&
            (world.failed[other] || (world.dead && world.closed[flow]))) {
            return true;
        }
    }
    return !world.alive[to_of(flow)] && world.closed[flow];
}

/* A side that closed its flow is told no more; the messages went with the
 * other's flow of the pair then. */
void check_okay()
{
    for (unsigned flow = 0; flow < FLOWS; ++flow) {
        const unsigned consumed = (1u << world.got[flow]) - 1;
        if (world.alive[from_of(flow)] && (world.okay[flow] & ~consumed) &&
            !is_excused(flow)) {
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
    for (unsigned flow = 0; flow < FLOWS; ++flow) {
        const flow_tx_t *tx = world.tx[flow];
        if (!world.alive[from_of(flow)]) {
            continue;
        }
        if ((tx != nullptr) && ((tx->busy != 0) || !world.lost)) {
            broken("nothing moves, and a flow is left");
        }
        if (world.owing[flow] && !world.failed[flow]) {
            broken("a message failed, and its user was not told");
        }
    }
}

static uint64_t mix_peer(uint64_t hash, flow_core_t *core, unsigned node)
{
    const flow_peer_t *peer = flow_peer_find(core, node + 1u);

    for (uint32_t ep = 1; ep <= FLOWS / 2; ++ep) {
        hash = mix_word(hash, flow_stranger_expired(core, node + 1u,
                                                    FLOW_INDEX_MAX + ep));
    }
    if (peer == nullptr) {
        return hash;
    }
    return mix_word(hash, ((uint64_t)peer->live << 8) |
                          ((uint64_t)peer->heard << 3) |
                          ((uint64_t)peer->spoke << 2) |
                          ((uint64_t)peer->handled << 1) | peer->addressed);
}

uint64_t error_hash(unsigned id)
{
    uint64_t hash = world.refuses[id];

    for (unsigned flow = (id != 0); flow < FLOWS; flow += 2) {
        hash = mix_word(hash, (world.given >> flow) & 1);
        hash = mix_word(hash, ((uint64_t)world.okay[flow] << 32) |
                              ((uint64_t)world.owing[flow] << 16) |
                              ((uint64_t)world.failed[flow] << 8) |
                              world.erred[flow]);
    }
    if (!may_fail()) {
        return hash;
    }
    for (unsigned node = 0; node < bounds.nodes; ++node) {
        hash = mix_word(hash, node == id ? 0 :
                                  mix_peer(1, cores[id], node));
    }
    return mix_word(hash, cores[id]->counters.lingering);
}

} /* namespace model */
