/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFA_CLOCK_H_
#define EFA_CLOCK_H_

#include <stdint.h>
#include <time.h>

/* Nanoseconds of a clock that never goes back and that nobody sets. */
static inline uint64_t efa_clock(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ull + now.tv_nsec;
}

/* The same of this thread's own time on a CPU: it stands still while others
 * run. */
static inline uint64_t efa_clock_own(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000000000ull + now.tv_nsec;
}

#endif
