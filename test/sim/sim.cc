/* SPDX-License-Identifier: BSD-3-Clause */
#include "node.h"

#include <cstdarg>
#include <cstring>

namespace sim {

uint64_t Random::next()
{
    uint64_t z = (m_state += 0x9e3779b97f4a7c15ull);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

Sim::Sim(const Plan &plan, uint64_t seed, bool verbose) :
    plan(plan), random(seed), verbose(verbose)
{
    for (unsigned slot = 0; slot < plan.nodes; ++slot) {
        m_nodes.emplace_back(new Node(*this, slot, 100 + slot,
                                      1 + (uint32_t)random.below(1u << 30)));
    }
}

Sim::~Sim()
{
}

uint64_t Sim::new_incarnation()
{
    return random.next() | 1;
}

void Sim::at(Time when, std::function<void()> what)
{
    m_events.push({when, ++m_order, what});
}

void Sim::fail(const char *format, ...)
{
    char text[512];
    va_list args;

    if (!m_error.empty()) {
        return;
    }
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    m_error = "at " + std::to_string(now) + " ns: " + text;
}

void Sim::mix(uint64_t word)
{
    m_hash = (m_hash ^ word ^ now) * 0x9e3779b97f4a7c15ull;
    m_hash ^= m_hash >> 31;
}

void Sim::transmit(const Packet &packet)
{
    Time delay = plan.delay + random.below(plan.jitter);
    std::pair<unsigned, unsigned> path(packet.from_slot, packet.to_slot);

    ++packets;
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
        if (random.chance(plan.noise)) {
            Packet garbage = packet;
            garbage.bytes.resize(random.below(100));
            for (uint8_t &byte : garbage.bytes) {
                byte = (uint8_t)random.next();
            }
            garbage.from_qpn = 50000; /* nobody's */
            garbage.op_id    = UINT64_MAX;
            at(now + delay, [this, garbage]() { arrive(garbage); });
        }
    }
    auto clogged = m_clogged.find(path);
    if ((clogged != m_clogged.end()) && (clogged->second > now)) {
        delay += clogged->second - now;
    }
    Packet copy = packet;
    at(now + delay, [this, copy]() { arrive(copy); });
}

void Sim::arrive(Packet packet)
{
    Node *to   = m_nodes[packet.to_slot].get();
    Node *from = m_nodes[packet.from_slot].get();
    bool noise = packet.op_id == UINT64_MAX;
    flow_send_status_t status;
    Time back = plan.delay + random.below(plan.jitter);

    /* Against a reborn QPN with the same QKEY only headers that name the
     * receiver help; short ones rest on the QKEY and 7 bits of generation. */
    if (!to->alive || (to->addr.qpn != packet.to_qpn) ||
        (to->addr.qkey != packet.to_qkey) ||
        ((to->addr.incarnation != packet.to_life) && !noise &&
         !(packet.bytes[0] & (FLOW_WIRE_LONG | FLOW_WIRE_CTL)))) {
        status = FLOW_SEND_DEAD;
        back  += 500 * US;
    } else if (to->device_receive(packet)) {
        status = FLOW_SEND_OK;
    } else {
        status = FLOW_SEND_RNR;
        if (plan.no_rnr) {
            fail("receiver-not-ready at node %u", packet.to_slot);
        }
    }
    if (!noise && from->alive &&
        (from->addr.incarnation == packet.from_life)) {
        if (faults() && random.chance(plan.late)) {
            back += random.below(plan.late_by);
        }
        at(now + back, [this, packet, status]() {
            Node *node = m_nodes[packet.from_slot].get();
            if (node->alive && (node->addr.incarnation == packet.from_life)) {
                node->device_complete(packet, status);
            }
        });
    }
}

void Sim::open_all()
{
    for (unsigned from = 0; from < plan.nodes; ++from) {
        for (unsigned to = 0; to < plan.nodes; ++to) {
            if (plan.incast ? ((to != 0) || (from == 0)) :
                plan.all_to_all ? false :
                                  ((from ^ 1u) != to) ||
                                          (!plan.both_ways && (from & 1))) {
                continue;
            }
            for (unsigned i = 0; i < plan.endpoints; ++i) {
                at(now + random.below(100 * US), [this, from, to]() {
                    if (m_nodes[from]->alive && m_nodes[to]->alive) {
                        m_nodes[from]->open(to, plan.messages);
                    }
                });
            }
        }
    }
}

void Sim::kill(unsigned slot)
{
    uint32_t qpn  = m_nodes[slot]->addr.qpn;
    uint32_t qkey = m_nodes[slot]->addr.qkey;

    m_nodes[slot]->alive = false;
    for (auto &flow : oracle) {
        if (flow.first.first == m_nodes[slot]->addr.incarnation) {
            flow.second.failed = true;
        }
    }
    if (!plan.rebirth) {
        return;
    }
    at(now + random.below(2 * MS), [this, slot, qpn, qkey]() {
        m_graveyard.push_back(std::move(m_nodes[slot]));
        m_nodes[slot].reset(new Node(
                *this, slot, qpn,
                plan.same_qkey ? qkey : 1 + (uint32_t)random.below(1u << 30)));
        for (unsigned to = 0; to < plan.nodes; ++to) {
            if ((to != slot) && m_nodes[to]->alive) {
                m_nodes[slot]->open(to, plan.messages);
                m_nodes[to]->open(slot, plan.messages);
            }
        }
    });
}

/* From the end of the faults on: is everything done? Then close and finish. */
void Sim::watch()
{
    bool done = now >= plan.faults_end + 3 * MS;

    for (auto &node : m_nodes) {
        done = done && (!node->alive || node->done());
    }
    if (done && !m_closing) {
        m_closing = true;
        m_done_at = now;
        for (auto &node : m_nodes) {
            if (node->alive) {
                node->close_all();
            }
        }
    }
    if (!m_closing) {
        if (now > plan.deadline) {
            std::string text;
            for (auto &node : m_nodes) {
                text += node->state();
            }
            if (verbose) {
                fputs(text.c_str(), stderr);
            }
            fail("not finished in time: the faults stopped, the work did not");
            return;
        }
        at(now + MS, [this]() { watch(); });
    }
}

void Sim::finish()
{
    for (auto &node : m_nodes) {
        std::string left = node->alive ? node->leftovers() : "";
        if (!left.empty()) {
            fail("node %u: %s", node->slot, left.c_str());
        }
        if (node->alive) {
            mix(flow_core_trace_hash(node->core));
        }
    }
    for (auto &flow : oracle) {
        if (!flow.second.failed && (flow.second.got != flow.second.sent)) {
            fail("flow %lx/%u: %u sent, %u arrived",
                 (unsigned long)flow.first.first, flow.first.second,
                 flow.second.sent, flow.second.got);
        }
    }
}

std::string Sim::run()
{
    open_all();
    for (unsigned i = 0; i < plan.sleepers; ++i) {
        m_nodes[i]->asleep_until = plan.faults_end;
    }
    for (unsigned i = 0; i < plan.kills; ++i) {
        unsigned slot = (unsigned)random.below(plan.nodes);
        at(plan.faults_end / 4 + random.below(plan.faults_end / 2),
           [this, slot]() {
               if (m_nodes[slot]->alive) {
                   kill(slot);
               }
           });
    }
    if (plan.linkdown != 0) {
        at(plan.faults_end / 8, [this]() {
            m_clogged[{0, 1}] = now + plan.linkdown;
            m_clogged[{1, 0}] = now + plan.linkdown;
        });
    }
    at(plan.faults_end, [this]() { watch(); });

    while (!m_events.empty() && m_error.empty()) {
        Event event = m_events.top();
        m_events.pop();
        now = event.when;
        if (now > 2 * plan.deadline) {
            fail("the cores never fall silent");
            break;
        }
        event.what();
    }
    if (m_error.empty()) {
        finish();
    }
    if (!m_error.empty() && verbose) {
        for (auto &node : m_nodes) {
            fputs(node->state().c_str(), stderr);
        }
    }
    return m_error;
}

} /* namespace sim */
