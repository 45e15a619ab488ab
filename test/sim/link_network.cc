/* SPDX-License-Identifier: BSD-3-Clause */
#include "link.h"

#include <algorithm>

namespace link_sim {

uint64_t Random::next()
{
    uint64_t z = (m_state += 0x9e3779b97f4a7c15ull);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

Network::Network(const Plan &plan, unsigned hosts) :
    plan(plan), random(plan.seed), m_out(hosts, 0), m_port(hosts, 0)
{
}

void Network::at(Time when, std::function<void()> what)
{
    m_events.push({when, ++m_order, what});
}

/* ns that so many bytes take. */
static Time takes(unsigned bytes, double gbits)
{
    return (gbits > 0) ? (Time)(bytes * 8.0 / gbits) : 0;
}

bool Network::send(const PacketRef &packet, Time when,
                   std::function<void(const PacketRef&)> arrive)
{
    Time &out  = m_out[packet->from];
    Time &port = m_port[packet->to];
    Time reach, left;

    out   = std::max(out, when) + takes(packet->wire, plan.nic);
    reach = out;
    if (random.chance(plan.loss)) {
        return false;
    }
    left = (port > reach) ? port - reach : 0; /* until the port is idle */
    if (packet->to == 0) {
        queue_sum += (double)left * plan.gbits / 8;
        ++queue_count;
    }
    if ((plan.gbits > 0) &&
        ((double)left * plan.gbits / 8 + packet->wire > (double)plan.buffer)) {
        return false;
    }
    port = std::max(port, reach) + takes(packet->wire, plan.gbits);
    at(port + plan.rtt / 2 +
               (plan.jitter ? random.next() % plan.jitter : 0),
       [packet, arrive]() { arrive(packet); });
    return true;
}

void Network::run(Time until)
{
    while (!m_events.empty() && (m_events.top().when <= until)) {
        Event event = m_events.top();
        m_events.pop();
        now = event.when;
        event.what();
    }
    now = until;
}

} /* namespace link_sim */
