/* SPDX-License-Identifier: BSD-3-Clause */
/* The transport of a node: polling, completions, control packets. */
#include "node.h"

#include <cstring>

namespace sim {

static flow_params_t params_of(Sim &sim, unsigned slot, uint32_t qpn,
                               uint32_t qkey)
{
    flow_params_t params;

    if (sim.plan.profile == FLOW_UD) {
        flow_params_default_ud(&params);
    } else {
        flow_params_default(&params);
    }
    if (sim.plan.tries != 0) {
        params.tries = (uint16_t)sim.plan.tries;
    }
    params.self.gid[0]      = 0xfe;
    params.self.gid[14]     = (uint8_t)(slot >> 8);
    params.self.gid[15]     = (uint8_t)slot;
    params.self.qpn         = qpn;
    params.self.qkey        = qkey;
    params.self.incarnation = sim.new_incarnation();
    params.rx_posted        = sim.plan.buffers;
    params.rx_reserve       = sim.plan.reserve;
    if (sim.plan.ctl_slots != 0) {
        params.ctl_slots = (uint16_t)sim.plan.ctl_slots;
    }
    if (sim.plan.strangers_max != 0) {
        params.max_strangers  = sim.plan.strangers_max;
        params.stranger_bytes = sim.plan.strangers_max * 1000;
    }
    params.first_psn        = sim.plan.first_psn;
    params.lap              = sim.plan.lap;
    params.seed             = sim.random.next();
    return params;
}

Node::Node(Sim &sim, unsigned slot, uint32_t qpn, uint32_t qkey) :
    Driver(params_of(sim, slot, qpn, qkey)), sim(sim), slot(slot),
    m_posted(sim.plan.buffers), m_posted_min(m_posted), m_buffers(m_posted)
{
    flow_reserve_init(&m_reserve, sim.plan.reserve_slots);
}

Node::~Node()
{
    for (auto &entry : m_ops) {
        delete entry.second;
    }
}

void Node::on_broken(const char *what)
{
    sim.fail("node %u: %s", slot, what);
}

/* ---- what the device tells */

bool Node::device_receive(const Packet &packet)
{
    uint16_t ah;

    if (m_posted == 0) {
        return false;
    }
    --m_posted;
    m_posted_min = std::min(m_posted_min, m_posted);
    ah = m_ahs.count(packet.from_qpn) ? (uint16_t)(packet.from_qpn & 0x7fff) :
                                        (uint16_t)FLOW_AH_UNKNOWN;
    m_received.push_back({packet.bytes, flow_src(ah, packet.from_qpn)});
    wake(sim.random.below(2 * US));
    return true;
}

void Node::device_complete(const PacketRef &packet, flow_send_status_t status)
{
    m_done.push_back({packet, status});
    wake(sim.random.below(2 * US));
}

void Node::wake(Time delay)
{
    Time when = std::max(sim.now + delay + sim.plan.poll_every, asleep_until);

    if (when < m_next_poll) {
        m_next_poll = when;
        sim.poll_at(when, slot);
    }
}

void Node::poll_if_due(Time when)
{
    if (alive && (m_next_poll == when)) {
        m_next_poll = UINT64_MAX;
        poll();
    }
}

void Node::poll()
{
    const char *error;

    now = sim.now;
    flow_timer_set_now(core, now);
    grow();
    if ((sim.plan.quiet > 0) && sim.random.chance(sim.plan.quiet)) {
        poll_quietly();
        return;
    }
    take_later();
    poll_receives();
    poll_sends();
    flow_timer_run(core, now);
    if (m_in_flight < sim.plan.sq_depth) {
        pull_reposts();
    }
    pull_releases();
    pull_events();
    run_application();
    pull_control();
    pull_releases();
    pull_events();
    if (sim.random.chance(m_numbers.size() > 100 ? 0.0005 : 0.02)) {
        error = check();
        if (error != nullptr) {
            sim.fail("node %u: invariant %s", slot, error);
        }
    }
    sleep();
}

/* As a transport does: whoever waits long asks whether the peer lives. */
void Node::probe()
{
    if (sim.now < m_probed + 2 * MS) {
        wake(m_probed + 2 * MS - sim.now);
        return;
    }
    m_probed = sim.now;
    for (auto &entry : m_endpoints) {
        if (!entry.second->closed && !entry.second->finished) {
            flow_tx_ping(core, entry.second->tx);
        }
    }
    if (flow_ctl_pending(core)) {
        wake(US);
    }
}

/* Until when? */
void Node::sleep()
{
    flow_time_t timer = flow_timer_next(core);

    if (!m_received.empty() || !m_done.empty() || flow_ctl_pending(core) ||
        flow_event_pending(core) || flow_resend_release_pending(core)) {
        wake(US / 2);
    } else if (timer != FLOW_TIME_NEVER) {
        wake((timer > sim.now) ? timer - sim.now : US / 2);
    }
    if (((sim.plan.unheard > 0) || (sim.plan.lap < FLOW_LAP)) && !m_closing) {
        probe();
    }
    if (sim.plan.flat && !m_closing && !done()) {
        wake(10 * US); /* its user closes and opens without being asked */
    }
}

/* ---- receives */

/* Another thread's work while the user computes (flow/resend.h). */
void Node::poll_quietly()
{
    flow_event_t event;

    if (m_stash.empty() && !m_received.empty() && sim.random.chance(0.2)) {
        m_stash.push_back(std::move(m_received.front())); /* the user arms */
        m_received.pop_front();
    }
    hold_all = true;
    poll_receives();
    poll_sends();
    hold_all = false;
    while (flow_event_pending(core) && flow_event_peer_next(core, &event)) {
        if (event.type != FLOW_EVENT_PEER_GONE) {
            flow_peer_set_ah(core, event.peer,
                             ah_of(flow_peer_addr(core, event.peer)),
                             rma_of(event));
        }
        on_event(event);
    }
    flow_timer_run(core, now);
    if (m_in_flight < sim.plan.sq_depth) {
        pull_reposts();
    }
    pull_control();
    wake(US);
}

/* Packets that the thread left: progress takes them first. */
void Node::take_later()
{
    std::vector<uint32_t> later;

    if (!m_stash.empty()) {
        Received packet = std::move(m_stash.front());
        m_stash.pop_front();
        if (receive(packet.bytes, packet.src) != FLOW_RX_HOLD) {
            ++m_posted;
        }
    }
    later.swap(m_later);
    for (uint32_t token : later) {
        drain(token);
    }
}

void Node::poll_receives()
{
    for (int i = 0; (i < FLOW_RX_BATCH) && !m_received.empty(); ++i) {
        Received packet = std::move(m_received.front());
        m_received.pop_front();
        if (receive(packet.bytes, packet.src) != FLOW_RX_HOLD) {
            ++m_posted;
        }
        if (hold_all && last.more) {
            m_later.push_back(last.token);
        }
    }
}

bool Node::on_hold()
{
    bool copied = m_posted <= sim.plan.reserve; /* rx.h says why */

    m_posted += copied;
    return copied;
}

void Node::on_unhold(bool copied)
{
    m_posted += !copied;
}

/* ---- sends */

void Node::finish_op(Op *op, bool ok)
{
    Endpoint *ep = op->ep;

    if (m_ops.erase(op->id) != 1) {
        sim.fail("node %u: an operation completed twice", slot);
    }
    if (!ok) {
        sim.flow_failed(ep->flow);
    }
    give_slot(op, ok);
    --ep->outstanding;
    delete op;
}

void Node::poll_send(const Done &done)
{
    auto found = m_ops.find(done.packet->cookie);

    if (found == m_ops.end()) {
        sim.fail("node %u: completion of no operation", slot);
        return;
    }

    Op *op        = found->second;
    flow_tx_t *tx = op->ep->tx;
    flow_psn_t psn = op->op.psn;
    if (ud()) {
        flow_resend_sent(core, &op->op, done.status != FLOW_SEND_OK);
        return;
    }
    switch (done.status) {
    case FLOW_SEND_RNR:
        flow_tx_rnr(core, &op->op, now);
        return;
    case FLOW_SEND_OK:
        finish_op(op, true);
        break;
    default:
        flow_tx_fail(core, tx, done.status);
        finish_op(op, false);
    }
    flow_tx_done(core, tx, psn);
}

void Node::poll_sends()
{
    for (int i = 0; (i < 16) && !m_done.empty(); ++i) {
        Done done = m_done.front();
        m_done.pop_front();
        --m_in_flight;
        if (done.packet->ctl) {
            flow_ctl_done(core, done.packet->cookie, done.status, now);
        } else {
            poll_send(done);
        }
    }
}

bool Node::on_repost(flow_op_t *flow_op, bool failed)
{
    Op *op = (Op*)flow_op;

    if (failed) {
        flow_tx_t *tx  = op->ep->tx;
        flow_psn_t psn = flow_op->psn;
        finish_op(op, false);
        flow_tx_done(core, tx, psn);
        return true;
    }
    if (sim.random.chance(0.05)) {
        flow_tx_repost_return(core, flow_op); /* as if the queue were full */
        wake(US);
        return false;
    }
    if (ud()) {
        auto again = std::make_shared<Packet>(*op->packet);
        flow_resend_header(core, flow_op, again->bytes.data());
        post(again);
    } else {
        post(op->packet);
    }
    return m_in_flight < sim.plan.sq_depth;
}

void Node::on_release(flow_op_t *op, bool failed)
{
    finish_op((Op*)op, !failed);
}

void Node::post(const PacketRef &packet)
{
    ++m_in_flight;
    sim.transmit(packet);
}

std::shared_ptr<Packet> Node::packet_to(const flow_addr_t &peer) const
{
    auto packet = std::make_shared<Packet>();

    packet->from_slot = slot;
    packet->from_qpn  = addr.qpn;
    packet->from_life = addr.incarnation;
    packet->to_slot   = (unsigned)(peer.gid[14] << 8) | peer.gid[15];
    packet->to_qpn    = peer.qpn;
    packet->to_qkey   = peer.qkey;
    packet->to_life   = peer.incarnation;
    return packet;
}

bool Node::on_control(const flow_ctl_t &ctl)
{
    if (sim.random.chance(0.02)) {
        flow_ctl_unsent(core, ctl.cookie);
        wake(US);
        return false;
    }

    auto packet    = packet_to(flow_peer_addr(core, ctl.peer));
    packet->ctl    = true;
    packet->cookie = ctl.cookie;
    packet->bytes.assign(ctl.data, ctl.data + ctl.len);
    post(packet);
    return (sim.plan.reserve_slots != 0) ||
           (m_in_flight < sim.plan.sq_depth + 8);
}

/* ---- events */

uint16_t Node::ah_of(const flow_addr_t &peer)
{
    if (sim.random.chance(sim.plan.chaos / 4)) {
        return FLOW_AH_UNKNOWN; /* by QPN only */
    }
    m_ahs.insert(peer.qpn);
    return peer.qpn & 0x7fff;
}

flow_rma_t Node::rma_of(const flow_event_t &event)
{
    uint32_t qpn = flow_peer_addr(core, event.peer).qpn;

    record_call_peer_set_cookie(core, event.peer, (void*)(uintptr_t)qpn);
    if (m_rma_peers.count(qpn) || (m_rma_peers.size() < sim.plan.rma_peers)) {
        m_rma_peers.insert(qpn);
        return FLOW_RMA_READY;
    }
    return (event.type == FLOW_EVENT_PEER_WANTS_RMA) ? FLOW_RMA_REFUSED :
                                                       FLOW_RMA_NOT_YET;
}

bool Node::living(const Endpoint &ep) const
{
    const Node *peer = sim.node(ep.peer_slot);

    return peer->alive && (peer->addr.incarnation == ep.peer.incarnation);
}

void Node::sent_failed(Endpoint *ep, flow_end_t why)
{
    sim.flow_failed(ep->flow);
    sim.flows_broken(ep->peer.incarnation, addr.incarnation);
    if (why == FLOW_END_DEAD) {
        m_dead.insert(ep->peer.incarnation);
    }
    if (living(*ep) && !sim.plan.living_fail) {
        sim.fail("node %u: flow %u to a living peer failed", slot,
                 ep->number);
    }
    close(ep);
    if (why != FLOW_END_DEAD) {
        reopen(*ep);
    }
}

void Node::on_event(const flow_event_t &event)
{
    Endpoint *ep = (Endpoint*)event.cookie;

    switch (event.type) {
    case FLOW_EVENT_TX_READY:
        make_runnable(ep);
        break;
    case FLOW_EVENT_TX_FAILED:
        sent_failed(ep, event.why);
        break;
    case FLOW_EVENT_TX_GONE:
        gone(ep);
        break;
    case FLOW_EVENT_PEER_GONE:
        m_rma_peers.erase((uint32_t)(uintptr_t)event.cookie);
        break;
    default:
        break;
    }
}

} /* namespace sim */
