/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A GPU as a test program sees it: by the driver library that the loader finds,
 * the emulated one or a real one. No CUDA is needed to build this.
 *
 * A failing call prints one line on stderr; its caller gives up.
 */
#ifndef TEST_GPU_DEVICE_H
#define TEST_GPU_DEVICE_H

#include "cuda/cuda_abi.h"

/* Bytes that copies moved: to devices, from them, between them; emulated GPUs
 * only. */
typedef struct gpu_copied {
    uint64_t htod, dtoh, dtod;
} gpu_copied_t;

/* Make device `index` this thread's. @return 0, -1. */
int gpu_open(int index);

/* Device memory. NULL: there is none left, after a line. */
void *gpu_malloc(size_t size);
int   gpu_free(void *ptr);

/* The same that is mapped, as PyTorch's expandable segments and others do, each
 * block a handle of its own. */
#define GPU_MAPPED_BLOCK (2ul << 20)
void *gpu_malloc_mapped(size_t size, int device);
int   gpu_free_mapped(void *ptr, size_t size);

/* Pinned memory of the host, which stays. NULL: there is none left. */
void *gpu_host_malloc(size_t size);

/* A graph is captured in this thread, of nothing, from the first call to the
 * second, which fails if another call disturbed that. @return 0, -1. */
int gpu_capture_begin(void);
int gpu_capture_end(void);

/* Either side host or device; done when it returns. @return 0, -1. */
int gpu_memcpy(void *dst, const void *src, size_t size);

/* @return 1: an emulated GPU, and *copied is what was copied until now. */
int gpu_copied(gpu_copied_t *copied);

#endif
