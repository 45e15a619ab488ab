/* SPDX-License-Identifier: BSD-3-Clause */
/* The host of blocks: memory and endpoints, which its kernels then use. Each
 * call is made on both sides. @return 0; -1, after a line. */
#ifndef TEST_GPU_DEVICE_HOST_H
#define TEST_GPU_DEVICE_HOST_H

#include "device_blocks.h"

/* Once, before the first device_open(). */
int host_open(gpu_t *gpu, const node_params_t *params);

/* Memory and endpoints as gpu_t says; endpoints that there are already stay. */
int device_open(gpu_t *gpu);

/* All rounds of all blocks; some endpoints are closed, and opened anew. */
int blocks_run(gpu_t *gpu);

/* Frees memory; of the peer, if it lives, no kernel writes any more. */
int device_close(gpu_t *gpu);

/* Closes what host_open() opened, and all endpoints. */
int host_close(gpu_t *gpu);

/* Closes all endpoints but the first `count`. */
int host_eps_shrink(gpu_t *gpu, unsigned count);

#endif
