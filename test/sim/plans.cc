/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plans: one for each accident this field knows. A row begins with what
 * others say, in their order, and changes some of it. Names with "=" are parts
 * of plans: who talks to whom, and the events of their lives.
 */
#include "plan.h"

#include <cstdlib>
#include <sstream>

namespace sim {

#define SET(...) [](Plan &p) { (void)p; __VA_ARGS__; }

static const struct Row {
    const char *name, *from;
    void (*set)(Plan &plan);
} rows[] = {
    {"=srd", "", SET(p.late = 0.2, p.clog = 0.001, p.noise = 0.01)},
    /* All that SRD does not do to us. Faults last longer than on SRD, for
     * time-outs begin at 2 ms. */
    {"=ud", "=srd",
     SET(p.profile = FLOW_UD, p.loss = 0.05, p.dup = 0.05, p.corrupt = 0.01,
         p.faults_end = 50 * MS, p.deadline = 200 * SEC)},
    {"=pair", "", SET(p.nodes = 2, p.all_to_all = false)},
    {"=oneway", "=pair", SET(p.both_ways = false)},
    {"=alltoall", "", SET(p.nodes = 6, p.endpoints = 2)}, /* with itself, too */
    {"=simultaneous", "",
     SET(p.nodes = 2, p.endpoints = 4, p.jitter = 200 * US)},
    /* hellos late, lost to reordering */
    {"=hello", "", SET(p.nodes = 4, p.endpoints = 3, p.hello_late = 3 * MS)},
    {"=churn", "", SET(p.nodes = 4, p.churn = true)},
    {"=slow", "", SET(p.nodes = 4, p.incast = true, p.poll_every = 100 * US)},
    /* a receiver that never polls */
    {"=sleeper", "=pair", SET(p.sleepers = 1, p.buffers = 256)},
    /* far more flows than buffers */
    {"=scarce", "",
     SET(p.nodes = 8, p.incast = true, p.endpoints = 8, p.buffers = 48,
         p.reserve = 16)},
    {"=dead", "", SET(p.nodes = 6, p.kills = 2)},
    /* the QPN comes back, the QKEY does not */
    {"=reuse", "", SET(p.nodes = 5, p.kills = 2, p.rebirth = true)},
    /* packets of dead incarnations */
    {"=replay", "=reuse",
     SET(p.kills = 3, p.same_qkey = true, p.churn = true, p.replay = 0.1)},
    /* cut for 30 s, then stale packets */
    {"=linkdown", "=pair", SET(p.linkdown = 30 * SEC)},
    {"=chaos", "",
     SET(p.nodes = 5, p.endpoints = 2, p.chaos = 0.1, p.rma_peers = 2,
         p.buffers = 128, p.reserve = 16)},
    /* flows one after the other (P5) */
    {"=reconnect", "",
     SET(p.nodes = 2, p.endpoints = 8, p.churn = true, p.flat = true,
         p.messages = 4, p.deadline = 10000 * SEC)},

    {"stream", "=srd =pair", SET(p.messages = 3000)},
    {"oneway", "=srd =oneway", SET(p.messages = 3000)},
    {"alltoall", "=srd =alltoall", SET(p.messages = 100)},
    {"simultaneous", "=srd =simultaneous", SET(p.messages = 200, p.rma = 0.3)},
    {"hello", "=srd =hello", SET(p.messages = 60, p.rma = 0.3)},
    {"churn", "=srd =churn", SET(p.messages = 40)},
    {"slow", "=srd =slow", SET(p.messages = 300, p.deadline = 60 * SEC)},
    {"sleeper", "=srd =sleeper",
     SET(p.messages = 1000, p.noise = 0, p.no_rnr = true)},
    {"sleeper_many", "=srd",
     SET(p.nodes = 8, p.incast = true, p.sleepers = 1, p.buffers = 64,
         p.reserve = 16, p.messages = 200)},
    {"scarce", "=srd =scarce",
     SET(p.messages = 60, p.nodes = 12, p.deadline = 60 * SEC)},
    {"dead", "=srd =dead", SET(p.messages = 200, p.rma = 0.3)},
    {"reuse", "=srd =reuse", SET(p.messages = 150)},
    /* nor does the device help */
    {"reuse_qkey", "reuse", SET(p.same_qkey = true, p.late_by = 5 * MS)},
    {"linkdown", "=srd =linkdown",
     SET(p.messages = 500, p.deadline = 100 * SEC)},
    {"chaos", "=srd =chaos", SET(p.messages = 100, p.rma = 0.3)},
    /* our device refuses packets */
    {"own_errors", "=srd =churn",
     SET(p.endpoints = 2, p.messages = 60, p.own_errors = 0.002,
         p.living_fail = true, p.deadline = 60 * SEC)},
    /* time-outs, and nobody died */
    {"unheard", "=srd",
     SET(p.nodes = 4, p.endpoints = 2, p.messages = 100, p.unheard = 0.003,
         p.living_fail = true, p.deadline = 60 * SEC)},
    {"unheard_chaos", "unheard",
     SET(p.chaos = 0.05, p.rma_peers = 2, p.kills = 1, p.rebirth = true,
         p.rma = 0.3)},
    /* made-up flows beside newcomers */
    {"strangers", "=srd",
     SET(p.nodes = 5, p.endpoints = 3, p.messages = 60, p.strangers = 1.0,
         p.hello_late = 500 * US, p.buffers = 4096)},
    /* honest ones expire, too, and none is closed early: who has closed cannot
     * be told any more */
    {"strangers_few", "strangers",
     SET(p.strangers_max = 8, p.living_fail = true)},
    {"replay", "=srd =replay", SET(p.messages = 60)},

    /* Hosts that do not answer, beside one that does (P18): its rate is
     * compared with a run without them. */
    {"absent", "",
     SET(p.nodes = 100, p.star = true, p.absent = 96, p.hot = 100000,
         p.messages = 200, p.sq_depth = 512, p.reserve_slots = 256,
         p.living_fail = true, p.deadline = 60 * SEC)},
    /* many to each, on other terms */
    {"absent_endpoints", "absent",
     SET(p.endpoints = 6, p.nodes = 50, p.absent = 46)},
    /* they did answer */
    {"absent_later", "absent",
     SET(p.absent_from = MS, p.messages = 2000, p.hot = 600000)},

    {"ud_stream", "=ud =pair", SET(p.messages = 3000)},
    {"ud_oneway", "=ud =oneway", SET(p.messages = 2000)},
    /* as bad as promised */
    {"ud_storm", "=ud =pair",
     SET(p.messages = 600, p.loss = 0.3, p.dup = 0.3, p.corrupt = 0.05,
         p.late = 0.3, p.late_by = 5 * MS, p.faults_end = 300 * MS)},
    {"ud_alltoall", "=ud =alltoall", SET(p.messages = 80)},
    {"ud_simultaneous", "=ud =simultaneous", SET(p.messages = 150)},
    /* and answers, and lost */
    {"ud_hello", "=ud =hello",
     SET(p.messages = 40, p.hello_late = 5 * MS, p.loss = 0.3)},
    {"ud_churn", "=ud =churn", SET(p.messages = 30)},
    /* Nothing is lost, and any packet may be overtaken by all the others that a
     * window holds. */
    {"ud_reorder", "=ud =oneway",
     SET(p.messages = 3000, p.late = 0.3, p.late_by = 10 * US, p.clog = 0,
         p.noise = 0, p.loss = 0, p.dup = 0, p.corrupt = 0,
         p.no_resend = true)},
    {"ud_slow", "=ud =slow", SET(p.messages = 300)},
    {"ud_sleeper", "=ud =sleeper", SET(p.messages = 500)},
    {"ud_scarce", "=ud =scarce", SET(p.messages = 40)},
    {"ud_partition", "=ud",
     SET(p.nodes = 4, p.messages = 200, p.partition = 30 * MS)},
    {"ud_clog", "=ud",
     SET(p.nodes = 4, p.messages = 200, p.clog = 0.02, p.clog_for = 20 * MS)},
    {"ud_linkdown", "=ud =linkdown", SET(p.messages = 500, p.tries = 100)},
    /* they gave up meanwhile */
    {"ud_linkdown_dead", "ud_linkdown",
     SET(p.tries = 10, p.living_fail = true)},
    {"ud_dead", "=ud =dead", SET(p.messages = 150)},
    {"ud_reuse", "=ud =reuse", SET(p.messages = 100)},
    {"ud_replay", "=ud =replay", SET(p.messages = 50)},
    {"ud_chaos", "=ud =chaos", SET(p.messages = 80)},
    /* the thread may take one of two, progress the other */
    {"=quiet", "=ud", SET(p.messages = 100, p.quiet = 0.7, p.dup = 0.5)},
    {"ud_quiet_stream", "=quiet =pair", SET()},
    {"ud_quiet_alltoall", "=quiet =alltoall", SET()},
    {"ud_quiet_churn", "=quiet =churn", SET()},
    {"ud_quiet_scarce", "=quiet =scarce", SET()},
    {"ud_quiet_dead", "=quiet =dead", SET()},
    {"ud_quiet_reuse", "=quiet =reuse", SET()},
    {"ud_quiet_replay", "=quiet =replay", SET()},
    {"ud_quiet_chaos", "=quiet =chaos", SET()},
    /* half of them take longer than a flow rests */
    {"ud_reconnect_30000", "=ud =reconnect", SET(p.reopens = 60000)},

    {"reconnect_1000000", "=srd =reconnect",
     SET(p.reopens = 500000, p.late = 0.01, p.noise = 0.001,
         p.faults_end = 10 * MS)},
    {"reconnect_20000", "reconnect_1000000", SET(p.reopens = 10000)},
    {"=scale", "=srd",
     SET(p.noise = 0, p.deadline = 60 * SEC, p.faults_end = 5 * MS)},
    {"incast_10000", "=scale",
     SET(p.nodes = 10001, p.incast = true, p.messages = 4, p.buffers = 4096)},
    {"mesh_1000", "=scale",
     SET(p.nodes = 1000, p.messages = 1, p.buffers = 1024, p.late = 0.02)},
};

static void apply_plan(const std::string &name, Plan &plan)
{
    for (const Row &row : rows) {
        if (name == row.name) {
            std::istringstream from(row.from);
            for (std::string each; from >> each;) {
                apply_plan(each, plan);
            }
            row.set(plan);
            return;
        }
    }
    abort();
}

std::vector<Plan> plans()
{
    std::vector<Plan> all;

    for (const Row &row : rows) {
        if (row.name[0] != '=') {
            all.emplace_back();
            all.back().name = row.name;
            apply_plan(row.name, all.back());
        }
    }
    return all;
}

} /* namespace sim */
