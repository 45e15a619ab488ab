/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The functions of CUDA's runtime that UCX's modules call, over the emulated
 * driver. The real one asks the driver for tables that nobody has published. As
 * with that, the first call makes the primary context of the thread's device
 * current.
 */
#include "gpu.h"

#include <string.h>

typedef int cudaError_t;

extern CUresult cuInit(unsigned flags);
extern CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device);
extern CUresult cuCtxSetCurrent(CUcontext context);
extern CUresult cuCtxGetDevice(CUdevice *device);
extern CUresult cuDeviceGetCount(int *count);
extern CUresult cuMemAlloc_v2(CUdeviceptr *ptr, size_t size);
extern CUresult cuMemFree_v2(CUdeviceptr ptr);
extern CUresult cuMemHostRegister_v2(void *ptr, size_t size, unsigned flags);
extern CUresult cuMemHostUnregister(void *ptr);
extern CUresult cuMemHostAlloc(void **ptr, size_t size, unsigned flags);
extern CUresult cuMemFreeHost(void *ptr);
extern CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t size,
                              CUstream stream);
extern CUresult cuMemsetD8_v2(CUdeviceptr dst, unsigned char value,
                              size_t count);
extern CUresult cuStreamCreate(CUstream *stream, unsigned flags);
extern CUresult cuStreamDestroy_v2(CUstream stream);
extern CUresult cuStreamSynchronize(CUstream stream);
extern CUresult cuCtxSynchronize(void);
extern CUresult cuEventCreate(CUevent *event, unsigned flags);
extern CUresult cuEventDestroy_v2(CUevent event);
extern CUresult cuEventRecord(CUevent event, CUstream stream);
extern CUresult cuEventQuery(CUevent event);
extern CUresult cuGetErrorString(CUresult error, const char **text);

static cudaError_t runtime_start(void)
{
    CUcontext context;
    CUdevice device;
    CUresult ret;

    ret = cuInit(0);
    if ((ret != CUDA_SUCCESS) || (cuCtxGetDevice(&device) == CUDA_SUCCESS)) {
        return ret;
    }
    ret = cuDevicePrimaryCtxRetain(&context, 0);
    return (ret != CUDA_SUCCESS) ? ret : cuCtxSetCurrent(context);
}

/* A call of the driver's, behind the start of the runtime, or at once. */
#define RUNTIME(_name, _args, _call) \
    GPU_EXPORT cudaError_t _name _args \
    { \
        cudaError_t _ret = runtime_start(); \
        return (_ret != CUDA_SUCCESS) ? _ret : (_call); \
    }
#define FORWARD(_name, _args, _call) \
    GPU_EXPORT cudaError_t _name _args \
    { \
        return (_call); \
    }

GPU_EXPORT cudaError_t cudaSetDevice(int device)
{
    CUcontext context;
    cudaError_t ret = cuInit(0);

    ret = ret ? ret : cuDevicePrimaryCtxRetain(&context, device);
    return ret ? ret : cuCtxSetCurrent(context);
}

RUNTIME(cudaGetDevice, (int *device), cuCtxGetDevice(device))

GPU_EXPORT cudaError_t cudaGetDeviceCount(int *count)
{
    cudaError_t ret = cuInit(0);

    return ret ? ret : cuDeviceGetCount(count);
}

RUNTIME(cudaDeviceSynchronize, (void), cuCtxSynchronize())

GPU_EXPORT cudaError_t cudaMalloc(void **ptr, size_t size)
{
    CUdeviceptr at  = 0;
    cudaError_t ret = runtime_start();

    ret  = ret ? ret : cuMemAlloc_v2(&at, size);
    *ptr = (void*)(uintptr_t)at;
    return ret;
}

GPU_EXPORT GPU_ANSWER(cudaMallocManaged, CUDA_ERROR_NOT_SUPPORTED)

RUNTIME(cudaFree, (void *ptr), cuMemFree_v2((uintptr_t)ptr))
RUNTIME(cudaHostAlloc, (void **ptr, size_t size, unsigned flags),
        cuMemHostAlloc(ptr, size, flags))
RUNTIME(cudaFreeHost, (void *ptr), cuMemFreeHost(ptr))

GPU_EXPORT cudaError_t cudaHostGetDevicePointer(void **device, void *host,
                                                unsigned flags)
{
    *device = host;
    return CUDA_SUCCESS;
}

RUNTIME(cudaHostRegister, (void *ptr, size_t size, unsigned flags),
        cuMemHostRegister_v2(ptr, size, flags))
RUNTIME(cudaHostUnregister, (void *ptr), cuMemHostUnregister(ptr))

GPU_EXPORT cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t size,
                                       int kind, CUstream stream)
{
    cudaError_t ret = runtime_start();

    return ret ? ret : cuMemcpyAsync((uintptr_t)dst, (uintptr_t)src, size,
                                     stream);
}

FORWARD(cudaMemcpy, (void *dst, const void *src, size_t size, int kind),
        cudaMemcpyAsync(dst, src, size, kind, NULL))
RUNTIME(cudaMemset, (void *ptr, int value, size_t count),
        cuMemsetD8_v2((uintptr_t)ptr, value, count))
RUNTIME(cudaStreamCreateWithFlags, (CUstream *stream, unsigned flags),
        cuStreamCreate(stream, flags))
FORWARD(cudaStreamDestroy, (CUstream stream), cuStreamDestroy_v2(stream))
FORWARD(cudaStreamSynchronize, (CUstream stream), cuStreamSynchronize(stream))
RUNTIME(cudaEventCreateWithFlags, (CUevent *event, unsigned flags),
        cuEventCreate(event, flags))
FORWARD(cudaEventDestroy, (CUevent event), cuEventDestroy_v2(event))
FORWARD(cudaEventRecord, (CUevent event, CUstream stream),
        cuEventRecord(event, stream))
FORWARD(cudaEventQuery, (CUevent event), cuEventQuery(event))

GPU_EXPORT cudaError_t cudaGetSymbolSize(size_t *size, const void *symbol)
{
    *size = 0;
    return CUDA_ERROR_NOT_SUPPORTED;
}

GPU_EXPORT GPU_ANSWER(cudaGetLastError, CUDA_SUCCESS)

GPU_EXPORT const char *cudaGetErrorString(cudaError_t error)
{
    const char *text = NULL;

    return ((cuGetErrorString(error, &text) == CUDA_SUCCESS) &&
            (text != NULL)) ? text : "unknown error";
}
