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

void Sim::push(Time when, Kind kind, const PacketRef &packet, unsigned slot,
               flow_send_status_t status)
{
    m_events.push({when, ++m_order, packet, kind, slot, status});
}

void Sim::at(Time when, std::function<void()> what)
{
    push(when, CALL, nullptr);
    m_calls[m_order] = what;
}

void Sim::poll_at(Time when, unsigned slot)
{
    push(when, POLL, nullptr, slot);
}

void Sim::handle(const Event &event)
{
    Node *node = m_nodes[event.slot].get();

    switch (event.kind) {
    case CALL: {
        auto what = std::move(m_calls[event.order]);
        m_calls.erase(event.order);
        what();
        break;
    }
    case POLL:
        node->poll_if_due(event.when);
        break;
    case ARRIVE:
        arrive(event.packet);
        break;
    case COMPLETE:
        if (node->alive &&
            (node->addr.incarnation == event.packet->from_life)) {
            node->device_complete(event.packet, event.status);
        }
        break;
    }
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

Flow *Sim::flow_open(uint64_t incarnation, uint32_t ep, uint64_t to_life)
{
    Flow *flow = &m_flows[{incarnation, ep}];

    flow->to_life = to_life;
    ++opened;
    return flow;
}

Flow *Sim::flow_find(uint64_t incarnation, uint32_t ep)
{
    auto found = m_flows.find({incarnation, ep});

    return (found == m_flows.end()) ? nullptr : &found->second;
}

void Sim::flow_failed(Flow *flow)
{
    if (!flow->failed) {
        m_undelivered -= flow->sent - flow->got;
        flow->failed   = true;
    }
}

void Sim::flow_closed(Flow *flow)
{
    flow->closed = true;
    if (flow->broken) {
        flow_failed(flow);
    }
}

void Sim::flows_broken(uint64_t from_life, uint64_t to_life)
{
    for (auto &flow : m_flows) {
        if ((flow.first.first == from_life) &&
            (flow.second.to_life == to_life)) {
            flow.second.broken = true;
            if (flow.second.closed) {
                flow_failed(&flow.second);
            }
        }
    }
}

void Sim::flow_sent(Flow *flow)
{
    ++flow->sent;
    m_undelivered += !flow->failed;
}

void Sim::flow_got(Flow *flow)
{
    ++flow->got;
    if ((plan.hot != 0) && (flow->got == plan.hot)) {
        hot_done = now;
    }
    ++delivered;
    m_undelivered -= !flow->failed;
}

bool Sim::opens(unsigned from, unsigned to) const
{
    if (plan.star) {
        return ((from == 0) && (to != 0)) || ((from == 1) && (to == 0));
    }
    if (plan.incast) {
        return (to == 0) && (from != 0);
    }
    if (plan.all_to_all) {
        return true; /* with itself, too */
    }
    return ((from ^ 1u) == to) && (plan.both_ways || !(from & 1));
}

unsigned Sim::messages(unsigned from, unsigned to) const
{
    return ((plan.hot != 0) && (from == 0) && (to == 1)) ? plan.hot :
                                                           plan.messages;
}

bool Sim::absent(unsigned slot) const
{
    return (slot + plan.absent >= plan.nodes) && (now >= plan.absent_from);
}

void Sim::open_all()
{
    for (unsigned from = 0; from < plan.nodes; ++from) {
        for (unsigned to = 0; to < plan.nodes; ++to) {
            bool pair   = plan.star && (from < 2) && (to < 2);
            unsigned n  = !opens(from, to) ? 0 : pair ? 1 : plan.endpoints;
            for (unsigned i = 0; i < n; ++i) {
                at(now + random.below(100 * US), [this, from, to]() {
                    if (m_nodes[from]->alive && m_nodes[to]->alive) {
                        m_nodes[from]->open(to, messages(from, to));
                    }
                });
            }
        }
    }
}

/* The network is well again: everybody reaches everybody. */
void Sim::open_again()
{
    for (auto &from : m_nodes) {
        for (auto &to : m_nodes) {
            if (from->alive && to->alive) {
                from->open(to->slot, 5);
            }
        }
    }
}

/* A process dies: what it sent may be lost, and what was sent to it; nobody
 * hears of it. */
void Sim::kill(unsigned slot)
{
    Node *node    = m_nodes[slot].get();
    uint32_t qpn  = node->addr.qpn;
    uint32_t qkey = node->addr.qkey;

    node->alive = false;
    for (auto &flow : m_flows) {
        if ((flow.first.first == node->addr.incarnation) ||
            (flow.second.to_life == node->addr.incarnation)) {
            flow_failed(&flow.second);
        }
    }
    if (plan.rebirth) {
        at(now + random.below(2 * MS),
           [this, slot, qpn, qkey]() { bear(slot, qpn, qkey); });
    }
}

/* Another process gets the same QPN. */
void Sim::bear(unsigned slot, uint32_t qpn, uint32_t qkey)
{
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
}

bool Sim::done()
{
    bool done = (now >= plan.faults_end + 3 * MS) && (m_undelivered == 0);

    for (size_t i = 0; done && (i < m_nodes.size()); ++i) {
        done = !m_nodes[i]->alive || m_nodes[i]->done();
    }
    return done;
}

/* From the end of the faults on: is everything done? Then close and finish. */
void Sim::watch()
{
    if (done()) {
        m_closing = true;
        for (auto &node : m_nodes) {
            if (node->alive) {
                node->close_all();
            }
        }
    } else if (now > plan.deadline) {
        fail("not finished in time: the faults stopped, the work did not");
    } else {
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
            mix(flow_trace_hash(node->core));
        }
    }
    for (auto &flow : m_flows) {
        if (!flow.second.failed && (flow.second.got != flow.second.sent)) {
            fail("flow %lx/%u: %u sent, %u arrived",
                 (unsigned long)flow.first.first, flow.first.second,
                 flow.second.sent, flow.second.got);
        }
    }
}

void Sim::plan_faults()
{
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
        m_down_from  = plan.faults_end / 8;
        m_down_until = m_down_from + plan.linkdown;
        at(m_down_from, [this]() {
            m_clogged[{0, 1}] = m_down_until;
            m_clogged[{1, 0}] = m_down_until;
        });
    }
    if (plan.partition != 0) {
        m_split_from  = plan.faults_end / 8 + random.below(plan.partition / 4);
        m_split_until = m_split_from + plan.partition;
    }
    if (plan.unheard > 0) {
        at(plan.faults_end + 2 * MS, [this]() { open_again(); });
    }
    at(plan.faults_end, [this]() { watch(); });
}

std::string Sim::state()
{
    std::string text;

    for (auto &node : m_nodes) {
        text += node->state();
    }
    return text;
}

std::string Sim::run()
{
    open_all();
    plan_faults();
    while (!m_events.empty() && m_error.empty()) {
        Event event = m_events.top();
        m_events.pop();
        now = event.when;
        if (now > 2 * plan.deadline) {
            fail("the cores never fall silent");
            break;
        }
        handle(event);
    }
    if (m_error.empty()) {
        finish();
    }
    if (!m_error.empty() && verbose) {
        fputs(state().c_str(), stderr);
    }
    return m_error;
}

} /* namespace sim */
