/* SPDX-License-Identifier: BSD-3-Clause */
/* A host: its core, a program that sends all the time or takes what comes. */
#include "link.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unordered_map>

namespace link_sim {

struct Op {
    flow_op_t op; /* first: the core hands it back                            */
    PacketRef packet;
};

class Host;

struct World {
    explicit World(const Plan &plan) : network(plan, plan.senders + 1) {}
    Network                            network;
    std::vector<std::unique_ptr<Host>> hosts;
};

class Host : public flow_test::Driver {
public:
    Host(World &world, unsigned number);

    /* Send to that host, from now on. */
    void start(unsigned to);
    void arrive(const PacketRef &packet);
    void poll(Time when);
    void wake(Time delay);

    uint64_t              posts = 0;
    std::vector<uint64_t> got; /* messages from each host                     */

protected:
    void on_deliver(const Bytes &packet) override;
    void on_event(const flow_event_t &event) override;
    uint16_t ah_of(const flow_addr_t &peer) override;
    bool on_control(const flow_ctl_t &ctl) override;
    bool on_repost(flow_op_t *op, bool failed) override;
    void on_release(flow_op_t *op, bool failed) override;
    void on_broken(const char *what) override;

private:
    struct Done {
        Op      *op;
        uint64_t cookie;
    };
    void post(const PacketRef &packet, Op *op, uint64_t cookie);
    void send_all();
    void send_to(flow_tx_t *tx, unsigned to);
    PacketRef packet_of(const Bytes &bytes, unsigned to, bool data);

