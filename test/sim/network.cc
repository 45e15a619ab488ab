/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The network: delay, reordering, clogged paths, garbage, replays; on UD also
 * loss, duplication, corruption and partition. And what a device answers: on
 * SRD a completion tells what became of a packet, on UD that it was sent.
 */
#include "node.h"

namespace sim {

enum { PAST = 256 };

Time Sim::path_delay(const Packet &packet)
{
    Time delay = plan.delay + random.below(plan.jitter);
    std::pair<unsigned, unsigned> path(packet.from_slot, packet.to_slot);

    if (faults()) {
        if (random.chance(plan.late)) {
            delay += random.below(plan.late_by);
        }
        if (packet.ctl && (plan.hello_late != 0)) {
            delay += random.below(plan.hello_late);
        }
        if (random.chance(plan.clog)) {
            m_clogged[path] = now + random.below(plan.clog_for);
        }
    }
    if (!m_clogged.empty()) {
        auto clogged = m_clogged.find(path);
        if ((clogged != m_clogged.end()) && (clogged->second > now)) {
            delay += clogged->second - now;
        }
    }
    return delay;
}

/* Lost, broken, or cut off; only UD ever is. */
bool Sim::swallowed(const Packet &packet)
{
    if ((now >= m_split_from) && (now < m_split_until) &&
        ((packet.from_slot < plan.nodes / 2) !=
         (packet.to_slot < plan.nodes / 2))) {
        return true;
    }
    if ((now >= m_down_from) && (now < m_down_until) &&
        (packet.from_slot < 2) && (packet.to_slot < 2)) {
        return random.chance(0.9); /* what is left comes when it is up again */
    }
    return faults() &&
           (random.chance(plan.loss) || random.chance(plan.corrupt));
}

void Sim::put_on_path(const PacketRef &packet)
{
    if ((plan.profile == FLOW_UD) && swallowed(*packet)) {
        ++lost;
        return;
    }
    push(now + path_delay(*packet), ARRIVE, packet);
}

/* Packets that should not be on the wire. */
void Sim::disturb(const PacketRef &packet)
{
    if (random.chance(plan.noise)) {
        auto garbage = std::make_shared<Packet>(*packet);
        garbage->bytes.resize(random.below(100));
        for (uint8_t &byte : garbage->bytes) {
            byte = (uint8_t)random.next();
        }
        if (random.chance(0.5)) { /* else it seems to come from the peer */
            garbage->from_qpn = 50000;
        }
        garbage->noise    = true;
        push(now + plan.delay, ARRIVE, garbage);
    }
    if (random.chance(plan.strangers)) {
        auto stranger = std::make_shared<Packet>(*packet);
        Bytes &bytes  = stranger->bytes;
        bytes.assign(FLOW_LONG_HDR + random.below(40), 0);
        flow_wire_store64(&bytes[0], FLOW_WIRE_LONG |
                                             (((plan.first_psn + 1 +
                                                random.below(15)) & 0xffff)
                                              << FLOW_WIRE_PSN_SHIFT));
        flow_wire_store64(&bytes[8], new_incarnation());
        flow_wire_store64(&bytes[16], packet->to_life);
        flow_wire_store32(&bytes[24], 1 + (uint32_t)random.below(1000));
        stranger->from_qpn = 50000;
        stranger->noise    = true;
        push(now + plan.delay, ARRIVE, stranger);
    }
    if (random.chance(plan.dup)) {
        auto twin   = std::make_shared<Packet>(*packet);
        twin->noise = true;
        put_on_path(twin);
    }
    if (plan.replay == 0.0) {
        return;
    }
    if (m_past.size() < PAST) {
        m_past.push_back(packet);
    } else {
        m_past[random.below(PAST)] = packet;
    }
    const PacketRef &past = m_past[random.below(m_past.size())];
    if (random.chance(plan.replay) &&
        ((plan.profile == FLOW_UD) ||
         (m_nodes[past->from_slot]->addr.incarnation != past->from_life))) {
        auto ghost   = std::make_shared<Packet>(*past);
        ghost->noise = true;
        put_on_path(ghost);
    }
}

void Sim::complete(const PacketRef &packet, flow_send_status_t status,
                   Time delay)
{
    if (packet->noise) {
        return;
    }
    delay += plan.delay + random.below(plan.jitter);
    if (faults() && random.chance(plan.late)) {
        delay += random.below(plan.late_by);
    }
    push(now + delay, COMPLETE, packet, packet->from_slot, status);
}

void Sim::transmit(const PacketRef &packet)
{
    ++packets;
    if (absent(packet->to_slot) || absent(packet->from_slot)) {
        complete(packet, FLOW_SEND_LOST, 3 * SEC);
        return;
    }
    if (faults()) {
        if (!packet->ctl && random.chance(plan.own_errors)) {
            complete(packet, FLOW_SEND_ERROR, 0);
            return;
        }
        disturb(packet);
        if (random.chance(plan.unheard)) {
            auto ghost   = std::make_shared<Packet>(*packet);
            ghost->noise = true;
            if (random.chance(0.5)) {
                put_on_path(ghost);
            }
            complete(packet, FLOW_SEND_LOST, MS);
            return;
        }
    }
    if (plan.profile == FLOW_UD) {
        complete(packet, FLOW_SEND_OK, 0);
    }
    put_on_path(packet);
}

void Sim::arrive(const PacketRef &packet)
{
    Node *to = m_nodes[packet->to_slot].get();
    flow_send_status_t status;
    Time back = 0;
    uint8_t first = packet->bytes.empty() ? 0 : packet->bytes[0];

    /* Against a reborn QPN with the same QKEY only headers that name the
     * receiver help; short ones rest on the QKEY and 7 bits of generation. */
    if (!to->alive || (to->addr.qpn != packet->to_qpn) ||
        (to->addr.qkey != packet->to_qkey) ||
        ((to->addr.incarnation != packet->to_life) &&
         !flow_wire_is_long(first) && !(first & FLOW_WIRE_CTL))) {
        status = FLOW_SEND_DEAD;
        back   = 500 * US;
    } else if (to->device_receive(*packet)) {
        status = FLOW_SEND_OK;
    } else {
        status = FLOW_SEND_RNR;
        ++rnr;
        if (plan.no_rnr) {
            fail("receiver-not-ready at node %u", packet->to_slot);
        }
    }
    if (plan.profile == FLOW_SRD) {
        complete(packet, status, back);
    }
}

} /* namespace sim */
