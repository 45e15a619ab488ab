/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Under callgrind a message takes some fifty times as long as without it, so
 * what the transport does by time (each 50 us a tick, the hand's visits) would
 * happen after a few messages each. The module therefore reads a clock that
 * goes on with what is done, as fast as on a CPU; all others read the real one.
 */
#define _GNU_SOURCE
#include "instr_clock.h"

#include <link.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { BENCH_READ_NS = 20 };

static struct {
    uintptr_t          start, end; /* the module's code; 0: not loaded yet */
    unsigned long long now;        /* nanoseconds */
} bench_clock;

static int bench_clock_find(struct dl_phdr_info *info, size_t size, void *arg)
{
    int i;

    (void)size;
    (void)arg;
    if (strstr(info->dlpi_name, "libuct_srd") == NULL) {
        return 0;
    }
    for (i = 0; i < info->dlpi_phnum; ++i) {
        if ((info->dlpi_phdr[i].p_type == PT_LOAD) &&
            (info->dlpi_phdr[i].p_flags & PF_X)) {
            bench_clock.start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            bench_clock.end   = bench_clock.start + info->dlpi_phdr[i].p_memsz;
        }
    }
    return 1;
}

void bench_clock_init(void)
{
    struct timespec now;

    dl_iterate_phdr(bench_clock_find, NULL);
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    bench_clock.now = now.tv_sec * 1000000000ull + now.tv_nsec;
}

void bench_clock_advance(unsigned nanoseconds)
{
    bench_clock.now += nanoseconds;
}

/* In place of libc's, for the module's code. */
int clock_gettime(clockid_t id, struct timespec *now)
{
    uintptr_t caller = (uintptr_t)__builtin_return_address(0);

    if ((id != CLOCK_MONOTONIC) || (caller < bench_clock.start) ||
        (caller >= bench_clock.end)) {
        return (int)syscall(SYS_clock_gettime, id, now);
    }
    bench_clock.now += BENCH_READ_NS;
    now->tv_sec  = (time_t)(bench_clock.now / 1000000000ull);
    now->tv_nsec = (long)(bench_clock.now % 1000000000ull);
    return 0;
}
