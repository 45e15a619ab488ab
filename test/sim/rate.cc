/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flow_rate [--full] [TABLE...]: what idle and silent peers cost the busy ones,
 * and what it costs when all wake together. A line for each case; FAIL and exit
 * status 1 where a bound is exceeded. --full: with 10,000 peers, too.
 */
#include "rate.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

using namespace rate;

static bool full, failed;

/* Print a value beside its bound. */
static void within(const char *what, double value, double least, double most)
{
    bool good = (value >= least) && (value <= most);

    printf("  %-38s %8.3f  ", what, value);
    if (least > 0) {
        printf(">= %.2f ", least);
    }
    if (most < 1e9) {
        printf("<= %.2f", most);
    }
    printf("%s\n", good ? "" : "  FAIL");
    failed = failed || !good;
}

static void stuck(const char *what)
{
    printf("  %s: not done in time  FAIL\n", what);
    failed = true;
}

/* All from `first` on send host 0 64 messages each, one after the other. */
static void warm_up(World &world, unsigned first, unsigned last)
{
    uint64_t want = world.got + 64ull * (last - first);

    for (unsigned i = first; i < last; ++i) {
        world.host(i).add(0, 64);
        world.run(world.now + 2 * US);
    }
    world.run_until_got(want, 10000 * MS);
    if (world.got != want) {
        stuck("warming up");
    }
    world.run(world.now + 5 * MS);
}

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

/* What the queue had when it grew with the number of peers. */
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
        within("packets per message one way", now.packets, 0, 1.1);
        within("packets per message both ways", now.packets_both, 0, 1.02);
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

/* 32: more than a flow that sent 64 may have left, if nothing is recalled. */
static void incast(unsigned peers, unsigned messages)
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
    printf("%u:1 incast of %u messages each, after silence: %.2f ms\n", peers,
           messages, (double)took / 1e6);
    within("receiver-not-ready for each sender",
           (double)(world.rnr() - before) / peers, 0, 1.0);
}

static void table_incast()
{
    for (unsigned messages : {4u, 32u}) {
        incast(1000, messages);
        if (full) {
            incast(10000, messages);
        }
    }
}

/* Ten phases; the longest, and with ample buffers the first. */
static double phases(unsigned ranks, bool mesh, unsigned count, unsigned ample)
{
    World world(ranks, ample, 4);
    double longest = 0;

    for (unsigned phase = 0; phase < count; ++phase) {
        uint64_t want = world.got + (mesh ? (uint64_t)ranks : 1) *
                                            (ranks - 1);
        uint64_t before = world.rnr();
        Time start = world.now;
        for (unsigned from = 0; from < ranks; ++from) {
            for (unsigned i = 1; i < ranks; ++i) {
                unsigned to = (from + i) % ranks;
                if (mesh || (to == 0)) {
                    world.host(from).add(to, 1);
                }
            }
            if (phase == 0) { /* programs do not begin at the same instant */
                world.run(start + (from + 1) * 100 * US / ranks);
            }
        }
        world.run_until_got(want, 1000 * MS);
        Time took = world.now - start;
        if (world.got < want) {
            stuck("a phase");
            return 1e9;
        }
        if (!ample) {
            printf("    phase %u: %.0f us, %.2f receiver-not-ready each\n",
                   phase, (double)took / 1e3,
                   (double)(world.rnr() - before) / ranks /
                           (mesh ? ranks - 1 : 1));
        }
        longest = std::max(longest, (double)took);
        if (ample) {
            break;
        }
        world.run(world.now + 5 * MS);
    }
    return longest;
}

static void table_phases()
{
    unsigned mesh = full ? 300 : 100;
    double first;

    first = phases(1000, false, 1, 100000);
    printf("one of 1,000 ranks, all-to-all in ten phases; first phase with "
           "ample buffers %.0f us\n", first / 1e3);
    within("longest phase, of that",
           phases(1000, false, 10, 0) / first, 0, 1.2);
    first = phases(mesh, true, 1, 100000);
    printf("all-to-all of %u ranks in ten phases; first phase with ample "
           "buffers %.0f us\n", mesh, first / 1e3);
    within("longest phase, of that", phases(mesh, true, 10, 0) / first, 0,
           1.2);
}

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
        tables = {"idle", "silent", "shares", "incast", "phases"};
    }
    for (const std::string &table : tables) {
        if ((table == "idle") || (table == "silent")) {
            table_hot(table == "silent");
        } else if (table == "shares") {
            table_shares();
        } else if (table == "incast") {
            table_incast();
        } else if (table == "phases") {
            table_phases();
        } else {
            puts("usage: flow_rate [--full] "
                 "[idle|silent|shares|incast|phases ...]");
            return 2;
        }
    }
    return failed;
}
