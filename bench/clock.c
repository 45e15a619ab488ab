/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "clock.h"

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BENCH_READ_NS = 20 };

static struct {
    uintptr_t          start, end; /* the module's code; 0: it reads the real one */
    unsigned long long now;        /* nanoseconds */
} bench_clock;

static int (*bench_device)(void); /* NULL: verbs calls drive it */

void bench_check(ucs_status_t status, const char *what)
{
    if (status != UCS_OK) {
        fprintf(stderr, "bench: %s: %s\n", what, ucs_status_string(status));
        exit(1);
    }
}

/* libc's. */
static int bench_clock_read(clockid_t id, struct timespec *now)
{
    static int (*libc)(clockid_t id, struct timespec *now);

    if (libc == NULL) {
        *(void**)&libc = dlsym(RTLD_NEXT, "clock_gettime");
    }
    return libc(id, now);
}

static int bench_clock_find(struct dl_phdr_info *info, size_t size, void *arg)
{
    int i;

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

void bench_clock_open(void)
{
    struct timespec now;

    dl_iterate_phdr(bench_clock_find, NULL);
    bench_clock_read(CLOCK_MONOTONIC, &now);
    bench_clock.now = now.tv_sec * 1000000000ull + now.tv_nsec;
}

void bench_device_is_eager(int is_eager)
{
    int (*control)(const char *knob, const char *value);

    *(void**)&control = dlsym(RTLD_DEFAULT, "efasim_control");
    if ((control == NULL) || control("eager", is_eager ? "1" : "0")) {
        bench_check(UCS_ERR_NO_DEVICE, "the emulated device");
    }
    if (!is_eager) {
        *(void**)&bench_device = dlsym(RTLD_DEFAULT, "efasim_progress");
    }
}

void bench_clock_passes(void)
{
    bench_clock.now += BENCH_STEP;
}

void bench_device_works(void)
{
    bench_clock_passes();
    if (bench_device != NULL) {
        (void)bench_device();
    }
}

/* In place of libc's, for the module's code. */
int clock_gettime(clockid_t id, struct timespec *now)
{
    uintptr_t caller = (uintptr_t)__builtin_return_address(0);

    if ((id != CLOCK_MONOTONIC) || (caller < bench_clock.start) ||
        (caller >= bench_clock.end)) {
        return bench_clock_read(id, now);
    }
    bench_clock.now += BENCH_READ_NS;
    now->tv_sec  = (time_t)(bench_clock.now / 1000000000ull);
    now->tv_nsec = (long)(bench_clock.now % 1000000000ull);
    return 0;
}
