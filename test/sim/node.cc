/* SPDX-License-Identifier: BSD-3-Clause */
#include "node.h"

#include <cstdlib>
#include <cstring>

namespace sim {

static void *alloc(size_t size)
{
    void *mem = nullptr;

    if (posix_memalign(&mem, FLOW_ALIGN, size) != 0) {
        abort();
    }
    memset(mem, 0xa5, size);
    return mem;
}

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

Node::Node(Sim &sim, unsigned slot, uint32_t qpn, uint32_t qkey) :
    sim(sim), slot(slot)
{
    flow_params_t params;

    flow_params_default(&params);
    memset(&params.self, 0, sizeof(params.self));
    params.profile          = sim.plan.profile;
    params.self.gid[0]      = 0xfe;
    params.self.gid[14]     = (uint8_t)(slot >> 8);
    params.self.gid[15]     = (uint8_t)slot;
    params.self.qpn         = qpn;
    params.self.qkey        = qkey;
    params.self.incarnation = sim.new_incarnation();
    params.rx_posted        = sim.plan.buffers;
    params.rx_reserve       = sim.plan.reserve;
    params.first_psn        = sim.plan.first_psn;
    params.born             = sim.now;
    params.seed             = sim.random.next();
    addr                    = params.self;
    posted = min_posted     = sim.plan.buffers;
    m_core_mem              = alloc(flow_core_size(&params));
    core = flow_core_init(m_core_mem, flow_core_size(&params), &params);
    if (core == nullptr) {
        abort();
    }
    memory = flow_core_size(&params);
    grow();
}

Node::~Node()
{
    for (auto &entry : m_ops) {
        delete entry.second;
    }
    for (void *chunk : m_chunks) {
        free(chunk);
    }
    free(m_hash_mem);
    free(m_core_mem);
}

void Node::grow()
{
    unsigned needed;

    while ((needed = flow_core_grow_needed(core)) != 0) {
        for (int pool = 0; pool < FLOW_POOL_LAST; ++pool) {
            if (!(needed & (1u << pool))) {
                continue;
            }
            size_t size = flow_core_chunk_size(core, (flow_pool_t)pool);
            void *mem   = alloc(size);
            void *old   = flow_core_grow(core, (flow_pool_t)pool, mem);
            memory     += size;
            if (pool == FLOW_POOL_HASH) {
                memory -= size / 2; /* the old one goes */
                free(old);
                m_hash_mem = mem;
            } else {
                m_chunks.push_back(mem);
            }
        }
    }
}

flow_counters_t Node::counters() const
{
    flow_counters_t counters;

    flow_core_counters(core, &counters);
    return counters;
}

void Node::open(unsigned peer_slot, unsigned messages)
{
    std::unique_ptr<Endpoint> ep(new Endpoint());
    flow_status_t status;

    grow();
    ep->node      = this;
    ep->peer      = sim.node(peer_slot)->addr; /* out of band */
    ep->peer_slot = peer_slot;
    ep->to_send   = messages;
    status        = flow_tx_open(core, &ep->peer, ep.get(), &ep->tx);
    if (status != FLOW_OK) {
        if (!m_dead.count(ep->peer.incarnation)) {
            sim.fail("open: status %d", (int)status);
        }
        return;
    }
    ep->number = ep->tx->ep;
    ++m_opened;
    sim.oracle[{addr.incarnation, ep->number}] = Sim::Flow();
    m_endpoints.push_back(std::move(ep));
    wake(0);
}

bool Node::device_receive(const Packet &packet)
{
    std::unique_ptr<Buffer> buffer(new Buffer());
    uint16_t ah;

    if (posted == 0) {
        return false;
    }
    --posted;
    min_posted    = std::min(min_posted, posted);
    ah            = m_ahs.count(packet.from_qpn) ?
                            (uint16_t)(packet.from_qpn & 0x7fff) :
                            (uint16_t)FLOW_AH_UNKNOWN;
    buffer->bytes = packet.bytes;
    buffer->src   = flow_src(ah, packet.from_qpn);
    m_received.push_back(std::move(buffer));
    wake(sim.random.below(2 * US));
    return true;
}

void Node::device_complete(const Packet &packet, flow_send_status_t status)
{
    m_done.push_back({packet, status});
    wake(sim.random.below(2 * US));
}

void Node::wake(Time delay)
{
    Time when = std::max(sim.now + delay + sim.plan.poll_every, asleep_until);

    if (when < m_next_poll) {
        m_next_poll = when;
        sim.at(when, [this, when]() {
            if (alive && (m_next_poll == when)) {
                m_next_poll = UINT64_MAX;
                poll();
            }
        });
    }
}

void Node::deliver(const Bytes &bytes)
{
    unsigned hdr = flow_wire_hdr_len(bytes.data());
    uint64_t incarnation;
    uint32_t ep, seq;

    if (bytes.size() < hdr + 16) {
        sim.fail("node %u got a message that nobody sent", slot);
        return;
    }
    memcpy(&incarnation, &bytes[hdr], 8);
    memcpy(&ep, &bytes[hdr + 8], 4);
    memcpy(&seq, &bytes[hdr + 12], 4);
    auto flow = sim.oracle.find({incarnation, ep});
    if (flow == sim.oracle.end()) {
        sim.fail("node %u got a message of no flow", slot);
        return;
    }
    if (seq != flow->second.got) {
        sim.fail("node %u: flow %lx/%u: message %u arrived, %u expected", slot,
                 (unsigned long)incarnation, ep, seq, flow->second.got);
    }
    if (m_dead.count(incarnation)) {
        sim.fail("node %u: a dead incarnation delivered message %u", slot, seq);
    }
    if (Bytes(bytes.begin() + hdr, bytes.end()) !=
        message_make(incarnation, ep, seq)) {
        sim.fail("node %u: message %u of flow %u is damaged", slot, seq, ep);
    }
    ++flow->second.got;
    ++sim.delivered;
    sim.mix(incarnation ^ ((uint64_t)ep << 32) ^ seq);

    /* A callback may do anything: now and then it opens or closes. */
    if (sim.plan.churn && sim.faults() && sim.random.chance(0.01) &&
        !m_endpoints.empty()) {
        Endpoint &victim = *m_endpoints[sim.random.below(m_endpoints.size())];
        if (!victim.closed && (victim.sent == victim.to_send)) {
            close(victim);
            reopen(victim);
        }
    }
}

void Node::drain(uint32_t token)
{
    void *handle;

    while ((handle = flow_rx_next(core, token)) != nullptr) {
        auto held = m_held.find(handle);
        if (held == m_held.end()) {
            sim.fail("node %u: the core returned a buffer twice", slot);
            return;
        }
        Bytes bytes = held->second->bytes;
        unhold(held);
        deliver(bytes);
    }
}

/* A held packet is done with: repost unless that was done before. */
void Node::unhold(std::map<void*, std::unique_ptr<Buffer>>::iterator held)
{
    posted += held->second->copied ? 0 : 1;
    m_held.erase(held);
}

void Node::poll_receives()
{
    flow_rx_verdict_t verdict;
    flow_rx_out_t out;

    for (int i = 0; (i < FLOW_RX_BATCH) && !m_received.empty(); ++i) {
        std::unique_ptr<Buffer> buffer = std::move(m_received.front());
        m_received.pop_front();
        for (;;) {
            verdict = flow_rx_accept(core, buffer->bytes.data(),
                                     buffer->bytes.size(), buffer.get(),
                                     buffer->src, sim.now, &out);
            if (verdict != FLOW_RX_NO_MEMORY) {
                break;
            }
            grow();
        }
        if (verdict == FLOW_RX_HOLD) {
            void *handle   = buffer.get();
            buffer->copied = posted <= sim.plan.reserve; /* rx.h says why */
            posted        += buffer->copied ? 1 : 0;
            m_held[handle] = std::move(buffer);
            continue;
        }
        if (verdict == FLOW_RX_DELIVER) {
            deliver(buffer->bytes);
        }
        ++posted;
        if (out.more) {
            drain(out.token);
        }
    }
}

void Node::finish_op(Op *op, bool ok)
{
    Endpoint *ep = op->ep;

    if (m_ops.erase(op->id) != 1) {
        sim.fail("node %u: an operation completed twice", slot);
    }
    if (!ok) {
        sim.oracle[{addr.incarnation, ep->number}].failed = true;
    }
    flow_tx_done(core, ep->tx, op->op.psn);
    --ep->outstanding;
    delete op;
}

void Node::poll_sends()
{
    for (int i = 0; (i < 16) && !m_done.empty(); ++i) {
        Done done = m_done.front();
        m_done.pop_front();
        --m_in_flight;
        if (done.packet.ctl) {
            flow_ctl_done(core, done.packet.cookie, done.status, sim.now);
            continue;
        }
        auto found = m_ops.find(done.packet.op_id);
        if (found == m_ops.end()) {
            sim.fail("node %u: completion of no operation", slot);
            continue;
        }
        Op *op = found->second;
        switch (done.status) {
        case FLOW_SEND_OK:
            finish_op(op, true);
            break;
        case FLOW_SEND_RNR:
            ++sim.rnr;
            flow_tx_rnr(core, &op->op, sim.now);
            break;
        default:
            flow_tx_fail(core, op->ep->tx, done.status == FLOW_SEND_DEAD);
            finish_op(op, false);
        }
    }
}

void Node::run_timers()
{
    flow_op_t *op;
    int failed;

    if (sim.now < flow_timer_next(core)) {
        /* reposts may still wait for a send slot */
    }
    while ((m_in_flight < sim.plan.sq_depth) &&
           ((op = flow_tx_repost_next(core, sim.now, &failed)) != nullptr)) {
        if (failed) {
            finish_op((Op*)op, false);
        } else if (sim.random.chance(0.05)) {
            flow_tx_repost_put(core, op); /* as if the queue were full */
            wake(US);
            break;
        } else {
            post((Op*)op);
        }
    }
}

void Node::close(Endpoint &ep)
{
    ep.closed = true;
    flow_tx_close(core, ep.tx);
}

void Node::reopen(const Endpoint &ep)
{
    unsigned peer = ep.peer_slot;

    if (sim.faults() && (m_opened < 400) && sim.node(peer)->alive) {
        open(peer, (unsigned)sim.random.below(sim.plan.messages));
    }
}

void Node::run_events()
{
    flow_event_t event;
    Endpoint *ep;

    while (flow_event_pending(core) && flow_event_next(core, &event)) {
        ep = (Endpoint*)event.cookie;
        switch (event.type) {
        case FLOW_EVENT_PEER_INTRODUCED:
        case FLOW_EVENT_PEER_WANTS_RMA: {
            uint32_t qpn = flow_peer_addr(core, event.peer).qpn;
            m_ahs.insert(qpn);
            flow_peer_set_ah(core, event.peer, qpn & 0x7fff,
                             FLOW_PEER_PINNED);
            break;
        }
        case FLOW_EVENT_TX_FAILED:
            ep->failed = true;
            sim.oracle[{addr.incarnation, ep->number}].failed = true;
            if (event.dead) {
                m_dead.insert(ep->peer.incarnation);
            }
            if (sim.node(ep->peer_slot)->addr.incarnation ==
                        ep->peer.incarnation &&
                sim.node(ep->peer_slot)->alive && sim.plan.linkdown == 0) {
                sim.fail("node %u: flow %u to a living peer failed", slot,
                         ep->number);
            }
            close(*ep);
            break;
        case FLOW_EVENT_TX_GONE:
            if (ep->gone || !ep->closed || (ep->outstanding != 0)) {
                sim.fail("node %u: flow %u gone in a wrong state", slot,
                         ep->number);
            }
            ep->gone = true;
            ep->tx   = nullptr;
            break;
        case FLOW_EVENT_RX_RELEASE:
            if (!m_held.count(event.handle)) {
                sim.fail("node %u: release of no buffer", slot);
                break;
            }
            unhold(m_held.find(event.handle));
            break;
        default:
            break;
        }
    }
}

void Node::run_control()
{
    flow_ctl_t ctl;
    Packet packet;

    while ((m_in_flight < sim.plan.sq_depth + 8) && flow_ctl_pending(core) &&
           flow_ctl_next(core, sim.now, &ctl)) {
        if (sim.random.chance(0.02)) {
            flow_ctl_unsent(core, ctl.cookie);
            wake(US);
            break;
        }
        flow_addr_t peer = flow_peer_addr(core, ctl.peer);
        packet.bytes.assign(ctl.data, ctl.data + ctl.len);
        packet.from_slot = slot;
        packet.from_qpn  = addr.qpn;
        packet.from_life = addr.incarnation;
        packet.to_slot   = (unsigned)(peer.gid[14] << 8) | peer.gid[15];
        packet.to_qpn    = peer.qpn;
        packet.to_qkey   = peer.qkey;
        packet.to_life   = peer.incarnation;
        packet.ctl       = true;
        packet.cookie    = ctl.cookie;
        packet.op        = nullptr;
        packet.op_id     = 0;
        ++m_in_flight;
        sim.transmit(packet);
    }
}

void Node::post(Op *op)
{
    ++m_in_flight;
    sim.transmit(op->packet);
}

bool Node::send_one(Endpoint &ep)
{
    Packet packet;
    unsigned len;
    Bytes text;
    Op *op;

    if (ep.closed || (ep.sent == ep.to_send) ||
        (m_in_flight >= sim.plan.sq_depth) || !flow_tx_ready(core, ep.tx)) {
        return false;
    }

    text = message_make(addr.incarnation, ep.number, ep.sent);
    packet.bytes.resize(flow_tx_header_len(ep.tx));
    len = flow_tx_header(core, ep.tx, ep.sent % FLOW_AM_ID_MAX,
                         packet.bytes.data());
    packet.bytes.resize(len);
    packet.bytes.insert(packet.bytes.end(), text.begin(), text.end());
    packet.from_slot = slot;
    packet.from_qpn  = addr.qpn;
    packet.from_life = addr.incarnation;
    packet.to_slot   = ep.peer_slot;
    packet.to_qpn    = ep.peer.qpn;
    packet.to_qkey   = ep.peer.qkey;
    packet.to_life   = ep.peer.incarnation;
    packet.ctl       = false;
    packet.cookie    = 0;
    op               = new Op();
    op->ep           = &ep;
    op->id           = ++m_op_last;
    packet.op        = op;
    packet.op_id     = op->id;
    op->packet       = packet;
    op->op.tx        = ep.tx;
    op->op.psn       = flow_tx_commit(ep.tx);
    m_ops[op->id]    = op;
    ++ep.outstanding;
    ++ep.sent;
    ++sim.oracle[{addr.incarnation, ep.number}].sent;
    post(op);
    return true;
}

void Node::run_application()
{
    size_t count = m_endpoints.size();
    bool busy    = true;

    for (size_t first = sim.random.below(count + 1); busy;) {
        busy = false;
        for (size_t i = 0; i < count; ++i) {
            busy |= send_one(*m_endpoints[(first + i) % count]);
        }
        if (sim.random.chance(0.2)) {
            break;
        }
    }
    if (busy) {
        wake(US);
    }
    for (size_t i = 0; sim.plan.churn && (i < count); ++i) {
        Endpoint &ep = *m_endpoints[i];
        if (!ep.closed && (ep.sent == ep.to_send) && sim.random.chance(0.3)) {
            close(ep);
            reopen(ep);
        }
    }
}

void Node::poll()
{
    const char *error;

    grow();
    poll_receives();
    poll_sends();
    run_timers();
    run_events();
    run_application();
    run_control();
    run_events();
    if (sim.random.chance(counters().rx_flows > 100 ? 0.0005 : 0.02)) {
        error = flow_core_check(core);
        if (error != nullptr) {
            sim.fail("node %u: invariant %s", slot, error);
        }
    }
    if (!m_received.empty() || !m_done.empty() || flow_ctl_pending(core) ||
        flow_event_pending(core)) {
        wake(US / 2);
    } else if (flow_timer_next(core) != FLOW_TIME_NEVER) {
        wake(flow_timer_next(core) > sim.now ?
                     flow_timer_next(core) - sim.now : 0);
    }
}

void Node::close_all()
{
    for (auto &ep : m_endpoints) {
        if (!ep->closed) {
            close(*ep);
        }
    }
    wake(0);
}

} /* namespace sim */
