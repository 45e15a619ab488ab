/* SPDX-License-Identifier: BSD-3-Clause */
/* What a node says of itself: finished, what is left, where it stands. */
#include "node.h"

namespace sim {

bool Node::done() const
{
    for (const auto &ep : m_endpoints) {
        const Sim::Flow &flow = sim.oracle[{addr.incarnation, ep->number}];
        if (!flow.failed && ((ep->sent != ep->to_send && !ep->closed) ||
                             (flow.got != flow.sent))) {
            return false;
        }
    }
    return true;
}

std::string Node::leftovers()
{
    flow_counters_t c = counters();
    const char *error = flow_core_check(core);
    char text[256];

    if (error != nullptr) {
        return std::string("invariant ") + error;
    }
    for (auto &ep : m_endpoints) {
        if (!ep->gone) {
            return "endpoint " + std::to_string(ep->number) + " never gone";
        }
    }
    if (!m_ops.empty() || !m_held.empty() || (posted != sim.plan.buffers) ||
        c.tx_flows || c.rings || c.lingering || m_in_flight) {
        snprintf(text, sizeof(text),
                 "left: ops %zu held %zu posted %u tx %lu rings %lu "
                 "lingering %lu in flight %u",
                 m_ops.size(), m_held.size(), posted,
                 (unsigned long)c.tx_flows, (unsigned long)c.rings,
                 (unsigned long)c.lingering, m_in_flight);
        return text;
    }
    return "";
}

std::string Node::state()
{
    flow_counters_t c = counters();
    std::string text;
    char line[256];

    snprintf(line, sizeof(line),
             "node %u alive %d posted %u (min %u) tx %lu rx %lu peers %lu held "
             "%lu stalls %lu starved %lu alone %lu rnr %lu owed %ld in flight "
             "%u\n", slot, alive, posted, min_posted,
             (unsigned long)c.tx_flows, (unsigned long)c.rx_flows,
             (unsigned long)c.peers, (unsigned long)m_held.size(),
             (unsigned long)c.stalls, (unsigned long)c.starved,
             (unsigned long)c.limits_alone, (unsigned long)c.rnr, (long)c.owed,
             m_in_flight);
    text = line;
    for (int i = 0; i < FLOW_DROP_LAST; ++i) {
        if (c.drops[i] != 0) {
            snprintf(line, sizeof(line), "  drop %s %lu\n",
                     flow_drop_name((flow_drop_t)i),
                     (unsigned long)c.drops[i]);
            text += line;
        }
    }
    for (auto &ep : m_endpoints) {
        const Sim::Flow &flow = sim.oracle[{addr.incarnation, ep->number}];
        if (!flow.failed && (flow.got != ep->to_send) && !ep->gone) {
            snprintf(line, sizeof(line),
                     "  ep %u to %u: to send %u sent %u got %u closed %d "
                     "state %u psn %u limit %u una %u stop %u wait %x\n",
                     ep->number, ep->peer_slot, ep->to_send, ep->sent,
                     flow.got, ep->closed, ep->tx->state, flow_tx_psn(ep->tx),
                     ep->tx->limit, ep->tx->una, ep->tx->stop, ep->tx->wait);
            text += line;
        }
    }
    return text;
}

} /* namespace sim */
