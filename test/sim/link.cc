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
                 double ratio, bool good)
{
    char buffer[32] = "deep";

    if (plan.buffer < 100000000) {
        snprintf(buffer, sizeof(buffer), "%.1f MB",
                 (double)plan.buffer / 1e6);
    }
    printf("  %-8s %2u senders, %6.2f ms, loss %4.1f %%, buffer %s: used %.3f "
           "posts %.3f shares %.3f of ideal %.2f", what, plan.senders,
           (double)plan.rtt / MS, plan.loss * 100, buffer, got.used, got.posts,
           got.jain, ratio);
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

    line("port", plan, got, got.rate / run_ideal(plan).rate,
         (got.used >= 0.9) && (got.posts <= 1.15) && (got.jain >= 0.95));
}

/* Traffic both ways: acknowledgements stand behind data. */
static void both(Plan plan, double least)
{
    Result got   = run_core(plan);
    double ratio = got.back / got.rate;

    line("both", plan, got, got.rate / run_ideal(plan).rate,
         (got.used >= least) && (got.posts <= 1.15) && (got.jain >= 0.9) &&
                 (ratio >= 0.8) && (ratio <= 2.5));
}

/* Loss without a queue: the link is the sender's own. */
static void loss(Plan plan, double least)
{
    Result got   = run_core(plan);
    double ratio = got.rate / run_ideal(plan).rate;

    line("loss", plan, got, ratio, ratio >= least);
}

/* Nothing is lost, so nothing need be sent again. */
static void quiet(Plan plan)
{
    Result got = run_core(plan);

    line("no loss", plan, got, got.rate / run_ideal(plan).rate,
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

static void losses()
{
    static const struct {
        double loss, least;
    } rows[] = {{0.001, 0.8}, {0.01, 0.8}, {0.03, 0.5}, {0.1, 0.5}};
    Plan plan;

    for (auto &row : rows) {
        plan       = Plan();
        plan.gbits = 0;
        plan.loss  = row.loss;
        loss(plan, row.least);
        plan      = Plan(); /* a port of 10 Gb/s that is never full */
        plan.loss = row.loss;
        loss(plan, row.least);
    }
    for (Time rtt : {80 * US, 150 * US, 400 * US}) { /* no queue, one loss   */
        plan         = Plan();
        plan.gbits   = 0;
        plan.rtt     = rtt;
        plan.loss    = 0.001;
        plan.warm    = 100 * MS;
        plan.counted = 200 * MS;
        loss(plan, 0.8);
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
