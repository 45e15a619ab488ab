/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_GPU_UCP_GPU_H
#define TEST_GPU_UCP_GPU_H

#include "device.h"
#include "test/apps/node.h"

#define GPU_TESTS 4
extern const char *const gpu_tests[GPU_TESTS];

/* The program: what was asked for, and what it has seen. */
typedef struct gpu {
    node_t      node;
    const char  *tests, *memory;
    size_t      min, max;
    unsigned    iters, reuse;
    uint64_t    seed;
    int         endless, cpu_copy, whole, mapped, device;
    uint64_t    messages, bytes;
    gpu_copied_t own; /* that this program copied itself */
    int         broken; /* the endpoint failed: expected with --endless */
} gpu_t;

/* Takes the program's options; ends it where one is not to be taken. */
void gpu_options(int argc, char **argv, gpu_t *gpu, node_params_t *params);

#endif
