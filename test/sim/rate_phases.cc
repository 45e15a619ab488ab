/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of flow_rate: all ranks send at once, for the first time and later. */
#include "rate_report.h"

#include <algorithm>

namespace rate {

/* Phases of so many messages from each to each; the longest, and with ample
 * buffers the first. */
static double phases(unsigned ranks, bool mesh, unsigned count, unsigned ample,
                     unsigned messages = 1)
{
    World world(ranks, ample, 4);
    double longest = 0;

    for (unsigned phase = 0; phase < count; ++phase) {
        uint64_t want = world.got + (mesh ? (uint64_t)ranks : 1) *
                                            (ranks - 1) * messages;
        uint64_t before = world.rnr();
        Time start = world.now;
        for (unsigned from = 0; from < ranks; ++from) {
            for (unsigned i = 1; i < ranks; ++i) {
                unsigned to = (from + i) % ranks;
                if (mesh || (to == 0)) {
                    world.host(from).add(to, messages);
                }
            }
            if (phase == 0) { /* programs do not begin at the same instant */
                world.run(start + (from + 1) * 100 * US / ranks);
            }
        }
        world.run_until_got(want, 1000 * MS);
        Time took = world.now - start;
        if (world.got < want) {
            stuck("a phase");
            return 1e9;
        }
        if (!ample) {
            printf("    phase %u: %.0f us, %.2f receiver-not-ready each\n",
                   phase, (double)took / 1e3,
                   (double)(world.rnr() - before) / ranks /
                           (mesh ? ranks - 1 : 1));
        }
        longest = std::max(longest, (double)took);
        if (ample) {
            break;
        }
        world.run(world.now + 5 * MS);
    }
    return longest;
}

void table_phases()
{
    unsigned mesh = full ? 300 : 100;
    double first;

    first = phases(1000, false, 1, 100000);
    printf("one of 1,000 ranks, all-to-all in ten phases; first phase with "
           "ample buffers %.0f us\n", first / 1e3);
    within("longest phase, of that",
           phases(1000, false, 10, 0) / first, 0, 1.2);
    first = phases(mesh, true, 1, 100000);
    printf("all-to-all of %u ranks in ten phases; first phase with ample "
           "buffers %.0f us\n", mesh, first / 1e3);
    within("longest phase, of that", phases(mesh, true, 10, 0) / first, 0,
           1.2);
}

/* The first phase, when nothing is known of anybody. */
static void fresh(unsigned ranks, bool mesh, double most, unsigned messages = 1)
{
    double ample = phases(ranks, mesh, 1, 100000 * messages, messages);

    printf("%u fresh %s at once, %u from each; with ample buffers %.0f us\n",
           ranks, mesh ? "ranks, all-to-all," : "senders to one", messages,
           ample / 1e3);
    within("time, of that", phases(ranks, mesh, 1, 0, messages) / ample, 0,
           most);
}

void table_fresh()
{
    fresh(1000, false, 1.2);
    fresh(10000, false, 1.2);
    fresh(2000, false, 1.2, 16);
    fresh(300, true, 1.2);
    fresh(600, true, 1.2);
    if (full) {
        fresh(20000, false, 1.2);
        fresh(5000, false, 1.2, 16);
        fresh(10000, false, 1.2, 8);
        fresh(1000, true, 1.2);
    }
}

} /* namespace rate */
