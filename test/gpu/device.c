/* SPDX-License-Identifier: BSD-3-Clause */
#include "device.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *gpu_library(void)
{
    static void *library;

    if (library == NULL) {
        library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
        if (library == NULL) {
            fprintf(stderr, "FAIL: no GPU driver: %s\n", dlerror());
            exit(1);
        }
    }
    return library;
}

static void *gpu_call(const char *name)
{
    void *call = dlsym(gpu_library(), name);

    if (call == NULL) {
        fprintf(stderr, "FAIL: libcuda.so.1 has no %s\n", name);
        exit(1);
    }
    return call;
}

/* A call by its name and type; its result, told if it is an error. */
#define GPU_CALL(_name, _types, ...) \
    gpu_result(#_name, ((CUresult (*)_types)gpu_call(#_name))(__VA_ARGS__))

static int gpu_result(const char *name, CUresult result)
{
    if (result != CUDA_SUCCESS) {
        fprintf(stderr, "FAIL: %s: CUDA's error %d\n", name, result);
        return -1;
    }
    return 0;
}

int gpu_open(int index)
{
    CUcontext context;
    CUdevice device;

    return (GPU_CALL(cuInit, (unsigned), 0) ||
            GPU_CALL(cuDeviceGet, (CUdevice*, int), &device, index) ||
            GPU_CALL(cuDevicePrimaryCtxRetain, (CUcontext*, CUdevice),
                     &context, device) ||
            GPU_CALL(cuCtxSetCurrent, (CUcontext), context)) ? -1 : 0;
}

void *gpu_malloc(size_t size)
{
    CUdeviceptr ptr = 0;

    return GPU_CALL(cuMemAlloc_v2, (CUdeviceptr*, size_t), &ptr, size) ?
           NULL : (void*)(uintptr_t)ptr;
}

int gpu_free(void *ptr)
{
    return GPU_CALL(cuMemFree_v2, (CUdeviceptr), (uintptr_t)ptr);
}

void *gpu_host_malloc(size_t size)
{
    void *memory = NULL;

    return GPU_CALL(cuMemHostAlloc, (void**, size_t, unsigned), &memory, size,
                    0) ? NULL : memory;
}

static CUstream captured;

int gpu_capture_begin(void)
{
    return (GPU_CALL(cuStreamCreate, (CUstream*, unsigned), &captured, 1) ||
            GPU_CALL(cuStreamBeginCapture_v2, (CUstream, int), captured,
                     CU_STREAM_CAPTURE_MODE_GLOBAL)) ? -1 : 0;
}

int gpu_capture_end(void)
{
    void *graph;

    return GPU_CALL(cuStreamEndCapture, (CUstream, void**), captured, &graph);
}

/* The driver maps whole blocks of this size. */
static size_t mapped_size(size_t size)
{
    return (size + GPU_MAPPED_BLOCK - 1) / GPU_MAPPED_BLOCK * GPU_MAPPED_BLOCK;
}

void *gpu_malloc_mapped(size_t size, int device)
{
    CUmemAllocationProp prop = {
        .type       = CU_MEM_ALLOCATION_TYPE_PINNED,
        .location   = {CU_MEM_LOCATION_TYPE_DEVICE, device},
        .allocFlags = {.gpuDirectRDMACapable = 1}
    };
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, device},
                              CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle handle;
    CUdeviceptr ptr, at;

    size = mapped_size(size);
    if (GPU_CALL(cuMemAddressReserve, (CUdeviceptr*, size_t, size_t,
                                       CUdeviceptr, unsigned long long),
                 &ptr, size, 0, 0, 0)) {
        return NULL;
    }
    for (at = ptr; at < ptr + size; at += GPU_MAPPED_BLOCK) {
        if (GPU_CALL(cuMemCreate, (CUmemGenericAllocationHandle*, size_t,
                                   const CUmemAllocationProp*,
                                   unsigned long long),
                     &handle, GPU_MAPPED_BLOCK, &prop, 0) ||
            GPU_CALL(cuMemMap, (CUdeviceptr, size_t, size_t,
                                CUmemGenericAllocationHandle,
                                unsigned long long),
                     at, GPU_MAPPED_BLOCK, 0, handle, 0) ||
            GPU_CALL(cuMemRelease, (CUmemGenericAllocationHandle), handle)) {
            return NULL;
        }
    }
    return GPU_CALL(cuMemSetAccess, (CUdeviceptr, size_t,
                                     const CUmemAccessDesc*, size_t),
                    ptr, size, &access, 1) ? NULL : (void*)(uintptr_t)ptr;
}

int gpu_free_mapped(void *ptr, size_t size)
{
    CUdeviceptr at = (uintptr_t)ptr;

    size = mapped_size(size);
    return (GPU_CALL(cuMemUnmap, (CUdeviceptr, size_t), at, size) ||
            GPU_CALL(cuMemAddressFree, (CUdeviceptr, size_t), at, size)) ?
           -1 : 0;
}

int gpu_memcpy(void *dst, const void *src, size_t size)
{
    if (size == 0) {
        return 0;
    }
    return (GPU_CALL(cuMemcpy, (CUdeviceptr, CUdeviceptr, size_t),
                     (uintptr_t)dst, (uintptr_t)src, size) ||
            GPU_CALL(cuCtxSynchronize, (void))) ? -1 : 0;
}

int gpu_copied(gpu_copied_t *copied)
{
    void (*call)(uint64_t*) = (getenv("FAKE_GPU_REAL") != NULL) ? NULL :
                              dlsym(gpu_library(), "fake_gpu_copied");
    uint64_t kinds[3]       = {0};

    if (call != NULL) {
        call(kinds);
    }
    copied->htod = kinds[0];
    copied->dtoh = kinds[1];
    copied->dtod = kinds[2];
    return call != NULL;
}
