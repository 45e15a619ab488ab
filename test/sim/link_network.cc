/* SPDX-License-Identifier: BSD-3-Clause */
#include "link.h"

#include <algorithm>

namespace link_sim {

using timed::Host;

/* Host 0 is the receiver. */
class World : public timed::World {
public:
    explicit World(const Plan &plan);
    void transmit(const timed::PacketRef &packet, Time when) override;
    void start();
    /* Adds posts and repeats of all hosts, and what was got from each. */
    void count(Result *sums, std::vector<double> *got, double *back);

private:
    const Plan        m_plan;
    std::vector<Time> m_out, m_port; /* busy until                            */
};

World::World(const Plan &plan) :
    timed::World(plan.senders + 1, FLOW_UD, 100000, plan.seed), m_plan(plan),
    m_out(plan.senders + 1, 0), m_port(plan.senders + 1, 0)
{
}

/* ns that so many bytes take. */
static Time takes(unsigned bytes, double gbits)
{
    return (gbits > 0) ? (Time)(bytes * 8.0 / gbits) : 0;
}

/* The device is done with it when it has left; whether it arrives, nobody
 * knows. */
void World::transmit(const timed::PacketRef &packet, Time when)
{
    unsigned wire = HEADERS + (unsigned)packet->bytes.size() +
                    (packet->ctl ? 0 : m_plan.size);
    Time &out  = m_out[packet->from];
    Time &port = m_port[packet->to];
    bool lost  = random.chance(m_plan.loss);
    Time left;

    out  = std::max(out, when) + takes(wire, m_plan.nic);
    left = (port > out) ? port - out : 0; /* until the port is idle */
    lost = lost || ((m_plan.gbits > 0) &&
                    ((double)left * m_plan.gbits / 8 + wire >
                     (double)m_plan.buffer));
    if (!lost) {
        port = std::max(port, out) + takes(wire, m_plan.gbits);
        at(port + m_plan.rtt / 2 +
                   (m_plan.jitter ? random.next() % m_plan.jitter : 0),
           [this, packet]() { host(packet->to).device_receive(packet); });
    }
    at(when, [this, packet]() {
        host(packet->from).device_complete(packet, FLOW_SEND_OK);
    });
}

void World::start()
{
    for (unsigned i = 1; i <= m_plan.senders; ++i) {
        at(1000 + (i - 1) * (m_plan.stagger + 100), [this, i]() {
            host(i).add(0, UINT64_MAX);
            if (m_plan.both) {
                host(0).add(i, UINT64_MAX);
            }
        });
    }
}

void World::count(Result *sums, std::vector<double> *got, double *back)
{
    for (unsigned i = 0; i <= m_plan.senders; ++i) {
        sums->posts   += (double)host(i).posts;
        sums->repeats += host(i).counters().timeouts +
                         host(i).counters().fast_resends;
        got->push_back((double)host(0).got_from(i));
        *back         += (double)host(i).got_from(0);
    }
}

Result run_core(const Plan &plan)
{
    World world(plan);
    Result result = {}, before = {};
    std::vector<double> got, got_before;
    double sum = 0, back = 0, back_before = 0, squares = 0;

    world.start();
    world.run(plan.warm);
    world.count(&before, &got_before, &back_before);
    world.run(plan.warm + plan.counted);
    world.count(&result, &got, &back);
    for (unsigned i = 1; i <= plan.senders; ++i) {
        double more = got[i] - got_before[i];
        sum     += more;
        squares += more * more;
    }
    back           -= back_before;
    result.repeats -= before.repeats;
    result.rate     = sum * 1e9 / (double)plan.counted;
    result.used     = result.rate * (plan.size + HEADERS + 8) * 8 / 1e9 /
                      (plan.gbits > 0 ? plan.gbits : plan.nic);
    result.back     = back * 1e9 / (double)plan.counted;
    result.posts    = (result.posts - before.posts) / std::max(sum + back, 1.0);
    result.jain     = sum * sum / (plan.senders * std::max(squares, 1.0));
    return result;
}

} /* namespace link_sim */