    World                           &m_world;
    unsigned                         m_number;
    Time                             m_busy = 0, m_next = UINT64_MAX;
    Time                             m_look; /* between two looks            */
    Time                             m_offset; /* of its clock               */
    std::vector<flow_tx_t*>          m_tx; /* by receiver                    */
    bool                             m_ready = false, m_more = false;
    std::deque<PacketRef>            m_received;
    std::deque<Done>                 m_done;
    std::vector<std::unique_ptr<Op>> m_ops;
    std::vector<Op*>                 m_free;
};

static flow_params_t params_of(World &world, unsigned number)
{
    flow_params_t params;

    flow_params_default_ud(&params);
    params.self.gid[0]      = 0xfe;
    params.self.gid[15]     = (uint8_t)number;
    params.self.qpn         = number + 1;
    params.self.qkey        = 1;
    params.self.incarnation = number + 1;
    params.rx_posted        = 100000;
    params.seed             = world.network.random.next();
    return params;
}

Host::Host(World &world, unsigned number) :
    Driver(params_of(world, number)), got(world.network.plan.senders + 1, 0),
    m_world(world), m_number(number),
    m_look((number == 0) ? world.network.plan.poll : world.network.plan.look),
    m_offset(world.network.random.next() >> 20),
    m_tx(world.network.plan.senders + 1, nullptr)
{
}

void Host::on_broken(const char *what)
{
    printf("host %u: %s\n", m_number, what);
    exit(1);
}

PacketRef Host::packet_of(const Bytes &bytes, unsigned to, bool data)
{
    auto packet = std::make_shared<Packet>();

    packet->bytes = bytes;
    packet->from  = m_number;
    packet->to    = to;
    packet->data  = data;
    packet->wire  = HEADERS + (unsigned)bytes.size() +
                   (data ? m_world.network.plan.size : 0);
    return packet;
}

/* The device is done with it when it has left; whether it arrives, nobody
 * knows. */
void Host::post(const PacketRef &packet, Op *op, uint64_t cookie)
{
    m_busy += PACKET_COST;
    posts  += packet->data;
    m_world.network.send(packet, m_busy, [this](const PacketRef &came) {
        m_world.hosts[came->to]->arrive(came);
    });
    m_world.network.at(m_busy, [this, op, cookie]() {
        m_done.push_back({op, cookie});
        wake(POLL_DELAY);
    });
}

void Host::start(unsigned to)
{
    now      = m_world.network.now + m_offset;
    m_tx[to] = open(m_world.hosts[to]->addr, this);
    if (m_tx[to] == nullptr) {
        on_broken("no endpoint");
    }
    m_ready = true;
    wake(m_look);
}

void Host::send_all()
{
    m_ready = false;
    for (unsigned to = 0; to < m_tx.size(); ++to) {
        if (m_tx[to] != nullptr) {
            send_to(m_tx[to], to);
        }
    }
}

void Host::send_to(flow_tx_t *tx, unsigned to)
{
    while (flow_tx_ready(core, tx)) {
        if (m_free.empty()) {
            m_ops.emplace_back(new Op());
            m_free.push_back(m_ops.back().get());
        }
        Op *op = m_free.back();
        m_free.pop_back();
        Bytes bytes(flow_tx_header_len(tx) + 4);
        flow_tx_header(core, tx, 3, bytes.data());
        memcpy(&bytes[bytes.size() - 4], &m_number, 4);
        op->packet = packet_of(bytes, to, true);
        flow_resend_commit(core, tx, &op->op);
        post(op->packet, op, 0);
    }
}

void Host::on_deliver(const Bytes &packet)
{
    uint32_t from;

    memcpy(&from, &packet[packet.size() - 4], 4);
    ++got[from];
}

void Host::wake(Time delay)
{
    Time when = std::max(m_world.network.now + delay, m_busy);

    if ((m_look > POLL_DELAY) && !m_more) { /* it looks at these moments alone */
        when = (when + m_look - 1) / m_look * m_look + m_number;
    }
    if (when < m_next) {
        m_next = when;
        m_world.network.at(when, [this, when]() { poll(when); });
    }
}

void Host::arrive(const PacketRef &packet)
{
    m_received.push_back(packet);
    wake(POLL_DELAY);
}

bool Host::on_control(const flow_ctl_t &ctl)
{
    unsigned to = flow_peer_addr(core, ctl.peer).qpn - 1;

    post(packet_of(Bytes(ctl.data, ctl.data + ctl.len), to, false), nullptr,
         ctl.cookie);
    return true;
}

bool Host::on_repost(flow_op_t *flow_op, bool)
{
    Op *op      = (Op*)flow_op;
    Bytes bytes = op->packet->bytes;

    flow_resend_header(core, flow_op, bytes.data());
    op->packet = packet_of(bytes, op->packet->to, true);
    post(op->packet, op, 0);
    return true;
}

void Host::on_release(flow_op_t *op, bool failed)
{
    if (failed) {
        on_broken("a message failed");
    }
    m_free.push_back((Op*)op);
}

uint16_t Host::ah_of(const flow_addr_t &peer)
{
    return (uint16_t)(peer.qpn - 1);
}

void Host::on_event(const flow_event_t &event)
{
    if (event.type == FLOW_EVENT_TX_READY) {
        m_ready = true;
    } else if (event.type == FLOW_EVENT_TX_FAILED) {
        on_broken("a flow failed");
    }
}

void Host::poll(Time when)
{
    flow_time_t timer;

    if (m_next != when) {
        return;
    }
    m_next = UINT64_MAX;
    now    = m_world.network.now + m_offset;
    m_busy = m_world.network.now;
    flow_timer_set_now(core, now);
    grow();
    for (int i = 0; (i < BATCH) && !m_received.empty(); ++i) {
        PacketRef packet = m_received.front();
        m_received.pop_front();
        m_busy += PACKET_COST;
        receive(packet->bytes,
                flow_src((uint16_t)packet->from, packet->from + 1));
    }
    for (int i = 0; (i < BATCH) && !m_done.empty(); ++i) {
        Done done = m_done.front();
        m_done.pop_front();
        if (done.op != nullptr) {
            flow_resend_sent(core, &done.op->op, 0);
        } else {
            flow_ctl_done(core, done.cookie, FLOW_SEND_OK, now);
        }
    }
    m_more = !m_received.empty();
    flow_timer_run(core, now);
    pull_reposts();
    pull_releases();
    pull_events();
    if (m_ready) {
        send_all();
    }
    pull_control();
    pull_events();
    timer = flow_timer_next(core);
    if (!m_received.empty() || !m_done.empty() || m_ready ||
        flow_ctl_pending(core) || flow_event_pending(core)) {
        wake(POLL_DELAY);
    } else if (timer != FLOW_TIME_NEVER) {
        wake((timer > now) ? timer - now : (Time)POLL_DELAY);
    }
}

Result run_core(const Plan &plan)
{
    World world(plan);
    Result result = {};
    std::vector<uint64_t> before, back_before(plan.senders + 1, 0);
    uint64_t posts = 0, sum = 0, back = 0;
    double squares = 0;

    for (unsigned i = 0; i <= plan.senders; ++i) {
        world.hosts.emplace_back(new Host(world, i));
    }
    for (unsigned i = 1; i <= plan.senders; ++i) {
        Host *host     = world.hosts[i].get();
        Host *receiver = world.hosts[0].get();
        world.network.at(1000 + (i - 1) * (plan.stagger + 100),
                         [host, receiver, i, plan]() {
            host->start(0);
            if (plan.both) {
                receiver->start(i);
            }
        });
    }
    world.network.run(plan.warm);
    world.network.queue_sum   = 0;
    world.network.queue_count = 0;
    before = world.hosts[0]->got;
    for (unsigned i = 1; i <= plan.senders; ++i) {
        back_before[i] = world.hosts[i]->got[0];
    }
    for (auto &host : world.hosts) {
        posts -= host->posts;
        result.repeats -= host->counters().timeouts +
                          host->counters().fast_resends;
    }
    world.network.run(plan.warm + plan.counted);
    for (auto &host : world.hosts) {
        posts += host->posts;
        result.repeats += host->counters().timeouts +
                          host->counters().fast_resends;
    }
    for (unsigned i = 1; i <= plan.senders; ++i) {
        uint64_t got = world.hosts[0]->got[i] - before[i];
        sum     += got;
        back    += world.hosts[i]->got[0] - back_before[i];
        squares += (double)got * (double)got;
    }
    result.rate  = (double)sum * 1e9 / (double)plan.counted;
    result.used  = result.rate * (plan.size + HEADERS + 8) * 8 / 1e9 /
                   (plan.gbits > 0 ? plan.gbits : plan.nic);
    result.back  = (double)back * 1e9 / (double)plan.counted;
    result.posts = (double)posts / (double)std::max<uint64_t>(sum + back, 1);
    result.jain  = (double)sum * (double)sum /
                   (plan.senders * std::max(squares, 1.0));
    result.queue = world.network.queue_sum /
                   (double)std::max<uint64_t>(world.network.queue_count, 1);
    return result;
}

} /* namespace link_sim */
