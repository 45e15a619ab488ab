/* SPDX-License-Identifier: BSD-3-Clause */
/* The common part of plans for SRD and for UD: who talks to whom, and the
 * events of their lives. The plan says how long and how bad these are. */
#include "plan.h"

#include <cstdlib>

namespace sim {

static void pair(Plan &plan)
{
    plan.nodes      = 2;
    plan.all_to_all = false;
}

static void oneway(Plan &plan)
{
    pair(plan);
    plan.both_ways = false;
}

static void alltoall(Plan &plan) /* with itself, too */
{
    plan.nodes     = 6;
    plan.endpoints = 2;
}

static void simultaneous(Plan &plan)
{
    plan.nodes     = 2;
    plan.endpoints = 4;
    plan.jitter    = 200 * US;
}

static void hello(Plan &plan) /* hellos late, lost to reordering */
{
    plan.nodes      = 4;
    plan.endpoints  = 3;
    plan.hello_late = 3 * MS;
}

static void churn(Plan &plan)
{
    plan.nodes = 4;
    plan.churn = true;
}

static void slow(Plan &plan)
{
    plan.nodes      = 4;
    plan.incast     = true;
    plan.poll_every = 100 * US;
}

static void sleeper(Plan &plan) /* a receiver that never polls */
{
    pair(plan);
    plan.sleepers = 1;
    plan.buffers  = 256;
}

static void scarce(Plan &plan) /* far more flows than buffers */
{
    plan.nodes     = 8;
    plan.incast    = true;
    plan.endpoints = 8;
    plan.buffers   = 48;
    plan.reserve   = 16;
}

static void dead(Plan &plan)
{
    plan.nodes = 6;
    plan.kills = 2;
}

static void reuse(Plan &plan) /* the QPN comes back, the QKEY does not */
{
    plan.nodes   = 5;
    plan.kills   = 2;
    plan.rebirth = true;
}

static void replay(Plan &plan) /* packets of dead incarnations */
{
    plan.nodes     = 5;
    plan.kills     = 3;
    plan.rebirth   = true;
    plan.same_qkey = true;
    plan.churn     = true;
    plan.replay    = 0.1;
}

static void linkdown(Plan &plan) /* cut for 30 s, then stale packets */
{
    pair(plan);
    plan.linkdown = 30 * SEC;
}

static void chaos(Plan &plan)
{
    plan.nodes     = 5;
    plan.endpoints = 2;
    plan.chaos     = 0.1;
    plan.rma_peers = 2;
    plan.buffers   = 128;
    plan.reserve   = 16;
}

static void reconnect(Plan &plan) /* flows one after the other (P5) */
{
    plan.nodes     = 2;
    plan.endpoints = 8;
    plan.churn     = true;
    plan.flat      = true;
    plan.deadline  = 10000 * SEC;
}

static const struct {
    const char *name;
    void (*set)(Plan &plan);
} shapes[] = {
    {"stream", pair},       {"oneway", oneway},
    {"alltoall", alltoall}, {"simultaneous", simultaneous},
    {"hello", hello},       {"churn", churn},
    {"slow", slow},         {"sleeper", sleeper},
    {"scarce", scarce},     {"dead", dead},
    {"reuse", reuse},       {"replay", replay},
    {"linkdown", linkdown}, {"chaos", chaos},
    {"reconnect", reconnect}
};

Plan shape(const Plan &base, const std::string &name, unsigned messages)
{
    Plan plan = base;

    plan.name     = base.name + name;
    plan.messages = messages;
    for (const auto &known : shapes) {
        if (name == known.name) {
            known.set(plan);
            return plan;
        }
    }
    abort();
}

} /* namespace sim */
