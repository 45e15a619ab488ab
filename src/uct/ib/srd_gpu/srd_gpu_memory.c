/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that kernels read and write: pinned by CUDA's driver where the program
 * uses it, else, for programs that play the GPU, any. */
#include "srd_gpu.h"
#include "srd_gpu_cuda.h"

#include <stdlib.h>

#define SRD_GPU_LINE 128 /* bytes that a GPU reads at a time */

typedef struct srd_gpu_block {
    struct srd_gpu_block *next;
    void                 *memory;
    int                   is_cuda;
} srd_gpu_block_t;

void *srd_gpu_memory_get(srd_gpu_iface_t *iface, size_t size)
{
    srd_gpu_block_t *block = malloc(sizeof(*block));
    int              err   = 0;

    size = (size + SRD_GPU_LINE - 1) & ~(size_t)(SRD_GPU_LINE - 1);
    if (block == NULL) {
        return NULL;
    }
    block->is_cuda = srd_gpu_cuda_is_used();
    block->memory  = NULL;
    if (block->is_cuda) {
        err = srd_gpu_cuda_host_alloc(&block->memory, size);
    } else {
        block->memory = aligned_alloc(SRD_GPU_LINE, size);
    }
    if ((err != 0) || (block->memory == NULL)) {
        host_error(iface->super.super.host,
                   "%s: no %zu bytes of host memory for GPUs (CUDA error %d): "
                   "UCX_SRD_GPU_DEPTH and UCX_SRD_GPU_CHANNELS make it less",
                   base_iface_md(&iface->super)->device->name, size, err);
        free(block);
        return NULL;
    }
    memset(block->memory, 0, size);
    block->next   = iface->blocks;
    iface->blocks = block;
    return block->memory;
}

void srd_gpu_memory_free(srd_gpu_iface_t *iface, const srd_gpu_block_t *kept)
{
    srd_gpu_block_t *block;

    while ((block = iface->blocks) != kept) {
        iface->blocks = block->next;
        if (block->is_cuda) {
            srd_gpu_cuda_host_free(block->memory);
        } else {
            free(block->memory);
        }
        free(block);
    }
}
