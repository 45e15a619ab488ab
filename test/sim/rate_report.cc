/* SPDX-License-Identifier: BSD-3-Clause */
#include "rate_report.h"

namespace rate {

bool full, failed;

void within(const char *what, double value, double least, double most)
{
    bool good = (value >= least) && (value <= most);

    printf("  %-38s %8.3f  ", what, value);
    if (least > 0) {
        printf(">= %.2f ", least);
    }
    if (most < 1e9) {
        printf("<= %.2f", most);
    }
    printf("%s\n", good ? "" : "  FAIL");
    failed = failed || !good;
}

void stuck(const char *what)
{
    printf("  %s: not done in time  FAIL\n", what);
    failed = true;
}

static_assert(FLOW_WINDOW_MAX == 64, "warm_up sends a window, incast (rate.cc) "
                                    "half of one");

void warm_up(World &world, unsigned first, unsigned last)
{
    uint64_t want = world.got + 64ull * (last - first);

    for (unsigned i = first; i < last; ++i) {
        world.host(i).add(0, 64);
        world.run(world.now + 2 * US);
    }
    world.run_until_got(want, 10000 * MS);
    if (world.got != want) {
        stuck("warming up");
    }
    world.run(world.now + 5 * MS);
}

} /* namespace rate */
