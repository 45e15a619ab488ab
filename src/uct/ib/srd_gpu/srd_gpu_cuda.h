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

/* Is it memory of a device? */
int srd_gpu_cuda_is_device(const void *address);

/* Adds to a counter in a device's memory; kernels may run, and wait for it. (It
 * reads and writes: of a kernel's own write to the counter meanwhile, and the
 * increment, one may be lost.) */
int srd_gpu_cuda_add(uint64_t address, uint64_t add);

#endif
