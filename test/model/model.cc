/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The search: from each state every step is tried, a state seen before is not
 * entered again. At every state the invariants hold; where nothing can move any
 * more, all messages must have arrived, once and in order. Depth first: the
 * path to a state is at hand when something is wrong.
 *
 * --prove looks whether states that are taken for the same are the same, and
 * packets that are said to do nothing do nothing: nothing is taken off the
 * wire, each packet's arrival is a step, and where a state is met again, the
 * states after it must be the ones that came after it the first time. By
 * induction then no future was left out. It costs several times as much.
 */
#include "model.h"
#include "seen.h"

#include <algorithm>
#include <csetjmp>
#include <memory>
#include <unordered_map>

namespace model {

static jmp_buf start_over;

/* A state put back incompletely looks broken, too: then it does not count. */
void broken(const char *what)
{
    if (memory_missed()) {
        longjmp(start_over, 1);
    }
    printf("BROKEN: %s\n  after:%s\n", what, trail.c_str());
    exit(1);
}

static Seen     seen;
static uint64_t steps, ends;

/* --prove: what comes after a state, and how it was met first, by its hash. */
struct Future {
    uint64_t    digest;
    std::string trail;
};
static std::unordered_map<uint64_t, Future> futures;

static bool stopped()
{
    return seen.count() >= bounds.states_max;
}

static void look_for_missed()
{
    if (((++steps < 512) || ((steps & 65535) == 0)) && memory_missed()) {
        longjmp(start_over, 1);
    }
}

/* The states after this one, as a set, without itself. */
static uint64_t future_of(const Saved &here, uint64_t hash)
{
    static std::vector<uint64_t> after;
    size_t length   = trail.size();
    uint64_t digest = 0;

    after.clear();
    for (unsigned n = 0; world_step(n); ++n) {
        uint64_t next = state_hash();
        look_for_missed();
        if (was_nothing && (next != hash)) {
            broken("a packet that can do nothing did something");
        }
        if (next != hash) {
            after.push_back(next);
        }
        memory_restore(here, (1u << NODES) - 1);
        trail.resize(length);
    }
    memory_restore(here, (1u << NODES) - 1);
    std::sort(after.begin(), after.end());
    after.erase(std::unique(after.begin(), after.end()), after.end());
    for (uint64_t next : after) {
        digest = mix_word(digest, next);
    }
    return digest;
}

static void prove(const Saved &here, uint64_t hash, bool first)
{
    uint64_t future = future_of(here, hash);

    if (first) {
        futures[hash] = {future, trail};
    } else if (futures[hash].digest != future) {
        trail += "\n  the other after:" + futures[hash].trail;
        broken("two states taken for the same have different futures");
    }
}

/* before: of the state this one came from, by steps of the nodes touched. */
static void explore(unsigned depth, const Saved *before, uint64_t hash)
{
    /* one place to save for each depth, kept: no allocation per state */
    static std::vector<std::unique_ptr<Saved>> places;
    bool first    = seen.add(hash);
    size_t length = trail.size();
    unsigned n;

    if (!first && !bounds.prove) {
        return;
    }
    if (places.size() <= depth) {
        places.emplace_back(new Saved());
    }
    Saved &here = *places[depth];
    if (first) {
        state_check();
    }
    memory_save(&here, before, touched);
    if (bounds.prove) {
        prove(here, hash, first);
    }
    if (!first) {
        return;
    }
    for (n = 0; !stopped() && world_step(n); ++n) {
        unsigned changed = touched;
        look_for_missed();
        explore(depth + 1, &here, state_hash());
        memory_restore(here, changed);
        trail.resize(length);
    }
    if (n == 0 && !stopped()) {
        ++ends;
        state_check_end();
    }
}

/* No object with a destructor lives where start_over is jumped from. */
static void run()
{
    (void)setjmp(start_over);
    do {
        seen.clear();
        futures.clear();
        steps = ends = 0;
        world_start();
        explore(0, nullptr, state_hash());
    } while (memory_missed());
}

} /* namespace model */

extern "C" void flow_assert_failed(const char *expr, const char *file, int line)
{
    static char what[256];

    snprintf(what, sizeof(what), "assertion %s at %s:%d", expr, file, line);
    model::broken(what);
}

using model::bounds;

/* Where the number behind this option goes. */
static unsigned *number_option(const char *name)
{
    static const struct {
        const char *name;
        unsigned   *field;
    } options[] = {{"--recalls", &bounds.recalls},
                   {"--buffers", &bounds.buffers},
                   {"--errors", &bounds.errors},
                   {"--pings", &bounds.pings},
                   {"--held", &bounds.held},
                   {"--key", &bounds.key},
                   {"--lap", &bounds.lap}};

    for (const auto &option : options) {
        if (strcmp(name, option.name) == 0) {
            return option.field;
        }
    }
    return nullptr;
}

