/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded, it lets UCX take this CPU for another maker's: UCX's thresholds,
 * bandwidths and ways to copy follow it (ucs/arch, both functions are exported
 * by libucs). contrib/ci/anyone.sh builds and uses it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

/* As in UCX's enumeration of vendors, the same from 1.13 on. */
enum { INTEL = 1, AMD = 2 };

int ucs_arch_get_cpu_vendor(void);
int ucs_arch_get_cpu_model(void);

int ucs_arch_get_cpu_vendor(void)
{
    static int (*real)(void);

    if (real == NULL) {
        *(void**)&real = dlsym(RTLD_NEXT, "ucs_arch_get_cpu_vendor");
    }
    return ((real != NULL) && (real() == INTEL)) ? AMD : INTEL;
}

int ucs_arch_get_cpu_model(void)
{
    return 0; /* unknown: their numbers change from one UCX to the next */
}
