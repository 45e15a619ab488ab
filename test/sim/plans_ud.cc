/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plans for UD: what SRD does not do to us, everybody else does. Faults
 * last longer than on SRD, for time-outs begin at 2 ms.
 */
#include "plan.h"

namespace sim {

static Plan base(const char *name)
{
    Plan plan;

    plan.name       = name;
    plan.profile    = FLOW_UD;
    plan.late       = 0.2;
    plan.clog       = 0.001;
    plan.noise      = 0.01;
    plan.loss       = 0.05;
    plan.dup        = 0.05;
    plan.corrupt    = 0.01;
    plan.faults_end = 50 * MS;
    plan.deadline   = 200 * SEC;
    return plan;
}

static void traffic(std::vector<Plan> &all)
{
    Plan plan = base("ud_stream");

    plan.nodes      = 2;
    plan.all_to_all = false;
    plan.messages   = 3000;
    all.push_back(plan);

    plan            = base("ud_oneway");
    plan.nodes      = 2;
    plan.all_to_all = false;
    plan.both_ways  = false;
    plan.messages   = 2000;
    all.push_back(plan);

    plan            = base("ud_storm"); /* as bad as promised */
    plan.nodes      = 2;
    plan.all_to_all = false;
    plan.messages   = 600;
    plan.loss       = 0.3;
    plan.dup        = 0.3;
    plan.corrupt    = 0.05;
    plan.late       = 0.3;
    plan.late_by    = 5 * MS;
    plan.faults_end = 300 * MS;
    all.push_back(plan);

    plan           = base("ud_alltoall");
    plan.nodes     = 6;
    plan.endpoints = 2;
    plan.messages  = 80;
    all.push_back(plan);

    plan           = base("ud_simultaneous");
    plan.nodes     = 2;
    plan.endpoints = 4;
    plan.messages  = 150;
    plan.jitter    = 200 * US;
    all.push_back(plan);

    plan            = base("ud_hello"); /* hellos and answers lost or late */
    plan.nodes      = 4;
    plan.endpoints  = 3;
    plan.messages   = 40;
    plan.hello_late = 5 * MS;
    plan.loss       = 0.3;
    all.push_back(plan);

    plan          = base("ud_churn");
    plan.nodes    = 4;
    plan.churn    = true;
    plan.messages = 30;
    all.push_back(plan);
}

static void receivers(std::vector<Plan> &all)
{
    Plan plan = base("ud_slow");

    plan.nodes      = 4;
    plan.incast     = true;
    plan.poll_every = 100 * US;
    plan.messages   = 300;
    all.push_back(plan);

    plan            = base("ud_sleeper");
    plan.nodes      = 2;
    plan.all_to_all = false;
    plan.sleepers   = 1;
    plan.buffers    = 256;
    plan.messages   = 500;
    all.push_back(plan);

    plan           = base("ud_scarce");
    plan.nodes     = 8;
    plan.incast    = true;
    plan.endpoints = 8;
    plan.buffers   = 48;
    plan.reserve   = 16;
    plan.messages  = 40;
    all.push_back(plan);
}

static void accidents(std::vector<Plan> &all)
{
    Plan plan = base("ud_partition");

    plan.nodes     = 4;
    plan.messages  = 200;
    plan.partition = 30 * MS;
    all.push_back(plan);

    plan            = base("ud_clog");
    plan.nodes      = 4;
    plan.messages   = 200;
    plan.clog       = 0.02;
    plan.clog_for   = 20 * MS;
    all.push_back(plan);

    plan            = base("ud_linkdown"); /* 30 s, then stale packets */
    plan.nodes      = 2;
    plan.all_to_all = false;
    plan.linkdown   = 30 * SEC;
    plan.tries      = 100;
    plan.messages   = 500;
    all.push_back(plan);

    plan.name        = "ud_linkdown_dead"; /* they gave up meanwhile */
    plan.tries       = 10;
    plan.living_fail = true;
    all.push_back(plan);

    plan          = base("ud_dead");
    plan.nodes    = 6;
    plan.kills    = 2;
    plan.messages = 150;
    all.push_back(plan);

    plan          = base("ud_reuse");
    plan.nodes    = 5;
    plan.kills    = 2;
    plan.rebirth  = true;
    plan.messages = 100;
    all.push_back(plan);

    plan           = base("ud_replay");
    plan.nodes     = 5;
    plan.kills     = 3;
    plan.rebirth   = true;
    plan.same_qkey = true;
    plan.churn     = true;
    plan.messages  = 50;
    plan.replay    = 0.1;
    all.push_back(plan);

    plan           = base("ud_chaos");
    plan.nodes     = 5;
    plan.endpoints = 2;
    plan.messages  = 80;
    plan.chaos     = 0.1;
    plan.rma_peers = 2;
    plan.buffers   = 128;
    plan.reserve   = 16;
    all.push_back(plan);
}

static void reconnect(std::vector<Plan> &all)
{
    Plan plan = base("ud_reconnect_30000");

    plan.nodes      = 2;
    plan.endpoints  = 8;
    plan.messages   = 4;
    plan.churn      = true;
    plan.flat       = true;
    plan.reopens    = 60000; /* half of them take longer than one rests */
    plan.faults_end = 50 * MS;
    plan.deadline   = 10000 * SEC;
    all.push_back(plan);
}

void plans_ud(std::vector<Plan> &all)
{
    traffic(all);
    receivers(all);
    accidents(all);
    reconnect(all);
}

} /* namespace sim */
