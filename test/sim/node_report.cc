/* SPDX-License-Identifier: BSD-3-Clause */
/* A node's report: the rest of its work, and where it stands. */
#include "node.h"

#include "flow/image.h"

namespace sim {

std::string Node::leftovers()
{
    flow_counters_t c = counters();
    const char *error = check();
    char text[256];

    error = (error != nullptr) ? error : flow_image_end(core);
    if (error != nullptr) {
        return std::string("invariant ") + error;
    }
    if (sim.plan.absent != 0) {
        return ""; /* what is left of who is never heard again stays */
    }
    if (!m_endpoints.empty()) {
        return "endpoint " + std::to_string(m_endpoints.begin()->first) +
               " never gone";
    }
    /* The dead leave tombstones; those that died unnoticed leave their flows to
     * us, with all that these hold: nobody asks them. */
    bool deaths = (sim.plan.kills != 0) || sim.plan.living_fail ||
                  (sim.plan.strangers > 0);
    bool ghosts = deaths && (c.rx_flows != 0);
    if (!m_ops.empty() || c.tx_flows || c.lingering || m_in_flight ||
        (!deaths && (c.rx_flows || c.peers)) ||
        (!ghosts && (c.rings || (held() != 0) || (m_posted != m_buffers) ||
                     !m_rma_peers.empty()))) {
        snprintf(text, sizeof(text),
                 "left: ops %zu held %zu posted %u of %u tx %lu rx %lu peers "
                 "%lu rings %lu lingering %lu in flight %u with RMA %zu",
                 m_ops.size(), held(), m_posted, m_buffers,
                 (unsigned long)c.tx_flows, (unsigned long)c.rx_flows,
                 (unsigned long)c.peers, (unsigned long)c.rings,
                 (unsigned long)c.lingering, m_in_flight, m_rma_peers.size());
        return text;
    }
    if (sim.plan.no_resend &&
        ((c.timeouts + c.fast_resends) * 100 > sim.plan.messages)) {
        snprintf(text, sizeof(text),
                 "%lu messages sent again after a time-out, %lu as overtaken",
                 (unsigned long)c.timeouts, (unsigned long)c.fast_resends);
        return text;
    }
    /* How many packets are early, and (UD) how many closed flows rest, varies by
     * a chunk or two. */
    if (sim.plan.flat && (memory > m_memory_early + m_memory_early / 16)) {
        snprintf(text, sizeof(text),
                 "%zu bytes when some of %u flows had been, %zu in the end",
                 m_memory_early, m_opened, memory);
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
             "%zu stalls %lu starved %lu alone %lu rnr %lu owed %ld in flight "
             "%u\n", slot, alive, m_posted, m_posted_min,
             (unsigned long)c.tx_flows, (unsigned long)c.rx_flows,
             (unsigned long)c.peers, held(), (unsigned long)c.stalls,
             (unsigned long)c.starved, (unsigned long)c.limits_alone,
             (unsigned long)c.rnr, (long)c.owed, m_in_flight);
    text = line;
    for (int i = 0; i < FLOW_DROP_LAST; ++i) {
        if (c.drops[i] != 0) {
            snprintf(line, sizeof(line), "  drop %s %lu\n",
                     flow_drop_name((flow_drop_t)i),
                     (unsigned long)c.drops[i]);
            text += line;
        }
    }
    for (auto &entry : m_endpoints) {
        const Endpoint *ep = entry.second.get();
        if (!ep->flow->failed && ((ep->flow->got != ep->to_send) ||
                                  (ep->wants_rma && (ep->tx->rma == 0)))) {
            snprintf(line, sizeof(line),
                     "  ep %u to %u: to send %u sent %u got %u closed %d "
                     "state %u psn %u limit %u una %u stop %u wait %x rma "
                     "wanted %d said %u\n",
                     ep->number, ep->peer_slot, ep->to_send, ep->sent,
                     ep->flow->got, ep->closed, ep->tx->state,
                     flow_tx_psn(ep->tx), ep->tx->limit, ep->tx->una,
                     ep->tx->stop, ep->tx->wait, ep->wants_rma, ep->tx->rma);
            text += line;
        }
    }
    return text;
}

} /* namespace sim */
