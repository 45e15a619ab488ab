/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies, and the streams and events that order them. A copy is done when the
 * call returns; its event tells so only when it is asked for the second time,
 * as no program may count on a copy that was just given to a stream.
 */
#include "gpu.h"

#include <stdlib.h>
#include <string.h>

struct gpu_stream {
    int unused;
};

struct gpu_event {
    int asked;
};

#define GPU_COPY(_name, _version, _dst, _src) \
    GPU_EXPORT CUresult _name##_version(_dst dst, _src src, size_t size) \
    { \
        return gpu_copy((uintptr_t)dst, (uintptr_t)src, size); \
    } \
    GPU_EXPORT CUresult _name##Async##_version(_dst dst, _src src, \
                                               size_t size, CUstream stream) \
    { \
        (void)stream; \
        return gpu_copy((uintptr_t)dst, (uintptr_t)src, size); \
    }

GPU_COPY(cuMemcpy, , CUdeviceptr, CUdeviceptr)
GPU_COPY(cuMemcpyHtoD, _v2, CUdeviceptr, const void*)
GPU_COPY(cuMemcpyDtoH, _v2, void*, CUdeviceptr)
GPU_COPY(cuMemcpyDtoD, _v2, CUdeviceptr, CUdeviceptr)

GPU_EXPORT CUresult cuMemsetD8_v2(CUdeviceptr dst, unsigned char value,
                                  size_t count)
{
    void *at = gpu_reach(dst, count);

    if (at == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    memset(at, value, count);
    return CUDA_SUCCESS;
}

GPU_EXPORT CUresult cuMemsetD8Async(CUdeviceptr dst, unsigned char value,
                                    size_t count, CUstream stream)
{
    return cuMemsetD8_v2(dst, value, count);
}

GPU_EXPORT CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
    if (gpu_current() < 0) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    *stream = calloc(1, sizeof(**stream));
    return (*stream == NULL) ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

GPU_EXPORT CUresult cuStreamDestroy_v2(CUstream stream)
{
    free(stream);
    return CUDA_SUCCESS;
}

GPU_EXPORT CUresult cuStreamSynchronize(CUstream stream)
{
    return CUDA_SUCCESS;
}

GPU_EXPORT CUresult cuStreamQuery(CUstream stream)
{
    return CUDA_SUCCESS;
}

GPU_EXPORT CUresult
cuStreamAddCallback(CUstream stream,
                    void (*call)(CUstream stream, CUresult status, void *arg),
                    void *arg, unsigned flags)
{
    call(stream, CUDA_SUCCESS, arg);
    return CUDA_SUCCESS;
}

GPU_EXPORT CUresult cuStreamWaitEvent(CUstream stream, CUevent event,
                                      unsigned flags)
{
    return CUDA_SUCCESS;
}

GPU_EXPORT CUresult cuEventCreate(CUevent *event, unsigned flags)
{
    if (gpu_current() < 0) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    *event = calloc(1, sizeof(**event));
    return (*event == NULL) ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

GPU_EXPORT CUresult cuEventDestroy_v2(CUevent event)
{
    free(event);
    return CUDA_SUCCESS;
}

GPU_EXPORT CUresult cuEventRecord(CUevent event, CUstream stream)
{
    event->asked = 0;
    return CUDA_SUCCESS;
}

GPU_EXPORT CUresult cuEventQuery(CUevent event)
{
    return event->asked++ ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

GPU_EXPORT CUresult cuEventSynchronize(CUevent event)
{
    event->asked = 1;
    return CUDA_SUCCESS;
}
