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

#define RUNTIME_CALL(_call) \
    do { \
        cudaError_t _ret = runtime_start(); \
        return (_ret != CUDA_SUCCESS) ? _ret : (_call); \
    } while (0)

GPU_EXPORT cudaError_t cudaSetDevice(int device)
{
    CUcontext context;
    cudaError_t ret = cuInit(0);

    ret = ret ? ret : cuDevicePrimaryCtxRetain(&context, device);
    return ret ? ret : cuCtxSetCurrent(context);
}

GPU_EXPORT cudaError_t cudaGetDevice(int *device)
{
    RUNTIME_CALL(cuCtxGetDevice(device));
}

GPU_EXPORT cudaError_t cudaGetDeviceCount(int *count)
{
    cudaError_t ret = cuInit(0);

    return ret ? ret : cuDeviceGetCount(count);
}

GPU_EXPORT cudaError_t cudaDeviceSynchronize(void)
{
    RUNTIME_CALL(CUDA_SUCCESS);
}

GPU_EXPORT cudaError_t cudaMalloc(void **ptr, size_t size)
{
    CUdeviceptr at  = 0;
    cudaError_t ret = runtime_start();

    ret  = ret ? ret : cuMemAlloc_v2(&at, size);
    *ptr = (void*)(uintptr_t)at;
    return ret;
}

GPU_EXPORT cudaError_t cudaMallocManaged(void **ptr, size_t size,
                                         unsigned flags)
{
    (void)ptr;
    (void)size;
    (void)flags;
    return CUDA_ERROR_NOT_SUPPORTED;
}

GPU_EXPORT cudaError_t cudaFree(void *ptr)
{
    RUNTIME_CALL(cuMemFree_v2((uintptr_t)ptr));
}

GPU_EXPORT cudaError_t cudaHostAlloc(void **ptr, size_t size, unsigned flags)
{
    RUNTIME_CALL(cuMemHostAlloc(ptr, size, flags));
}

GPU_EXPORT cudaError_t cudaFreeHost(void *ptr)
{
    RUNTIME_CALL(cuMemFreeHost(ptr));
}

GPU_EXPORT cudaError_t cudaHostGetDevicePointer(void **device, void *host,
                                                unsigned flags)
{
    (void)flags;
    *device = host;
    return CUDA_SUCCESS;
}

GPU_EXPORT cudaError_t cudaHostRegister(void *ptr, size_t size,
                                        unsigned flags)
{
    RUNTIME_CALL(cuMemHostRegister_v2(ptr, size, flags));
}

GPU_EXPORT cudaError_t cudaHostUnregister(void *ptr)
{
    RUNTIME_CALL(cuMemHostUnregister(ptr));
}

GPU_EXPORT cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t size,
                                       int kind, CUstream stream)
{
    (void)kind;
    RUNTIME_CALL(cuMemcpyAsync((uintptr_t)dst, (uintptr_t)src, size, stream));
}

GPU_EXPORT cudaError_t cudaMemcpy(void *dst, const void *src, size_t size,
                                  int kind)
{
    return cudaMemcpyAsync(dst, src, size, kind, NULL);
}

GPU_EXPORT cudaError_t cudaMemset(void *ptr, int value, size_t count)
{
    RUNTIME_CALL(cuMemsetD8_v2((uintptr_t)ptr, value, count));
}

GPU_EXPORT cudaError_t cudaStreamCreateWithFlags(CUstream *stream,
                                                 unsigned flags)
{
    RUNTIME_CALL(cuStreamCreate(stream, flags));
}

GPU_EXPORT cudaError_t cudaStreamDestroy(CUstream stream)
{
    return cuStreamDestroy_v2(stream);
}

GPU_EXPORT cudaError_t cudaStreamSynchronize(CUstream stream)
{
    return cuStreamSynchronize(stream);
}

GPU_EXPORT cudaError_t cudaEventCreateWithFlags(CUevent *event, unsigned flags)
{
    RUNTIME_CALL(cuEventCreate(event, flags));
}

GPU_EXPORT cudaError_t cudaEventDestroy(CUevent event)
{
    return cuEventDestroy_v2(event);
}

GPU_EXPORT cudaError_t cudaEventRecord(CUevent event, CUstream stream)
{
    return cuEventRecord(event, stream);
}

GPU_EXPORT cudaError_t cudaEventQuery(CUevent event)
{
    return cuEventQuery(event);
}

GPU_EXPORT cudaError_t cudaGetSymbolSize(size_t *size, const void *symbol)
{
    (void)symbol;
    *size = 0;
    return CUDA_ERROR_NOT_SUPPORTED;
}

GPU_EXPORT cudaError_t cudaGetLastError(void)
{
    return CUDA_SUCCESS;
}

GPU_EXPORT const char *cudaGetErrorString(cudaError_t error)
{
    const char *text = NULL;

    return ((cuGetErrorString(error, &text) == CUDA_SUCCESS) &&
            (text != NULL)) ? text : "unknown error";
}
