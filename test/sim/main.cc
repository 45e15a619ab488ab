/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flow_sim: run plans over seeds. A failing seed is printed with the command
 * that replays it.
 */
#include "sim.h"

#include <cstdlib>
#include <cstring>

struct Options {
    std::string plan  = "small";
    uint64_t    seed  = 1;
    uint64_t    count = 1;
    unsigned    nodes = 0, messages = 0;
    std::string record;
    bool        wrap = false, hash = false, verbose = false, list = false;
};

static void usage()
{
    puts("usage: flow_sim [--plan NAME|small|all] [--seed N] [--count N]\n"
         "                [--nodes N] [--messages N] [--wrap] [--trace-hash]\n"
         "                [--verbose] [--record DIR] [--list]\n"
         "  small: every plan of at most 16 nodes but reconnect; --wrap starts all numbers\n"
         "  just before their wrap; --trace-hash runs each seed twice and\n"
         "  compares (P9); --record: each core into a file, for srd_replay");
}

static bool parse(int argc, char **argv, Options *options)
{
    for (int i = 1; i < argc; ++i) {
        std::string name = argv[i];
        bool last        = i + 1 >= argc;

        if (name == "--wrap") {
            options->wrap = true;
        } else if (name == "--trace-hash") {
            options->hash = true;
        } else if (name == "--verbose") {
            options->verbose = true;
        } else if (name == "--list") {
            options->list = true;
        } else if ((name == "--plan") && !last) {
            options->plan = argv[++i];
        } else if ((name == "--seed") && !last) {
            options->seed = strtoull(argv[++i], nullptr, 0);
        } else if ((name == "--count") && !last) {
            options->count = strtoull(argv[++i], nullptr, 0);
        } else if ((name == "--record") && !last) {
            options->record          = argv[++i];
            flow_test::record_into   = options->record.c_str();
        } else if ((name == "--nodes") && !last) {
            options->nodes = (unsigned)strtoul(argv[++i], nullptr, 0);
        } else if ((name == "--messages") && !last) {
            options->messages = (unsigned)strtoul(argv[++i], nullptr, 0);
        } else {
            usage();
            return false;
        }
    }
    return true;
}

/* As fast as without the absent nodes, a tenth apart? */
static std::string compare_hot(sim::Plan plan, uint64_t seed, sim::Time took)
{
    char text[128];

    plan.nodes -= plan.absent;
    plan.absent = 0;
    sim::Sim alone(plan, seed, false);
    std::string error = alone.run();

    if (error.empty() && (took * 9 > alone.hot_done * 10)) {
        snprintf(text, sizeof(text), "the hot pair took %.3f ms, %.3f without "
                 "absent nodes", took / 1e6, alone.hot_done / 1e6);
        error = text;
    }
    return error;
}

static bool run_seed(sim::Plan plan, uint64_t seed, const Options &options)
{
    uint64_t hash = 0;

    if (options.wrap) {
        plan.first_psn = (flow_psn_t)(0xffff - seed % 40);
        plan.lap       = (uint16_t)(2u << seed % 6);
    }
    for (int round = 0; round < (options.hash ? 2 : 1); ++round) {
        sim::Sim sim(plan, seed, options.verbose);
        std::string error = sim.run();

        if (error.empty() && (plan.absent != 0)) {
            error = compare_hot(plan, seed, sim.hot_done);
        }
        if (error.empty() && (round == 1) && (sim.hash() != hash)) {
            error = "the same seed gave another trace hash";
        }
        if (!error.empty()) {
            printf("FAIL plan %s: %s\n  replay: flow_sim --plan %s --seed %llu"
                   "%s%s --verbose\n", plan.name.c_str(), error.c_str(),
                   plan.name.c_str(), (unsigned long long)seed,
                   options.wrap ? " --wrap" : "",
                   options.hash ? " --trace-hash" : "");
            return false;
        }
        hash = sim.hash();
        if (options.verbose || (options.count == 1)) {
            printf("%s seed %llu: %llu packets, %llu delivered, %llu rnr, "
                   "%.1f ms, hash %016llx\n", plan.name.c_str(),
                   (unsigned long long)seed, (unsigned long long)sim.packets,
                   (unsigned long long)sim.delivered,
                   (unsigned long long)sim.rnr, sim.now / 1e6,
                   (unsigned long long)hash);
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    unsigned failed = 0, plans = 0;
    Options options;

    if (!parse(argc, argv, &options)) {
        return 2;
    }
    for (sim::Plan plan : sim::plans()) {
        if (options.list) {
            printf("%s %u\n", plan.name.c_str(), plan.nodes);
            continue;
        }
        if ((options.plan != plan.name) && (options.plan != "all") &&
            ((options.plan != "small") || (plan.nodes > 16) || plan.flat)) {
            continue;
        }
        ++plans;
        if (options.nodes != 0) {
            plan.nodes = options.nodes;
        }
        if (options.messages != 0) {
            plan.messages = options.messages;
        }
        unsigned bad = 0;
        for (uint64_t i = 0; (i < options.count) && (bad < 3); ++i) {
            bad += !run_seed(plan, options.seed + i, options);
        }
        if ((options.count > 1) && (bad == 0)) {
            printf("ok %s: %llu seeds\n", plan.name.c_str(),
                   (unsigned long long)options.count);
        }
        fflush(stdout);
        failed += bad;
    }
    if (!options.list && (plans == 0)) {
        fprintf(stderr, "flow_sim: no plan is called %s; --list names them\n",
                options.plan.c_str());
        return 2;
    }
    return failed ? 1 : 0;
}
