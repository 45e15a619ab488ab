/* SPDX-License-Identifier: BSD-3-Clause */
#include "timed.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace timed {

uint64_t Random::next()
{
    uint64_t z = (m_state += 0x9e3779b97f4a7c15ull);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

static flow_params_t params_of(World &world, unsigned number,
                               flow_profile_t profile, unsigned posted)
{
    flow_params_t params;

    if (profile == FLOW_UD) {
        flow_params_default_ud(&params);
    } else {
        flow_params_default(&params);
        params.rx_reserve = RX_RESERVE;
        params.rnr_min    = RNR_MIN;
        params.rnr_max    = RNR_MAX;
    }
    params.self.gid[0]      = 0xfe;
    params.self.gid[13]     = (uint8_t)(number >> 16);
    params.self.gid[14]     = (uint8_t)(number >> 8);
    params.self.gid[15]     = (uint8_t)number;
    params.self.qpn         = number + 1;
    params.self.qkey        = 1;
    params.self.incarnation = number + 1;
    params.rx_posted        = posted;
    params.seed             = world.random.next();
    return params;
}

Host::Host(World &world, unsigned number, flow_profile_t profile,
           unsigned ample) :
    Driver(params_of(world, number, profile,
                     ample ? ample : (unsigned)RX_QUEUE_LEN)),
    buffers(ample ? ample : (unsigned)RX_QUEUE_LEN), m_world(world),
    m_number(number), m_ample(ample), m_base(buffers), m_posted(buffers)
{
    if (ud()) {
        m_offset = world.random.next() >> 20;
    }
}

void Host::on_broken(const char *what)
{
    printf("host %u: %s\n", m_number, what);
    exit(1);
}

/* ---- the program */

void Host::add(unsigned to, uint64_t messages)
{
    std::unique_ptr<Endpoint> &ep = m_endpoints[to];

    now = m_world.now + m_offset;
    if (ep == nullptr) {
        ep.reset(new Endpoint());
        ep->to = to;
        ep->tx = open(m_world.host(to).addr, ep.get());
        if (ep->tx == nullptr) {
            on_broken("no endpoint");
        }
    }
    ep->left += messages;
    if (!ep->waiting) {
        ep->waiting = true;
        m_ready.push_back(ep.get());
    }
    wake(POLL_DELAY);
}

void Host::send_all(Endpoint *ep)
{
    ep->waiting = false;
    while (ep->left != 0) {
        if (!flow_tx_ready(core, ep->tx)) {
            ep->waiting = true;
            return;
        }
        Bytes bytes(flow_tx_header_len(ep->tx) + 4);
        flow_tx_header(core, ep->tx, 3, bytes.data());
        memcpy(&bytes[bytes.size() - 4], &m_number, 4);
        if (m_free.empty()) {
            m_ops.emplace_back(new Op());
            m_free.push_back(m_ops.back().get());
        }
        Op *op = m_free.back();
        m_free.pop_back();
        if (ud()) {
            flow_resend_commit(core, ep->tx, &op->op);
        } else {
            op->op.tx  = ep->tx;
            op->op.psn = flow_tx_commit(ep->tx);
        }
        --ep->left;
        post(bytes, ep->to, op, 0);
    }
}

void Host::on_deliver(const Bytes &packet)
{
    uint32_t from;

    memcpy(&from, &packet[packet.size() - 4], 4);
    ++m_got[from];
    ++got;
    ++m_world.got;
    if (echo && (from < 2)) {
        add(from, 1);
    }
}

uint64_t Host::got_from(unsigned host) const
{
    auto found = m_got.find(host);

    return (found == m_got.end()) ? 0 : found->second;
}

/* ---- the transport */

void Host::wake(Time delay)
{
    Time when = std::max(m_world.now + delay, m_busy);

    if (when < m_next) {
        m_next = when;
        m_world.at(when, [this, when]() { poll(when); });
    }
}

void Host::post(const Bytes &bytes, unsigned to, Op *op, uint64_t cookie)
{
    auto packet = std::make_shared<Packet>();

    packet->bytes  = bytes;
    packet->from   = m_number;
    packet->to     = to;
    packet->ctl    = op == nullptr;
    packet->cookie = packet->ctl ? cookie : (uint64_t)(uintptr_t)op;
    if (op != nullptr) {
        op->packet = packet;
        ++posts;
    }
    m_busy += PACKET_COST;
    m_world.transmit(packet, m_busy);
}

/* As base_core_events.c does. */
void Host::resize(bool scarce)
{
    unsigned owed   = (unsigned)std::max(counters().owed,
                                         3 * counters().tx_flows);
    unsigned before = buffers;

    if (m_ample != 0) {
        return;
    }
    if (scarce && (m_base < RX_BUFFERS_MAX / 2)) {
        m_base *= 2;
    }
    buffers   = std::max(buffers, m_base);
    buffers   = std::max(buffers,
                         std::min(owed + RX_RESERVE,
                                  (unsigned)RX_BUFFERS_MAX - 2 * BATCH));
    m_posted += buffers - before;
    flow_core_rx_posted(core, m_base);
}

bool Host::device_receive(const PacketRef &packet)
{
    if (m_posted == 0) {
        return false;
    }
    --m_posted;
    m_received.push_back(packet);
    wake(POLL_DELAY);
    return true;
}

void Host::device_complete(const PacketRef &packet, flow_send_status_t status)
{
    m_done.push_back({packet, status});
    wake(POLL_DELAY);
}

void Host::poll_receives()
{
    for (int i = 0; (i < BATCH) && !m_received.empty(); ++i) {
        PacketRef packet = m_received.front();
        m_received.pop_front();
        m_busy += PACKET_COST;
        if (receive(packet->bytes, flow_src((uint16_t)(packet->from & 0x7fff),
                                            packet->from + 1)) !=
            FLOW_RX_HOLD) {
            ++m_posted;
        }
    }
    m_more = !m_received.empty();
}

/* As the transport before timers run: base_core_events.c. */
void Host::look_for_end()
{
    unsigned left = std::min(buffers / 8 / BATCH, 16u);

    while (m_more && (left-- > 0)) {
        poll_receives();
    }
    if (!ud()) {
        flow_core_rx_backlog(core, m_more);
    }
}

bool Host::on_hold()
{
    bool copied = m_posted <= RX_RESERVE; /* rx.h says why */

    m_posted += copied;
    return copied;
}

void Host::on_unhold(bool copied)
{
    m_posted += !copied;
}

void Host::poll_sends()
{
    for (int i = 0; (i < BATCH) && !m_done.empty(); ++i) {
        Done done = m_done.front();
        m_done.pop_front();
        Op *op = (Op*)(uintptr_t)done.packet->cookie;
        if (done.packet->ctl) {
            flow_ctl_done(core, done.packet->cookie, done.status, now);
        } else if (ud()) {
            flow_resend_sent(core, &op->op, 0);
        } else if (done.status == FLOW_SEND_RNR) {
            ++refused;
            flow_tx_rnr(core, &op->op, now);
        } else {
            flow_tx_done(core, op->op.tx, op->op.psn);
            m_free.push_back(op);
        }
    }
}

bool Host::on_repost(flow_op_t *flow_op, bool failed)
{
    Op *op      = (Op*)flow_op;
    Bytes bytes = op->packet->bytes;

    if (ud()) {
        flow_resend_header(core, flow_op, bytes.data());
    } else if (failed) {
        on_broken("a flow failed");
    }
    post(bytes, op->packet->to, op, 0);
    return true;
}

void Host::on_release(flow_op_t *op, bool failed)
{
    if (failed) {
        on_broken("a message failed");
    }
    m_free.push_back((Op*)op);
}

bool Host::on_control(const flow_ctl_t &ctl)
{
    post(Bytes(ctl.data, ctl.data + ctl.len),
         flow_peer_addr(core, ctl.peer).qpn - 1, nullptr, ctl.cookie);
    return true;
}

uint16_t Host::ah_of(const flow_addr_t &peer)
{
    return (uint16_t)((peer.qpn - 1) & 0x7fff);
}

void Host::on_event(const flow_event_t &event)
{
    switch (event.type) {
    case FLOW_EVENT_TX_READY:
        m_ready.push_back((Endpoint*)event.cookie);
        break;
    case FLOW_EVENT_RX_SCARCE:
    case FLOW_EVENT_PEER_INTRODUCED:
        resize(event.type == FLOW_EVENT_RX_SCARCE);
        break;
    case FLOW_EVENT_TX_FAILED:
        on_broken("a flow failed");
        break;
    default:
        break;
    }
}

void Host::poll(Time when)
{
    flow_time_t timer;
    size_t ready;

    if (m_next != when) {
        return;
    }
    m_next = UINT64_MAX;
    now    = m_world.now + m_offset;
    if (m_asleep > now) {
        return;
    }
    m_busy = m_world.now;
    flow_timer_set_now(core, now);
    grow();
    poll_receives();
    poll_sends();
    if (now >= flow_timer_next(core)) {
        look_for_end();
        flow_timer_run(core, now);
    }
    pull_reposts();
    pull_releases();
    pull_events();
    for (ready = m_ready.size(); ready != 0; --ready) {
        Endpoint *ep = m_ready.front();
        m_ready.pop_front();
        send_all(ep);
    }
    pull_control();
    pull_events();
    timer = flow_timer_next(core);
    if (!m_received.empty() || !m_done.empty() || !m_ready.empty() ||
        flow_ctl_pending(core) || flow_event_pending(core)) {
        wake(POLL_DELAY);
    } else if (timer != FLOW_TIME_NEVER) {
        wake((timer > now) ? timer - now : (Time)POLL_DELAY);
    }
}

/* ---- time */

World::World(unsigned hosts, flow_profile_t profile, unsigned ample,
             uint64_t seed) : random(seed)
{
    for (unsigned number = 0; number < hosts; ++number) {
        m_hosts.emplace_back(new Host(*this, number, profile, ample));
    }
}

void World::at(Time when, std::function<void()> what)
{
    m_events.push({when, ++m_order, std::move(what)});
}

void World::next()
{
    Event event = std::move(const_cast<Event&>(m_events.top()));

    m_events.pop();
    now = event.when;
    event.what();
}

Time World::run_until_got(uint64_t messages, Time limit)
{
    Time start = now;

    while (!m_events.empty() && (got < messages) && (now < start + limit)) {
        next();
    }
    return now - start;
}

void World::run(Time until)
{
    while (!m_events.empty() && (m_events.top().when <= until)) {
        next();
    }
    now = until;
}

} /* namespace timed */
