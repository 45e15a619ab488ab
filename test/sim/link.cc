/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flow_link: UD on a link that fills and loses (P20): tables, each line with its
 * bounds; FAIL and exit status 1 where one is exceeded.
 */
#include "link.h"

#include <cstdio>

using namespace link_sim;

static bool failed;

static void line(const char *what, const Plan &plan, const Result &got,
                 bool good)
{
    char buffer[32] = "deep";

    if (plan.buffer < 100000000) {
        snprintf(buffer, sizeof(buffer), "%.1f MB",
                 (double)plan.buffer / 1e6);
    }
    printf("  %-8s %2u senders, %6.2f ms, loss %4.1f %%, buffer %s: used %.3f "
           "posts %.3f shares %.3f", what, plan.senders, (double)plan.rtt / MS,
           plan.loss * 100, buffer, got.used, got.posts, got.jain);
    if (plan.both) {
        printf(" back %.2f", got.back / got.rate);
    }
    printf("%s\n", good ? "" : "  FAIL");
    failed = failed || !good;
}

/* The mean of so many seeds. */
static Result run_seeds(Plan plan, unsigned seeds)
{
    Result sum = {};

    for (plan.seed = 1; plan.seed <= seeds; ++plan.seed) {
        Result got = run_core(plan);
        sum.used  += got.used / seeds;
        sum.posts += got.posts / seeds;
        sum.jain  += got.jain / seeds;
        sum.rate  += got.rate / seeds;
    }
    return sum;
}

/* A port that all fill. */
static void port(Plan plan)
{
    Result got = run_seeds(plan, (plan.senders == 64) ? 4 : 1);

    line("port", plan, got,
         (got.used >= 0.9) && (got.posts <= 1.15) && (got.jain >= 0.95));
}

/* Traffic both ways: acknowledgements stand behind data. */
static void both(Plan plan, double least)
{
    Result got   = run_core(plan);
    double ratio = got.back / got.rate;

    line("both", plan, got,
         (got.used >= least) && (got.posts <= 1.15) && (got.jain >= 0.9) &&
                 (ratio >= 0.8) && (ratio <= 2.5));
}

/* Loss without a queue: the link is the sender's own. */
static void loss(Plan plan, double least)
{
    Result got = run_core(plan);

    line("loss", plan, got, got.used >= least);
}

/* Nothing is lost, so nothing need be sent again. */
static void quiet(Plan plan)
{
    Result got = run_core(plan);

    line("no loss", plan, got,
         (got.rate > 0) && ((double)got.repeats * 100 <=
                            got.rate * (double)plan.counted / 1e9));
}

static void ports()
{
    Plan plan;
    /* what nine tenths of a window fill */
    const Time longest = (Time)(0.9 * FLOW_WINDOW_MAX * plan.size * 8 /
                                plan.gbits);

    for (uint64_t buffer : {200000ull, 1000000ull, 1000000000ull}) {
        for (unsigned senders : {1u, 2u, 8u, 16u, 32u, 64u}) {
            plan.senders = senders;
            plan.buffer  = buffer;
            plan.warm    = ((senders == 64) || (buffer > 200000)) ? 100 * MS :
                                                                    20 * MS;
            port(plan);
        }
    }
    plan      = Plan();
    plan.warm = 100 * MS; /* four drains, by which the way is known           */
    for (Time rtt : {80 * US, 100 * US, 150 * US, longest}) {
        plan.rtt = rtt;
        port(plan);
    }
    plan.rtt    = 100 * US;
    plan.jitter = 10 * US; /* what is late is not lost */
    port(plan);
    plan.jitter  = 0;
    plan.senders = 16;
    port(plan);
    plan         = Plan();
    plan.warm    = 100 * MS;
    plan.senders = 64;
    plan.stagger = 100 * US;
    port(plan);
    plan.senders = 4;
    plan.stagger = 3 * MS;
    port(plan);
}

static void boths()
{
    Plan plan;

    plan.both = 1;
    plan.warm = 100 * MS;
    for (unsigned senders : {1u, 4u, 16u}) {
        plan.senders = senders;
        both(plan, 0.9);
    }
    plan.loss    = 0.0001;
    plan.senders = 1;
    both(plan, 0.9);
    plan.loss    = 0;
    plan.senders = 8;
    plan.nic     = 10; /* the receiver's own link is what fills */
    both(plan, 0.8);
}

/* Four fifths, of many losses half, of what a selective repeat would use that is
 * told at once what was lost: of a host's link, and of a port of 10 Gb/s, which is
 * never full. Then longer ways. */
static void losses()
{
    static const struct {
        double loss, of_link, of_port;
    } rows[] = {{0.001, 0.801, 0.801}, {0.01, 0.793, 0.793},
                {0.03, 0.479, 0.485}, {0.1, 0.407, 0.449}};
    static const struct {
        Time   rtt;
        double least;
    } ways[] = {{80 * US, 0.437}, {150 * US, 0.236}, {400 * US, 0.09}};
    Plan plan;

    for (auto &row : rows) {
        plan      = Plan();
        plan.loss = row.loss;
        loss(plan, row.of_port);
        plan.gbits = 0;
        loss(plan, row.of_link);
    }
    plan.loss    = 0.001;
    plan.warm    = 100 * MS;
    plan.counted = 200 * MS;
    for (auto &way : ways) {
        plan.rtt = way.rtt;
        loss(plan, way.least);
    }
}

static void trips()
{
    for (Time rtt : {50 * US, 500 * US, 5 * MS, 100 * MS}) {
        Plan plan;
        plan.gbits   = 0;
        plan.rtt     = rtt;
        plan.warm    = 0; /* the first packets, too */
        plan.counted = 100 * MS + 20 * rtt;
        quiet(plan);
        plan.jitter  = rtt / 10;
        quiet(plan);
    }
}

int main()
{
    setvbuf(stdout, nullptr, _IOLBF, 0);
    ports();
    boths();
    losses();
    trips();
    return failed ? 1 : 0;
}
