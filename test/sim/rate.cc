/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flow_rate [--full] [TABLE...]: what idle and silent peers cost the busy ones,
 * and what it costs when all wake together. A line for each case; FAIL and exit
 * status 1 where a bound is exceeded. --full: with 10,000 peers, too.
 */
#include "rate_report.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

using namespace rate;

/* They send as much as they may, and then do not look any more. */
static void fall_silent(World &world, unsigned first, unsigned last)
{
    Time start = world.now;

    for (unsigned i = first; i < last; ++i) {
        world.host(i).add(0, 100000);
    }
    for (unsigned i = first; i < last; ++i) {
        world.run(start + (i - first) * 2000 * US / (last - first));
        world.host(i).sleep_until(UINT64_MAX / 2);
    }
    world.run(world.now + 5 * MS);
}

struct Hot {
    double one_way, both_ways; /* messages a second                           */
    double half;               /* round trip, ns                              */
    double packets, packets_both;
    unsigned buffers;          /* of the receiver                             */
};

enum { STREAM = 20000, PINGS = 1000 };

static double stream(World &world, bool both, double *packets)
{
    uint64_t want = world.got + STREAM * (both ? 2 : 1);
    uint64_t sent = world.packets;
    Time took;

    world.host(1).add(0, STREAM);
    if (both) {
        world.host(0).add(1, STREAM);
    }
    took = world.run_until_got(want, 2000 * MS);
    if (world.got < want) {
        stuck("a hot pair");
        return 0;
    }
    *packets = (double)(world.packets - sent) / (both ? 2 * STREAM : STREAM);
    world.run(world.now + MS);
    return 1e9 * STREAM / (double)took;
}

static Hot hot(unsigned idle, bool askers)
{
    World world(idle + 2, 0, 1);
    Hot result = {};
    Time took;

    warm_up(world, 2, idle + 2);
    if (askers) {
        fall_silent(world, 2, 2 + idle / 2);
    }
    result.one_way   = stream(world, false, &result.packets);
    result.both_ways = stream(world, true, &result.packets_both);
    world.host(0).echo = world.host(1).echo = true;
    world.host(1).add(0, 1);
    took        = world.run_until_got(world.got + PINGS, 1000 * MS);
    result.half    = (double)took / PINGS;
    result.buffers = world.host(0).buffers;
    return result;
}

/* Buffers of the queue when it grew with the number of peers. */
static unsigned buffers_before(unsigned peers)
{
    return (peers <= 16) ? 256 : (peers < 1000) ? 2048 : 4064;
}

static void table_hot(bool askers)
{
    const Hot alone = hot(0, false);

    printf("hot pair alone: %.3f M/s one way, %.3f M/s each way, half round "
           "trip %.2f us\n", alone.one_way / 1e6, alone.both_ways / 1e6,
           alone.half / 1e3);
    for (unsigned idle : {1u, 100u, 1000u, 10000u}) {
        if ((idle > 1000) && !full) {
            continue;
        }
        if ((idle == 1) && askers) {
            continue;
        }
        Hot now = hot(idle, askers);
        printf("hot pair beside %u idle peers%s\n", idle,
               askers ? ", half of them blocked or with credits, and silent" :
                        "");
        within("rate one way, of alone", now.one_way / alone.one_way, 0.9,
               1e9);
        within("rate both ways, of alone", now.both_ways / alone.both_ways,
               0.9, 1e9);
        within("half round trip, of alone", now.half / alone.half, 0, 1.05);
        within("packets per message one way", now.packets, 0,
               1 + 4.0 / FLOW_WINDOW_MAX);
        within("packets per message both ways", now.packets_both, 0,
               1 + 1.25 / FLOW_WINDOW_MAX);
        within("receive buffers", now.buffers, 0, buffers_before(idle));
    }
}

static void table_shares()
{
    enum { ACTIVE = 64, PEERS = 1000 };
    World world(PEERS + 1, 0, 2);
    std::vector<uint64_t> before;
    double least = 1e9, most = 0, mean;
    uint64_t sum = 0;

    warm_up(world, 1, PEERS + 1);
    for (unsigned i = 1; i <= ACTIVE; ++i) {
        world.host(i).add(0, 1000000);
    }
    world.run(world.now + 2 * MS);
    for (unsigned i = 1; i <= ACTIVE; ++i) {
        before.push_back(world.host(0).got_from(i));
    }
    world.run(world.now + 10 * MS);
    for (unsigned i = 1; i <= ACTIVE; ++i) {
        sum += world.host(0).got_from(i) - before[i - 1];
    }
    mean = (double)sum / ACTIVE;
    for (unsigned i = 1; i <= ACTIVE; ++i) {
        double part = (double)(world.host(0).got_from(i) - before[i - 1]) /
                      mean;
        least = std::min(least, part);
        most  = std::max(most, part);
    }
    printf("%d active senders of %d: %.2f M/s together\n", (int)ACTIVE,
           (int)PEERS, (double)sum / 1e4);
    within("least of its share", least, 0.8, 1e9);
    within("most of its share", most, 0, 1.2);
}

/* Half a window: more than a flow that sent a whole one may have left, if nothing
 * is recalled. */
static void incast(unsigned peers, unsigned messages, double most)
{
    World world(peers + 1, 0, 3);
    uint64_t before, want;

    warm_up(world, 1, peers + 1);
    before = world.rnr();
    want   = world.got + (uint64_t)messages * peers;
    for (unsigned i = 1; i <= peers; ++i) {
        world.host(i).add(0, messages);
    }
    Time took = world.run_until_got(want, 1000 * MS);
    if (world.got < want) {
        stuck("an incast");
    }
    printf("%u:1 incast of %u messages each, after silence\n", peers,
           messages);
    within("time, ms", (double)took / 1e6, 0, most);
    within("receiver-not-ready for each sender",
           (double)(world.rnr() - before) / peers, 0, 1.0);
}

static void table_incast()
{
    incast(1000, 4, 1.2);
    incast(1000, FLOW_WINDOW_MAX / 2, 4.5);
    if (full) {
        incast(10000, 4, 12);
        incast(10000, FLOW_WINDOW_MAX / 2, 55);
    }
}

struct Table {
    const char *name;
    void (*run)();
};

static const Table all[] = {
    {"idle", [] { table_hot(false); }}, {"silent", [] { table_hot(true); }},
    {"shares", table_shares},           {"incast", table_incast},
    {"phases", table_phases},           {"fresh", table_fresh},
    {"trickle", table_trickle},         {"turns", table_turns},
    {"pingpong", table_pingpong},       {"halves", table_halves}
};

int main(int argc, char **argv)
{
    std::vector<std::string> tables;

    setvbuf(stdout, nullptr, _IOLBF, 0);
    for (int i = 1; i < argc; ++i) {
        if (strcmp(argv[i], "--full") == 0) {
            full = true;
        } else {
            tables.push_back(argv[i]);
        }
    }
    if (tables.empty()) {
        for (const auto &table : all) {
            tables.push_back(table.name);
        }
    }
    for (const std::string &name : tables) {
        auto table = std::find_if(std::begin(all), std::end(all),
                                  [&](const Table &t) {
                                      return name == t.name;
                                  });
        if (table == std::end(all)) {
            fputs("usage: flow_rate [--full] [", stdout);
            for (const auto &t : all) {
                printf("%s%s", (&t == all) ? "" : "|", t.name);
            }
            puts(" ...]");
            return 2;
        }
        table->run();
    }
    return failed;
}
