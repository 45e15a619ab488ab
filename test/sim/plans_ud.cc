/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plans for UD: what SRD does not do to us, everybody else does. Faults
 * last longer than on SRD, for time-outs begin at 2 ms.
 */
#include "plan.h"

namespace sim {

static Plan ud(const std::string &name = "ud_")
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
    all.push_back(shape(ud(), "stream", 3000));
    all.push_back(shape(ud(), "oneway", 2000));

    Plan plan       = shape(ud(), "stream", 600);
    plan.name       = "ud_storm"; /* as bad as promised */
    plan.loss       = 0.3;
    plan.dup        = 0.3;
    plan.corrupt    = 0.05;
    plan.late       = 0.3;
    plan.late_by    = 5 * MS;
    plan.faults_end = 300 * MS;
    all.push_back(plan);

    all.push_back(shape(ud(), "alltoall", 80));
    all.push_back(shape(ud(), "simultaneous", 150));

    plan            = shape(ud(), "hello", 40); /* and answers, and lost */
    plan.hello_late = 5 * MS;
    plan.loss       = 0.3;
    all.push_back(plan);

    all.push_back(shape(ud(), "churn", 30));
}

/* Nothing is lost, and any packet may be overtaken by all the others that a
 * window holds. */
static void reordering(std::vector<Plan> &all)
{
    Plan plan = shape(ud(), "oneway", 3000);

    plan.name      = "ud_reorder";
    plan.late      = 0.3;
    plan.late_by   = 10 * US;
    plan.clog      = 0;
    plan.noise     = 0;
    plan.loss      = 0;
    plan.dup       = 0;
    plan.corrupt   = 0;
    plan.no_resend = true;
    all.push_back(plan);
}

static void receivers(std::vector<Plan> &all)
{
    all.push_back(shape(ud(), "slow", 300));
    all.push_back(shape(ud(), "sleeper", 500));
    all.push_back(shape(ud(), "scarce", 40));
}

static void accidents(std::vector<Plan> &all)
{
    Plan plan = ud("ud_partition");

    plan.nodes     = 4;
    plan.messages  = 200;
    plan.partition = 30 * MS;
    all.push_back(plan);

    plan            = ud("ud_clog");
    plan.nodes      = 4;
    plan.messages   = 200;
    plan.clog       = 0.02;
    plan.clog_for   = 20 * MS;
    all.push_back(plan);

    plan       = shape(ud(), "linkdown", 500);
    plan.tries = 100;
    all.push_back(plan);

    plan.name        = "ud_linkdown_dead"; /* they gave up meanwhile */
    plan.tries       = 10;
    plan.living_fail = true;
    all.push_back(plan);

    all.push_back(shape(ud(), "dead", 150));
    all.push_back(shape(ud(), "reuse", 100));
    all.push_back(shape(ud(), "replay", 50));
    all.push_back(shape(ud(), "chaos", 80));
    for (const char *name : {"stream", "alltoall", "churn", "scarce", "dead",
                             "reuse", "replay", "chaos"}) {
        plan       = shape(ud("ud_quiet_"), name, 100);
        plan.quiet = 0.7;
        plan.dup   = 0.5; /* the thread may take one, progress the other */
        all.push_back(plan);
    }
}

static void reconnect(std::vector<Plan> &all)
{
    Plan plan    = shape(ud(), "reconnect", 4);
    plan.name    = "ud_reconnect_30000";
    plan.reopens = 60000; /* half of them take longer than a flow rests */
    all.push_back(plan);
}

void plans_ud(std::vector<Plan> &all)
{
    traffic(all);
    reordering(all);
    receivers(all);
    accidents(all);
    reconnect(all);
}

} /* namespace sim */
