/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For src/tools/srd_systemwide.in: stands in UCX's search path under the name
 * of one of UCX's own modules, as UCX 1.13 to 1.21 open no other, and opens
 * both: the SRD module that lies beside it, and the one whose name it has, from
 * the folder of the real libucs.
 *
 *   FARM/libucs.so.0          link to the real one; the loader's choice
 *   FARM/ucx/libuct_cma.so.0  link to this file
 *   FARM/ucx/libuct_srd.so.0  link to the module
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A module that cannot be opened is missing, as UCX has it: no message. */
static void __attribute__((constructor)) shim_init(void)
{
    char path[PATH_MAX], farm[PATH_MAX / 2], real[PATH_MAX];
    const char *name;
    Dl_info info;

    if (!dladdr((void*)shim_init, &info) ||
        (strlen(info.dli_fname) >= sizeof(farm)) ||
        ((name = strrchr(info.dli_fname, '/')) == NULL)) {
        return;
    }
    snprintf(farm, sizeof(farm), "%.*s", (int)(name - info.dli_fname),
             info.dli_fname);
    snprintf(path, sizeof(path), "%s/../libucs.so.0", farm);
    if (realpath(path, real) != NULL) {
        *strrchr(real, '/') = '\0';
        snprintf(path, sizeof(path), "%.2000s/ucx%s", real, name);
        (void)dlopen(path, RTLD_LAZY);
    }
    snprintf(path, sizeof(path), "%s/libuct_srd.so.0", farm);
    (void)dlopen(path, RTLD_LAZY);
}
