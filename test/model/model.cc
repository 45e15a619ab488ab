/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The search: from each state every step is tried, a state seen before is not
 * entered again. At every state the invariants hold; where nothing can move any
 * more, all messages must have arrived, once and in order.
 *
 * Depth first: the path to a state is at hand when something is wrong. States
 * are remembered by 64 bits: among 10^8 of them, two different ones are taken
 * for the same with a chance of 1 in 3000.
 */
#include "model.h"

#include <csetjmp>
#include <memory>

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

/* A set of nonzero words: open addressing, at most half full. */
class Seen {
public:
    Seen() { clear(); }
    void clear()
    {
        m_slots.assign(1 << 16, 0);
        m_count = 0;
    }
    uint64_t count() const { return m_count; }
    /* false: it was there */
    bool add(uint64_t word)
    {
        uint64_t *slot = find(word |= 1);
        if (*slot == word) {
            return false;
        }
        *slot = word;
        if (++m_count * 2 > m_slots.size()) {
            grow();
        }
        return true;
    }

private:
    uint64_t *find(uint64_t word)
    {
        size_t i = (word * 0xff51afd7ed558ccdull) >> 20;
        while ((m_slots[i & (m_slots.size() - 1)] != 0) &&
               (m_slots[i & (m_slots.size() - 1)] != word)) {
            ++i;
        }
        return &m_slots[i & (m_slots.size() - 1)];
    }
    void grow()
    {
        std::vector<uint64_t> old(m_slots.size() * 2, 0);
        old.swap(m_slots);
        for (uint64_t word : old) {
            if (word != 0) {
                *find(word) = word;
            }
        }
    }
    std::vector<uint64_t> m_slots;
    uint64_t              m_count;
};

static Seen     seen;
static uint64_t steps, ends;

static void explore(unsigned depth)
{
    /* one place to save for each depth, kept: no allocation per state */
    static std::vector<std::unique_ptr<Saved>> places;
    size_t length = trail.size();
    unsigned n;

    if (places.size() <= depth) {
        places.emplace_back(new Saved());
    }
    Saved &here = *places[depth];
    memory_save(&here);
    for (n = 0; seen.count() < bounds.states_max; ++n) {
        if (!world_step(n)) {
            break;
        }
        ++steps;
        if (((steps < 4096) || ((steps & 65535) == 0)) && memory_missed()) {
            longjmp(start_over, 1);
        }
        if (seen.add(state_hash())) {
            state_check();
            explore(depth + 1);
        }
        memory_restore(here);
        trail.resize(length);
    }
    if (n == 0) {
        ++ends;
        state_check_end();
    }
    memory_restore(here); /* asking for a step may have changed something */
}

/* No object with a destructor lives where start_over is jumped from. */
static void run()
{
    (void)setjmp(start_over);
    do {
        seen.clear();
        steps = ends = 0;
        world_start();
        explore(0);
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

static bool parse(int argc, char **argv)
{
    static const unsigned most[] = {4, model::MESSAGES_MAX,
                                    model::MESSAGES_MAX, 8, 8};
    unsigned *const fields[]     = {&bounds.window, &bounds.messages[0],
                                    &bounds.messages[1], &bounds.losses,
                                    &bounds.repeats};

    if ((argc > 1) && (strcmp(argv[1], "--eager") == 0)) {
        bounds.eager = true;
        --argc;
        ++argv;
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
        puts("usage: flow_model [--eager] srd|ud WINDOW MESSAGES_A MESSAGES_B "
             "LOSSES REPEATS [MAX_STATES]\n"
             "  --eager: users send and close as soon as they can, else at any "
             "time\n"
             "  window 1..4, messages 0..6 (0: that side opens no flow),\n"
             "  losses (srd: refused packets) and repeats 0..8");
        return 2;
    }
    model::run();
    printf("%s%s window %u, %u + %u messages, %u losses, %u repeats: %llu "
           "states, %llu steps, %llu ends%s\n",
           bounds.profile == FLOW_UD ? "ud" : "srd",
           bounds.eager ? ", eager," : "", bounds.window,
           bounds.messages[0], bounds.messages[1], bounds.losses,
           bounds.repeats, (unsigned long long)model::seen.count(),
           (unsigned long long)model::steps, (unsigned long long)model::ends,
           (model::seen.count() >= bounds.states_max) ?
                   " (stopped at the bound)" : ", all of them");
    return 0;
}
