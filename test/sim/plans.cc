/* SPDX-License-Identifier: BSD-3-Clause */
/* The plans: one for each accident this field knows. */
#include "plan.h"

namespace sim {

/* All shapes on SRD. */
static Plan srd(const std::string &name = "")
{
    Plan plan;

    plan.name  = name;
    plan.late  = 0.2;
    plan.clog  = 0.001;
    plan.noise = 0.01;
    return plan;
}

static void traffic(std::vector<Plan> &all)
{
    all.push_back(shape(srd(), "stream", 3000));
    all.push_back(shape(srd(), "oneway", 3000));
    all.push_back(shape(srd(), "alltoall", 100));

    Plan plan = shape(srd(), "simultaneous", 200);
    plan.rma  = 0.3;
    all.push_back(plan);

    plan     = shape(srd(), "hello", 60);
    plan.rma = 0.3;
    all.push_back(plan);

    all.push_back(shape(srd(), "churn", 40));
}

static void receivers(std::vector<Plan> &all)
{
    Plan plan     = shape(srd(), "slow", 300);
    plan.deadline = 60 * SEC;
    all.push_back(plan);

    plan        = shape(srd(), "sleeper", 1000);
    plan.noise  = 0;
    plan.no_rnr = true;
    all.push_back(plan);

    plan           = srd("sleeper_many");
    plan.nodes     = 8;
    plan.incast    = true;
    plan.sleepers  = 1;
    plan.buffers   = 64;
    plan.reserve   = 16;
    plan.messages  = 200;
    all.push_back(plan);

    plan          = shape(srd(), "scarce", 60);
    plan.nodes    = 12;
    plan.deadline = 60 * SEC;
    all.push_back(plan);
}

static void deaths(std::vector<Plan> &all)
{
    Plan plan = shape(srd(), "dead", 200);
    plan.rma  = 0.3;
    all.push_back(plan);

    plan = shape(srd(), "reuse", 150);
    all.push_back(plan);

    plan.name      = "reuse_qkey"; /* nor does the device help */
    plan.same_qkey = true;
    plan.late_by   = 5 * MS;
    all.push_back(plan);

    plan          = shape(srd(), "linkdown", 500);
    plan.deadline = 100 * SEC;
    all.push_back(plan);
}

/* Further acts of users and devices. */
static void disorder(std::vector<Plan> &all)
{
    Plan plan = shape(srd(), "chaos", 100);
    plan.rma  = 0.3;
    all.push_back(plan);

    plan             = srd("own_errors"); /* our device refuses packets */
    plan.nodes       = 4;
    plan.endpoints   = 2;
    plan.messages    = 60;
    plan.churn       = true;
    plan.own_errors  = 0.002;
    plan.living_fail = true;
    plan.deadline    = 60 * SEC;
    all.push_back(plan);

    plan             = srd("unheard"); /* time-outs, and nobody died */
    plan.nodes       = 4;
    plan.endpoints   = 2;
    plan.messages    = 100;
    plan.unheard     = 0.003;
    plan.living_fail = true;
    plan.deadline    = 60 * SEC;
    all.push_back(plan);

    plan.name      = "unheard_chaos";
    plan.chaos     = 0.05;
    plan.rma_peers = 2;
    plan.kills     = 1;
    plan.rebirth   = true;
    plan.rma       = 0.3;
    all.push_back(plan);

    plan            = srd("strangers"); /* made-up flows beside newcomers */
    plan.nodes      = 5;
    plan.endpoints  = 3;
    plan.messages   = 60;
    plan.strangers  = 1.0;
    plan.hello_late = 500 * US;
    plan.buffers    = 4096;
    all.push_back(plan);

    plan.name          = "strangers_few"; /* honest ones expire, too */
    plan.strangers_max = 8;
    plan.living_fail   = true; /* and none is closed early: who has closed
                                  cannot be told any more */
    all.push_back(plan);

    all.push_back(shape(srd(), "replay", 60));
}

/* Hosts that do not answer, beside one that does (P18): its rate is compared
 * with a run without them. */
static void absent(std::vector<Plan> &all)
{
    Plan plan;

    plan.name          = "absent";
    plan.nodes         = 100;
    plan.star          = true;
    plan.absent        = 96;
    plan.hot           = 100000;
    plan.messages      = 200;
    plan.sq_depth      = 512;
    plan.reserve_slots = 256;
    plan.living_fail   = true;
    plan.deadline      = 60 * SEC;
    all.push_back(plan);

    plan.name        = "absent_endpoints"; /* many to each, on other terms */
    plan.endpoints   = 6;
    plan.nodes       = 50;
    plan.absent      = 46;
    plan.hot         = 100000;
    all.push_back(plan);

    plan.name        = "absent_later"; /* they did answer */
    plan.endpoints   = 1;
    plan.nodes       = 100;
    plan.absent      = 96;
    plan.absent_from = MS;
    plan.messages    = 2000;
    plan.hot         = 600000;
    all.push_back(plan);
}

static void reconnect(std::vector<Plan> &all)
{
    Plan plan       = shape(srd(), "reconnect", 4);
    plan.name       = "reconnect_1000000";
    plan.reopens    = 500000;
    plan.late       = 0.01;
    plan.noise      = 0.001;
    plan.faults_end = 10 * MS;
    all.push_back(plan);

    plan.name    = "reconnect_20000";
    plan.reopens = 10000;
    all.push_back(plan);
}

static void scale(std::vector<Plan> &all)
{
    Plan plan = srd("incast_10000");

    plan.nodes      = 10001;
    plan.incast     = true;
    plan.messages   = 4;
    plan.buffers    = 4096;
    plan.noise      = 0;
    plan.deadline   = 60 * SEC;
    plan.faults_end = 5 * MS;
    all.push_back(plan);

    plan            = srd("mesh_1000");
    plan.nodes      = 1000;
    plan.messages   = 1;
    plan.buffers    = 1024;
    plan.noise      = 0;
    plan.late       = 0.02;
    plan.deadline   = 60 * SEC;
    plan.faults_end = 5 * MS;
    all.push_back(plan);
}

std::vector<Plan> plans()
{
    std::vector<Plan> all;

    traffic(all);
    receivers(all);
    deaths(all);
    disorder(all);
    absent(all);
    plans_ud(all);
    reconnect(all);
    scale(all);
    return all;
}

} /* namespace sim */
