/* SPDX-License-Identifier: BSD-3-Clause */
#include "clock.h"

#include <time.h>

uint64_t fabric_clock(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ull + now.tv_nsec;
}
