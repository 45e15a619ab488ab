/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables of flow_rate: peers that send a little, and often enough not to be
 * silent. Their cost for a hot flow, and the number of control packets that
 * they need. Host 0 receives, host 1 is hot, the others trickle.
 */
#include "rate_report.h"

#include <algorithm>

namespace rate {

enum { AMPLE = 1000000 };

/* A program's acts: at its time, a host sends one message to host 0. */
class Schedule {
public:
    Schedule(World &world) : m_world(world), m_control(world.control) {}

    void send(Time when, unsigned from)
    {
        m_world.run(when);
        m_world.host(from).add(0, 1);
        ++messages;
    }
    /* Control packets for each message since the beginning. */
    double controls() const
    {
        return (double)(m_world.control - m_control) / (double)messages;
    }

    uint64_t messages = 0;

private:
    World   &m_world;
    uint64_t m_control;
};

struct Trickle {
    double rate;     /* of the hot flow, messages a second                    */
    double controls; /* control packets for each message of the others        */
    double refused;  /* receiver-not-ready for each                           */
    double late;     /* messages that were not delivered                      */
};

/* Each of them sends one message a period, at its own moment of it. */
static Trickle trickle(unsigned peers, Time period, unsigned ample)
{
    World world(peers + 2, ample, 5);
    std::vector<std::pair<Time, unsigned>> order;
    Trickle result;

    for (unsigned i = 0; i < peers; ++i) {
        order.push_back({world.random.next() % period, i + 2});
    }
    std::sort(order.begin(), order.end());
    warm_up(world, 2, peers + 2);
    for (unsigned i = 2; i < peers + 2; ++i) {
        world.host(i).add(0, world.random.next() % FLOW_WINDOW_MAX);
        world.run(world.now + 2 * US);
    }
    world.host(1).add(0, 1u << 30);
    unsigned rounds = std::max(10u, (unsigned)(60 * MS / period));
    auto play = [&](Schedule &schedule, Time start) {
        for (unsigned round = 0; round < rounds; ++round) {
            for (auto &next : order) {
                schedule.send(start + round * period + next.first,
                              next.second);
            }
        }
        world.run(start + rounds * period);
    };
    Schedule before(world);
    play(before, world.now);

    Schedule schedule(world);
    Time start         = world.now;
    uint64_t hot       = world.host(0).got_from(1);
    uint64_t others    = world.got - hot;
    uint64_t refused   = world.rnr();
    play(schedule, start);
    uint64_t got    = world.host(0).got_from(1);
    result.rate     = 1e9 * (double)(got - hot) / (double)(world.now - start);
    result.controls = schedule.controls();
    result.refused  = (double)(world.rnr() - refused) /
                      (double)schedule.messages;
    result.late     = 1 - (double)(world.got - got - others) /
                                  (double)schedule.messages;
    return result;
}

/* 10,000 that send more often than every 2 ms are more than host 0 can take. */
void table_trickle()
{
    static const Time periods[] = {400 * US, MS, 2 * MS, 4 * MS, 10 * MS,
                                   20 * MS, 50 * MS};

    for (unsigned peers : {100u, 1000u, 10000u}) {
        for (Time period : periods) {
            if (((peers > 1000) && (!full || (period < 2 * MS))) ||
                ((period > 20 * MS) && !full)) {
                continue;
            }
            Trickle ample = trickle(peers, period, AMPLE);
            Trickle now   = trickle(peers, period, 0);
            printf("a hot flow beside %u that send a message every %.1f ms "
                   "(%.2f M/s with ample buffers)\n", peers,
                   (double)period / 1e6, ample.rate / 1e6);
            /* it takes these 0.1 s to get there from silence */
            bool most = (peers == 10000) && (period == 2 * MS);
            within("rate, of that", now.rate / ample.rate, most ? 0.85 : 0.9,
                   1e9);
            within("control packets a message", now.controls, 0,
                   most ? 0.16 : 0.125);
            within("receiver-not-ready a message", now.refused, 0, 0.01);
            within("not delivered", now.late, -1, 0.01);
        }
    }
}

/* One message of each flow, one flow after the other. */
static void turns(unsigned peers, Time gap)
{
    World world(peers + 2, 0, 6);
    uint64_t want;

    warm_up(world, 2, peers + 2);
    Schedule before(world);
    for (uint64_t i = 0; i < 10 * peers; ++i) {
        before.send(world.now + gap, 2 + i % peers);
    }
    Schedule schedule(world);
    want = world.got + 10 * peers;
    for (uint64_t i = 0; i < 10 * peers; ++i) {
        schedule.send(world.now + gap, 2 + i % peers);
    }
    printf("%u flows in turn, a message every %.1f us\n", peers,
           (double)gap / 1e3);
    within("control packets a message", schedule.controls(), 0, 0.125);
    world.run_until_got(want, 100 * MS);
    if (world.got < want) {
        stuck("flows in turn");
    }
}

/* Some messages are on the way at a time, the next one always of the next
 * flow: no flood, though the receiver always has many unread. */
static void turns_out(unsigned peers, unsigned out)
{
    World world(peers + 2, 0, 9);
    uint64_t sent = 0, start;

    warm_up(world, 2, peers + 2);
    world.run(world.now + 5 * MS);
    start     = world.got;
    auto play = [&](Schedule &schedule) {
        for (unsigned i = 0; i < 100 * peers; ++i) {
            if (sent >= out) {
                world.run_until_got(start + sent + 1 - out, 100 * MS);
            }
            schedule.send(world.now, 2 + (unsigned)(sent++ % peers));
        }
    };
    Schedule before(world);
    play(before);
    Schedule schedule(world);
    play(schedule);
    printf("%u flows in turn, %u messages out\n", peers, out);
    within("control packets a message", schedule.controls(), 0, 0.1);
    world.run_until_got(start + sent, 100 * MS);
    if (world.got < start + sent) {
        stuck("flows in turn");
    }
}

void table_turns()
{
    for (Time gap : {US, 10 * US}) {
        turns(1000, gap);
        turns(4000, gap);
    }
    turns_out(300, 300);
}

/* Some messages at a time go to a host at random and come back. */
static void pingpong(unsigned peers, unsigned balls)
{
    enum { ROUNDS = 20000 };
    World world(peers + 2, 0, 7);
    uint64_t control, refused, want, missing;

    warm_up(world, 2, peers + 2);
    for (unsigned i = 2; i < peers + 2; ++i) {
        world.host(i).echo = true;
        world.host(0).add(i, 1);
        world.run(world.now + 2 * US);
    }
    world.run(world.now + 5 * MS);
    auto play = [&]() {
        uint64_t thrown = 0, back = world.host(0).got;
        uint64_t base = back;
        want = world.got + 2 * ROUNDS;
        while (back < base + ROUNDS) {
            while ((thrown < ROUNDS) && (thrown < back - base + balls)) {
                world.host(0).add(2 + (unsigned)(world.random.next() % peers), 1);
                ++thrown;
            }
            Time at = world.now;
            world.run_until_got(world.got + 1, 100 * MS);
            if (world.now >= at + 100 * MS) {
                stuck("ping-pong");
                return;
            }
            back = world.host(0).got;
        }
    };
    play();
    control = world.control;
    refused = world.rnr();
    play();
    missing = want - world.got;
    printf("ping-pong with %u at random, %u at a time\n", peers, balls);
    within("control packets a message",
           (double)(world.control - control) / (2 * ROUNDS), 0, 0.125);
    within("receiver-not-ready a message",
           (double)(world.rnr() - refused) / (2 * ROUNDS), 0, 0.01);
    within("not delivered", (double)missing, -1, 0);
}

void table_pingpong()
{
    for (unsigned balls : {1u, 64u}) {
        pingpong(100, balls);
        pingpong(1000, balls);
        if (full) {
            pingpong(10000, balls);
        }
    }
}

/* One half of the peers sends a message each, then the other one. */
static void halves(unsigned peers, Time gap)
{
    enum { PHASES = 20 };
    World world(peers + 2, 0, 8);
    uint64_t refused, want;

    warm_up(world, 2, peers + 2);
    auto play = [&](Schedule &schedule) {
        for (unsigned phase = 0; phase < PHASES; ++phase) {
            Time start = world.now;
            for (unsigned i = phase % 2; i < peers; i += 2) {
                schedule.send(start, i + 2);
            }
            world.run(start + gap);
        }
    };
    Schedule before(world);
    play(before);
    Schedule schedule(world);
    refused = world.rnr();
    want    = world.got + PHASES / 2 * peers;
    play(schedule);
    printf("halves of %u in turn, every %.1f ms\n", peers, (double)gap / 1e6);
    within("control packets a message", schedule.controls(), 0, 0.125);
    within("receiver-not-ready a message",
           (double)(world.rnr() - refused) / (double)schedule.messages, 0,
           0.01);
    world.run_until_got(want, 100 * MS);
    if (world.got < want) {
        stuck("halves");
    }
}

void table_halves()
{
    for (Time gap : {200 * US, MS, 5 * MS}) {
        halves(1000, gap);
    }
}

} /* namespace rate */
