/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The emulated GPUs of this process. A device's memory is made of blocks, each
 * a memfd that is mapped twice: without rights at the address that the program
 * knows, so that whoever reads or writes it with the CPU dies of SIGSEGV, as on
 * hardware; and, at an address that only copies know, for reading and writing.
 *
 * All of it is under one lock. A function says whether its caller holds it.
 */
#ifndef TEST_GPU_GPU_H
#define TEST_GPU_GPU_H

#include "cuda_abi.h"
#include "efasim/driver/gpu_fd.h"

#include <stdatomic.h>

#define GPU_EXPORT __attribute__((visibility("default")))

/* A call that only answers, whatever it is given */
#define GPU_ANSWER(_name, _answer) \
    int _name(void) \
    { \
        return _answer; \
    }

/* The call ends in CUDA_ERROR_`_error` where this is so. */
#define GPU_ERROR_IF(_condition, _error) \
    do { \
        if (_condition) { \
            return CUDA_ERROR_##_error; \
        } \
    } while (0)

enum {
    GPU_DEVICES   = 8,
    GPU_PAGE      = 4096,
    GPU_ALIGN     = 512,      /* of an allocation, as cudaMalloc's */
    GPU_BLOCK     = 2 << 20,  /* small allocations share one of these */
    GPU_BLOCKS    = 4096,
    GPU_RANGES    = 16384,
    GPU_RESERVED  = 64,
    GPU_HANDLES   = 256,      /* of memory that the program maps */
};

/* Device memory is at addresses of its own, which sanitizers leave to programs,
 * and below those of programs. */
#define GPU_VA_BASE   0x550000000000ull
#define GPU_VA_DEVICE (32ull << 30)
#define GPU_MEMORY    (16ull << 30) /* that a device says it has */

/* Addresses that programs reserve lie behind those of all devices. */
#define GPU_VA_RESERVED (GPU_VA_BASE + GPU_DEVICES * GPU_VA_DEVICE)
#define GPU_VA_END      (GPU_VA_RESERVED + GPU_VA_DEVICE)

struct gpu_block {
    CUdeviceptr start;   /* 0: the entry is free */
    size_t      size;
    uint8_t    *alias;   /* the same pages, for copies */
    int         fd;
    int         device;
    unsigned    ranges;  /* allocations in it */
    int         foreign; /* opened by IPC: of another process */
    unsigned    handle;  /* that the program has mapped; 0: its own memory */
};

/* A range of addresses that the program reserved, to map memory there. */
struct gpu_reserved {
    CUdeviceptr start; /* 0: the entry is free */
    size_t      size;
};

/* An allocation; sorted by address. */
struct gpu_range {
    CUdeviceptr start;
    size_t      size;    /* as asked for */
    unsigned    block;
    uint64_t    id;      /* never used twice */
};

struct gpu_device {
    unsigned domain, bus, slot;
};

/* How many GPUs there are: those of the emulated /sys (SYSFS_PATH), else as
 * FAKE_GPU_DEVICES says, a list of PCI addresses; else one. */
int gpu_count(void);
const struct gpu_device *gpu_device(int device);

void gpu_lock(void);
void gpu_unlock(void);
#define GPU_LOCKED(_call) \
    ({ gpu_lock(); CUresult ret_ = (_call); gpu_unlock(); ret_; })

/* Under the lock: CUresult. */
CUresult gpu_alloc(int device, size_t size, CUdeviceptr *ptr);
CUresult gpu_free(CUdeviceptr ptr);

/* Under the lock: the allocation or block of an address; NULL: none. */
const struct gpu_range *gpu_range_find(CUdeviceptr ptr);
const struct gpu_block *gpu_range_block(const struct gpu_range *range);

/* An allocation of another process */
struct gpu_part {
    int    fd;     /* of its block, whose size is */
    size_t block;
    size_t offset; /* in the block */
    size_t size;
};

/* Addresses for the program to map memory at, of no device in particular, and
 * back; under the lock. */
CUresult gpu_reserve(size_t size, CUdeviceptr *ptr);
CUresult gpu_unreserve(CUdeviceptr ptr, size_t size);

/* Maps `part`, whose descriptor is kept, at addresses that are reserved, and
 * unmaps all that is mapped in such a range; under the lock. */
CUresult gpu_map(const struct gpu_part *part, int device, unsigned handle,
                 CUdeviceptr ptr);
CUresult gpu_unmap(CUdeviceptr ptr, size_t size);

/* One use of a handle is over; under the lock. */
void gpu_handle_put(unsigned handle);

/* Opens one, under the lock. */
CUresult gpu_open_foreign(const struct gpu_part *part, int device,
                          CUdeviceptr *ptr);

/* Where a copy finds `size` bytes at an address: device memory's other mapping,
 * or the address itself. NULL: beyond an allocation. Takes the lock. */
void *gpu_reach(CUdeviceptr ptr, size_t size);

/* Bytes copied, over the process's life, by kind: to the device, from it,
 * between devices; and how often somebody waited for a stream.
 * FAKE_GPU_COPIES=FILE gets them at exit. */
enum { GPU_COPY_HTOD, GPU_COPY_DTOH, GPU_COPY_DTOD, GPU_COPY_KINDS };
void gpu_count_copy(CUdeviceptr dst, CUdeviceptr src, size_t size);
void gpu_count_wait(void);

/* Nonzero: a call that might wait for the device is an error, in this thread,
 * since a graph is being captured, which it ends. */
int gpu_capture_hurt(void);

/* The device of the calling thread's context; -1: it has none. */
int gpu_current(void);

/* A device's only context, the primary one. */
CUcontext gpu_context_of(int device);

/* Copies at once. */
CUresult gpu_copy(CUdeviceptr dst, CUdeviceptr src, size_t size);

#endif
