/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the emulated device knows the memory of an emulated GPU: by the names of
 * its memfds. Read by the emulated GPU (test/gpu/cuda) too.
 */
#ifndef EFASIM_DRIVER_GPU_FD_H
#define EFASIM_DRIVER_GPU_FD_H

#include <stdint.h>

/* Memory of a GPU. The program has it mapped without rights; a device that may
 * reach it maps it anew. */
#define GPU_FD_MEMORY "efasim-gpu-memory"

/* A dma-buf of parts of such memory, one behind the other: of a part of one
 * allocation, or of addresses at which the program has mapped several. No memfd
 * can begin inside another: it holds a gpu_fd_dmabuf for each part instead. */
#define GPU_FD_DMABUF "efasim-gpu-dmabuf"

#define GPU_FD_MAGIC 0x6670757562616d64ull

struct gpu_fd_dmabuf {
    uint64_t magic;
    uint64_t inode;  /* of the memory, */
    int32_t  fd;     /* whose descriptor this is in the process that made it */
    uint32_t unused;
    uint64_t offset; /* of the part in it */
    uint64_t length;
};

#endif
