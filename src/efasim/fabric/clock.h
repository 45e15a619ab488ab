/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFASIM_FABRIC_CLOCK_H
#define EFASIM_FABRIC_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds of a clock; 0: there is none of this number. */
static inline uint64_t fabric_clock_of(clockid_t clock)
{
    struct timespec now = { 0 };

    clock_gettime(clock, &now);
    return now.tv_sec * 1000000000ull + now.tv_nsec;
}

/* Those of the monotonic clock. */
static inline uint64_t fabric_clock(void)
{
    return fabric_clock_of(CLOCK_MONOTONIC);
}

#endif
