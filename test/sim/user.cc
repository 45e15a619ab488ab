/* SPDX-License-Identifier: BSD-3-Clause */
/* The application of a node: it opens, sends, checks what comes, closes. */
#include "node.h"

#include <cstring>

namespace sim {

Bytes message_make(uint64_t incarnation, uint32_t ep, uint32_t seq)
{
    Random random(incarnation ^ ((uint64_t)ep << 32) ^ seq);
    Bytes bytes(16 + random.below(48));

    for (size_t i = 16; i < bytes.size(); ++i) {
        bytes[i] = (uint8_t)random.next();
    }
    memcpy(&bytes[0], &incarnation, 8);
    memcpy(&bytes[8], &ep, 4);
    memcpy(&bytes[12], &seq, 4);
    return bytes;
}

void Node::open(unsigned peer_slot, unsigned messages)
{
    std::unique_ptr<Endpoint> ep(new Endpoint());

    if (m_closing) {
        return;
    }
    ep->peer      = sim.node(peer_slot)->addr; /* out of band */
    ep->peer_slot = peer_slot;
    ep->to_send   = messages;
    ep->tx        = Driver::open(ep->peer, ep.get());
    if (ep->tx == nullptr) {
        if (!m_dead.count(ep->peer.incarnation)) {
            sim.fail("node %u: open: status %d", slot, (int)status);
        }
        return;
    }
    ep->number = ep->tx->ep;
    ep->flow   = sim.flow_open(addr.incarnation, ep->number,
                               ep->peer.incarnation);
    want_rma(ep.get());
    ++m_unfinished;
    if (++m_opened == sim.plan.reopens / (ud() ? 2 : 10)) {
        m_memory_early = memory;
    }
    make_runnable(ep.get());
    m_numbers.push_back(ep->number);
    m_endpoints[ep->number] = std::move(ep);
    wake(0);
}

/* Does it, this time? */
void Node::want_rma(Endpoint *ep)
{
    if ((sim.plan.rma > 0) && sim.random.chance(sim.plan.rma)) {
        ep->wants_rma = true;
        flow_tx_rma_ready(core, ep->tx);
    }
}

/* An endpoint that may be used has heard neither yes nor no. */
bool Node::awaits_rma() const
{
    for (auto &entry : m_endpoints) {
        const Endpoint *ep = entry.second.get();
        if (ep->wants_rma && !ep->closed && living(*ep) &&
            !flow_tx_rma_ready(core, ep->tx) &&
            !flow_tx_rma_refused(ep->tx)) {
            return true;
        }
    }
    return false;
}

Endpoint *Node::any_endpoint()
{
    if (m_numbers.empty()) {
        return nullptr;
    }

    size_t which   = sim.random.below(m_numbers.size());
    auto found     = m_endpoints.find(m_numbers[which]);
    if (found == m_endpoints.end()) { /* gone since */
        m_numbers[which] = m_numbers.back();
        m_numbers.pop_back();
        return nullptr;
    }
    return found->second.get();
}

/* ---- receiving */

void Node::on_deliver(const Bytes &packet)
{
    size_t hdr = flow_wire_hdr_len(packet.data());
    uint64_t incarnation;
    uint32_t ep, seq;

    if (packet.size() < hdr + 16) {
        sim.fail("node %u got a message that nobody sent", slot);
        return;
    }
    memcpy(&incarnation, &packet[hdr], 8);
    memcpy(&ep, &packet[hdr + 8], 4);
    memcpy(&seq, &packet[hdr + 12], 4);
    Flow *flow = sim.flow_find(incarnation, ep);
    if (flow == nullptr) {
        sim.fail("node %u got a message of no flow", slot);
        return;
    }
    if ((seq != flow->got) || (seq >= flow->sent)) {
        sim.fail("node %u: flow %lx/%u: message %u arrived, %u expected", slot,
                 (unsigned long)incarnation, ep, seq, flow->got);
    }
    if (m_dead.count(incarnation)) {
        sim.fail("node %u: a dead incarnation delivered message %u", slot, seq);
    }
    Bytes expected = message_make(incarnation, ep, seq);
    if ((packet.size() - hdr != expected.size()) ||
        (memcmp(&packet[hdr], expected.data(), expected.size()) != 0) ||
        (flow_wire_am_id(packet.data()) != seq % FLOW_AM_ID_MAX)) {
        sim.fail("node %u: message %u of flow %u is damaged", slot, seq, ep);
    }
    sim.flow_got(flow);
    sim.mix(incarnation ^ ((uint64_t)ep << 32) ^ seq);

    /* A callback may do anything: now and then it closes and opens. */
    if (sim.plan.churn && sim.faults() && sim.random.chance(0.01)) {
        Endpoint *victim = any_endpoint();
        if ((victim != nullptr) && !victim->closed && victim->finished) {
            close(victim);
            reopen(*victim);
        }
    }
}

/* ---- sending */

void Node::make_runnable(Endpoint *ep)
{
    if (!ep->runnable && !ep->closed) {
        ep->runnable = true;
        m_runnable.push_back(ep);
    }
}

void Node::finished(Endpoint *ep)
{
    if (!ep->finished) {
        ep->finished = true;
        --m_unfinished;
    }
}

/* A place in the send queue. */
bool Node::take_slot(Endpoint *ep, bool *reserved)
{
    *reserved = false;
    if (sim.plan.reserve_slots == 0) {
        return true; /* run_application looks at what is in flight */
    }
    if (m_slots < sim.plan.sq_depth) {
        ++m_slots;
        return true;
    }
    *reserved = true;
    if (!flow_reserve_may(&m_reserve, &m_shares[ep->peer_slot],
                          flow_reserve_moves(ep->tx->busy, &ep->asked),
                          sim.now)) {
        return false;
    }
    flow_reserve_take(&m_reserve, &m_shares[ep->peer_slot]);
    return true;
}

void Node::give_slot(const Op *op, bool ok)
{
    if (op->reserved) {
        flow_reserve_give(&m_reserve, &m_shares[op->ep->peer_slot], ok);
    } else if (sim.plan.reserve_slots != 0) {
        --m_slots;
    }
}

void Node::send_one(Endpoint *ep, bool reserved)
{
    Bytes text  = message_make(addr.incarnation, ep->number, ep->sent);
    auto packet = packet_to(ep->peer);
    Op *op      = new Op();
    unsigned len;

    op->reserved = reserved;
    if (ep->sent == 1) {
        want_rma(ep);
    }

    packet->bytes.resize(flow_tx_header_len(ep->tx));
    len = flow_tx_header(core, ep->tx, ep->sent % FLOW_AM_ID_MAX,
                         packet->bytes.data());
    if (len != packet->bytes.size()) {
        sim.fail("node %u: a header of another length than said", slot);
    }
    packet->bytes.insert(packet->bytes.end(), text.begin(), text.end());
    op->ep         = ep;
    op->id         = ++m_op_last;
    packet->cookie = op->id;
    op->packet     = packet;
    if (ud()) {
        record_call_resend_commit(core, ep->tx, &op->op,
                                  packet->bytes.data());
    } else {
        op->op.tx  = ep->tx;
        op->op.psn = record_call_tx_commit(core, ep->tx,
                                           packet->bytes.data());
    }
    m_ops[op->id]  = op;
    ++ep->outstanding;
    ++ep->sent;
    sim.flow_sent(ep->flow);
    post(op->packet);
}

/* Does it go on: has it a message, a window and a slot? */
Node::Turn Node::run_endpoint(Endpoint *ep)
{
    bool reserved;

    if (ep->sent == ep->to_send) {
        finished(ep);
    }
    if (ep->closed || ep->finished) {
        return STOPS;
    }
    if (ud()) {
        grow(); /* of rings a flow may need one now */
    }
    if (!flow_tx_ready(core, ep->tx)) {
        return STOPS; /* the core says when it goes on */
    }
    if (!take_slot(ep, &reserved)) {
        return WAITS;
    }
    send_one(ep, reserved);
    return sim.random.chance(0.2) ? PAUSES : GOES_ON;
}

bool Node::may_send() const
{
    return (sim.plan.reserve_slots != 0) ||
           (m_in_flight < sim.plan.sq_depth);
}

void Node::run_application()
{
    size_t idle  = 0; /* those before it wait for nothing but send slots */
    bool   pause = false, waits = false;

    while ((idle < m_runnable.size()) && may_send()) {
        size_t which = idle + sim.random.below(m_runnable.size() - idle);
        Turn turn    = run_endpoint(m_runnable[which]);
        switch (turn) {
        case STOPS:
            m_runnable[which]->runnable = false;
            m_runnable[which]           = m_runnable.back();
            m_runnable.pop_back();
            break;
        case WAITS:
        case PAUSES:
            pause = pause || (turn == PAUSES);
            waits = waits || (turn == WAITS);
            std::swap(m_runnable[which], m_runnable[idle++]);
            break;
        default:
            break;
        }
    }
    if (pause ||
        (!m_runnable.empty() && (m_in_flight < sim.plan.sq_depth))) {
        wake(US);
    } else if (waits) {
        wake(100 * US); /* a user asks again and again */
    }
    if (sim.plan.churn) {
        run_churn();
    }
    if (sim.random.chance(sim.plan.chaos) && sim.faults()) {
        run_chaos();
    }
}

void Node::run_churn()
{
    for (int tries = 0; tries < 8; ++tries) {
        Endpoint *ep = any_endpoint();
        if ((ep != nullptr) && !ep->closed && ep->finished &&
            sim.random.chance(0.3)) {
            close(ep);
            reopen(*ep);
            wake(US);
        }
    }
}

/* Further acts of a user, at any time. */
void Node::run_chaos()
{
    Endpoint *ep = any_endpoint();

    if ((ep == nullptr) || ep->closed) {
        return;
    }
    switch (sim.random.below(5)) {
    case 0:
        ep->wants_rma = !ud(); /* that has none, and repeats no wish */
        flow_tx_rma_ready(core, ep->tx);
        break;
    case 1:
        flow_tx_ping(core, ep->tx);
        break;
    case 2:
        record_call_tx_pause(core, ep->tx,
                             FLOW_PAUSE_PENDING | FLOW_PAUSE_FENCE);
        break;
    case 3:
        ++m_buffers; /* the queue grows */
        ++m_posted;
        flow_core_rx_posted(core, m_buffers);
        break;
    default:
        close(ep);
        reopen(*ep);
        return;
    }
    if (ep->tx->paused != 0) { /* not for long */
        uint32_t number = ep->number;
        uint64_t life   = addr.incarnation;
        sim.at(sim.now + sim.random.below(100 * US), [this, number, life]() {
            auto found = m_endpoints.find(number);
            if (alive && (addr.incarnation == life) &&
                (found != m_endpoints.end()) && !found->second->closed) {
                flow_tx_resume(core, found->second->tx,
                               FLOW_PAUSE_PENDING | FLOW_PAUSE_FENCE);
                make_runnable(found->second.get());
                wake(0);
            }
        });
    }
}

/* ---- closing */

void Node::close(Endpoint *ep)
{
    ep->closed = true;
    finished(ep);
    sim.flow_closed(ep->flow);
    flow_tx_close(core, ep->tx);
}

void Node::reopen(const Endpoint &ep)
{
    unsigned peer = ep.peer_slot;

    if ((sim.faults() || sim.plan.flat) && (m_opened < sim.plan.reopens) &&
        sim.node(peer)->alive) {
        open(peer, (unsigned)sim.random.below(sim.plan.messages));
    }
}

void Node::gone(Endpoint *ep)
{
    if (!ep->closed || (ep->outstanding != 0)) {
        sim.fail("node %u: flow %u gone in a wrong state", slot, ep->number);
        return;
    }
    if (ep->runnable) {
        for (size_t i = 0; i < m_runnable.size(); ++i) {
            if (m_runnable[i] == ep) {
                m_runnable[i] = m_runnable.back();
                m_runnable.pop_back();
                break;
            }
        }
    }
    m_endpoints.erase(ep->number);
}

void Node::close_all()
{
    m_closing = true;
    now       = sim.now;
    for (auto &entry : m_endpoints) {
        if (!entry.second->closed) {
            close(entry.second.get());
        }
    }
    wake(0);
}

} /* namespace sim */