/* The second flows, of so many messages where there is a first one. */
static bool second_option(const char *name, const char *const *counts)
{
    bool third  = strcmp(name, "--third") == 0;
    bool reborn = strcmp(name, "--reborn") == 0;

    if (!third && !reborn && (strcmp(name, "--twin") != 0)) {
        return false;
    }
    for (unsigned i = 0; i < 2; ++i) {
        bounds.messages[2 + i] = std::min((unsigned)atoi(counts[i]),
                                          (unsigned)model::MESSAGES_MAX);
    }
    bounds.nodes  = (third || reborn) ? 3 : 2;
    bounds.reborn = reborn;
    return true;
}

static bool parse(int argc, char **argv)
{
    static const unsigned most[] = {4, model::MESSAGES_MAX,
                                    model::MESSAGES_MAX,
                                    model::FAULTS_MAX, model::FAULTS_MAX};
    unsigned *const fields[]     = {&bounds.window, &bounds.messages[0],
                                    &bounds.messages[1], &bounds.losses,
                                    &bounds.repeats};

    for (; (argc > 1) && (argv[1][0] == '-'); --argc, ++argv) {
        unsigned *field = number_option(argv[1]);
        if ((field != nullptr) && (argc > 2)) {
            *field = (unsigned)atoi(argv[2]);
            --argc;
            ++argv;
        } else if ((argc > 3) && second_option(argv[1], argv + 2)) {
            argc -= 2;
            argv += 2;
        } else if (strcmp(argv[1], "--eager") == 0) {
            bounds.eager = true;
        } else if (strcmp(argv[1], "--prove") == 0) {
            bounds.prove = true;
        } else {
            return false;
        }
    }
    if ((argc < 7) || (argc > 8) ||
        (strcmp(argv[1], "srd") && strcmp(argv[1], "ud"))) {
        return false;
    }
    bounds.profile = strcmp(argv[1], "ud") ? FLOW_SRD : FLOW_UD;
    for (unsigned i = 0; i < 5; ++i) {
        char *end;
        *fields[i] = (unsigned)strtoul(argv[2 + i], &end, 10);
        if ((*end != '\0') || (end == argv[2 + i]) || (*fields[i] > most[i])) {
            return false;
        }
    }
    bounds.states_max = (argc > 7) ? strtoull(argv[7], nullptr, 10) :
                                     UINT64_MAX;
    return bounds.window >= 1;
}

int main(int argc, char **argv)
{
    if (!parse(argc, argv)) {
        puts("usage: flow_model [--eager] [--prove] [--recalls N] "
             "[--buffers N] [--errors N] [--pings N] [--held N] [--lap N] "
             "[--twin A B | --third A B | [--key 1] --reborn A B] srd|ud "
             "WINDOW MESSAGES_A MESSAGES_B LOSSES REPEATS [MAX_STATES]\n"
             "  --eager: users send and close as soon as they can, else at any "
             "time\n"
             "  --prove: check that states taken for the same have the same "
             "future\n"
             "  --recalls: at N moments a receiver takes a flow for silent\n"
             "  --errors: so many packets end with another status, or flows "
             "are given up\n"
             "  --twin: a second flow each way, of A and B messages\n"
             "  --third: those with a third peer\n"
             "  --reborn: with a peer at the address of the other one, which "
             "dies; --key 1: and has the same QKEY\n"
             "  --pings: at N moments a side asks whether the other lives\n"
             "  --held: N packets are taken by the thread that acknowledges "
             "(UD)\n"
             "  --lap: a limit crosses a line each N numbers (SRD)\n"
             "  --buffers: receive buffers for windows: with few, flows starve\n"
             "  window 1..4, messages 0..6 (0: that side opens no flow),\n"
             "  losses (srd: refused packets) and repeats 0..8");
        return 2;
    }
    model::run();
    printf("%s%s%s window %u, %u + %u, %u + %u messages, %u losses, %u repeats, %u "
           "recalls, %u buffers: %llu "
           "states (missed one: %.1g), %llu steps, %llu ends%s\n",
           bounds.profile == FLOW_UD ? "ud" : "srd",
           bounds.eager ? " eager" : "", bounds.prove ? " proven" : "",
           bounds.window, bounds.messages[0], bounds.messages[1],
           bounds.messages[2], bounds.messages[3],
           bounds.losses, bounds.repeats, bounds.recalls,
           bounds.buffers,
           (unsigned long long)model::seen.count(), model::seen.chance(),
           (unsigned long long)model::steps, (unsigned long long)model::ends,
           model::stopped() ? " (stopped at the bound)" : ", all of them");
    return 0;
}
