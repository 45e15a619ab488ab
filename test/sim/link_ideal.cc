/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A selective repeat that nobody can build: it learns what became of each
 * packet one round trip after it left, and sends a lost one again at once. The
 * window is FLOW_WINDOW_MAX numbers: it moves when the oldest has arrived.
 * Several senders have the port in turn, so its buffer never overflows.
 */
#include "link.h"

#include <algorithm>

namespace link_sim {

/* Packets that one sender delivers until then; serve: ns of the port for a
 * packet of each sender. */
static uint64_t ideal_sender(const Plan &plan, timed::Random &random,
                             Time serve, uint64_t *sent, Time until)
{
    Time rtt = plan.rtt + serve;
    std::deque<Time> window; /* of each number out: when its ack comes        */
    Time next = 0;           /* when the port takes another                   */
    uint64_t done = 0;

    for (;;) {
        Time start = next;
        if (window.size() == FLOW_WINDOW_MAX) {
            start = std::max(start, window.front());
            window.pop_front();
        }
        if (start >= until) {
            break;
        }
        next = start + serve;
        Time ack = start + rtt;
        ++*sent;
        while (random.chance(plan.loss)) {
            ack  += rtt;
            next += serve; /* its repeat takes the port's time, too */
            ++*sent;
        }
        window.push_back(window.empty() ? ack : std::max(ack, window.back()));
        ++done;
    }
    return done;
}

Result run_ideal(const Plan &plan)
{
    timed::Random random(plan.seed);
    Result result = {};
    double wire   = plan.gbits > 0 ? plan.gbits : plan.nic;
    Time serve    = (Time)((plan.size + HEADERS) * 8.0 / wire * plan.senders);
    uint64_t sent = 0, done = 0;

    for (unsigned i = 0; i < plan.senders; ++i) {
        done += ideal_sender(plan, random, serve, &sent, plan.counted);
    }
    result.rate  = (double)done * 1e9 / (double)plan.counted;
    result.used  = (double)done * (double)serve / plan.senders /
                   (double)plan.counted;
    result.posts = (double)sent / (double)done;
    result.jain  = 1;
    return result;
}

} /* namespace link_sim */
