/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SRD_GPU_CUDA_H_
#define SRD_GPU_CUDA_H_

#include <stddef.h>
#include <stdint.h>

/*
 * The little of CUDA's driver that the proxy needs, found in the process, where
 * the program has brought it. Errors are 0 or what the driver says; -1: there
 * is no such call.
 */

/* Is the driver in this process, and in use? */
int srd_gpu_cuda_is_used(void);

/* Host memory that the devices of all contexts read and write at the address
 * that the CPU has for it. */
int  srd_gpu_cuda_host_alloc(void **memory_p, size_t size);
void srd_gpu_cuda_host_free(void *memory);

/* The device whose memory that is; -1: none's. */
int srd_gpu_cuda_device_of(uint64_t address);

typedef struct srd_gpu_cuda_add {
    uint64_t address, add;
} srd_gpu_cuda_add_t;

/* Adds to counters in the device's memory, one after the other as kernels see
 * it, which may run and wait for them; if there is an error, to those that it
 * is not about. It copies them to `values`, of `count`, in memory of
 * srd_gpu_cuda_host_alloc, and back: of a kernel's own write to a counter
 * meanwhile, and the increment, one may be lost. (A kernel of ours would add
 * atomically, and might wait for ever for those of the program, which wait for
 * it.) */
int srd_gpu_cuda_add(int device, const srd_gpu_cuda_add_t *adds,
                     unsigned count, uint64_t *values);

#endif
