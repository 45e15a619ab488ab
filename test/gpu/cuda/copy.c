/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies, and the streams and events that order them. One that was given to a
 * stream is done when somebody asks after the stream, or puts anything else into
 * it; an event tells so only when it is asked for the second time.
 */
#include "gpu.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { STREAM_COPIES = 64 };

/* Captures of graphs that are under way, of mode "global", and whether somebody
 * has disturbed them. */
static _Atomic int captures, captures_hurt;
static __thread int capture_mode; /* CU_STREAM_CAPTURE_MODE_ */

int gpu_capture_hurt(void)
{
    if ((captures > 0) && (capture_mode != CU_STREAM_CAPTURE_MODE_RELAXED)) {
        captures_hurt = 1;
        return 1;
    }
    return 0;
}

GPU_EXPORT CUresult cuThreadExchangeStreamCaptureMode(int *mode)
{
    const int before = capture_mode;

    capture_mode = *mode;
    *mode        = before;
    return CUDA_SUCCESS;
}

GPU_EXPORT CUresult cuStreamBeginCapture_v2(CUstream stream, int mode)
{
    captures += mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    return CUDA_SUCCESS;
}

GPU_EXPORT CUresult cuStreamEndCapture(CUstream stream, void **graph)
{
    *graph = NULL;
    --captures;
    return captures_hurt ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED :
                           CUDA_SUCCESS;
}

struct gpu_stream {
    struct gpu_stream *next; /* of all of them */
    pthread_mutex_t mutex;
    unsigned        count;
    struct {
        CUdeviceptr dst, src;
        size_t      size;
    } copies[STREAM_COPIES];
};

static pthread_mutex_t streams_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct gpu_stream *streams;

static CUresult stream_run_locked(CUstream stream)
{
    CUresult ret = CUDA_SUCCESS, one;
    unsigned i;

    for (i = 0; i < stream->count; ++i) {
        one = gpu_copy(stream->copies[i].dst, stream->copies[i].src,
                       stream->copies[i].size);
        ret = (ret == CUDA_SUCCESS) ? one : ret;
    }
    stream->count = 0;
    return ret;
}

static CUresult stream_run(CUstream stream)
{
    CUresult ret = CUDA_SUCCESS;

    if (stream != NULL) {
        pthread_mutex_lock(&stream->mutex);
        ret = stream_run_locked(stream);
        pthread_mutex_unlock(&stream->mutex);
    }
    return ret;
}

static CUresult stream_copy(CUdeviceptr dst, CUdeviceptr src, size_t size,
                            CUstream stream)
{
    CUresult ret = CUDA_SUCCESS;

    if (stream == NULL) {
        return gpu_copy(dst, src, size);
    }
    pthread_mutex_lock(&stream->mutex);
    if (stream->count == STREAM_COPIES) {
        ret = stream_run_locked(stream);
    }
    stream->copies[stream->count].dst    = dst;
    stream->copies[stream->count].src    = src;
    stream->copies[stream->count++].size = size;
    pthread_mutex_unlock(&stream->mutex);
    return ret;
}

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
        return stream_copy((uintptr_t)dst, (uintptr_t)src, size, stream); \
    }

GPU_COPY(cuMemcpy, , CUdeviceptr, CUdeviceptr)
GPU_COPY(cuMemcpyHtoD, _v2, CUdeviceptr, const void*)
GPU_COPY(cuMemcpyDtoH, _v2, void*, CUdeviceptr)
GPU_COPY(cuMemcpyDtoD, _v2, CUdeviceptr, CUdeviceptr)

GPU_EXPORT CUresult cuMemsetD8_v2(CUdeviceptr dst, unsigned char value,
                                  size_t count)
{
    void *at = gpu_reach(dst, count);

    GPU_ERROR_IF(at == NULL, INVALID_VALUE);
    memset(at, value, count);
    return CUDA_SUCCESS;
}

GPU_EXPORT CUresult cuMemsetD8Async(CUdeviceptr dst, unsigned char value,
                                    size_t count, CUstream stream)
{
    (void)stream_run(stream);
    return cuMemsetD8_v2(dst, value, count);
}

GPU_EXPORT CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
    GPU_ERROR_IF(gpu_current() < 0, INVALID_CONTEXT);
    *stream = calloc(1, sizeof(**stream));
    GPU_ERROR_IF(*stream == NULL, OUT_OF_MEMORY);
    pthread_mutex_init(&(*stream)->mutex, NULL);
    pthread_mutex_lock(&streams_mutex);
    (*stream)->next = streams;
    streams         = *stream;
    pthread_mutex_unlock(&streams_mutex);
    return CUDA_SUCCESS;
}

GPU_EXPORT CUresult cuStreamDestroy_v2(CUstream stream)
{
    struct gpu_stream **link;

    (void)stream_run(stream);
    pthread_mutex_lock(&streams_mutex);
    for (link = &streams; (*link != NULL) && (*link != stream);
         link = &(*link)->next) {
    }
    if (*link != NULL) {
        *link = stream->next;
        free(stream);
    }
    pthread_mutex_unlock(&streams_mutex);
    return CUDA_SUCCESS;
}

GPU_EXPORT CUresult cuStreamSynchronize(CUstream stream)
{
    CUresult ret;

    GPU_ERROR_IF(gpu_capture_hurt(), STREAM_CAPTURE_UNSUPPORTED);
    ret = stream_run(stream);
    gpu_count_wait();
    return ret;
}

GPU_EXPORT CUresult cuCtxSynchronize(void)
{
    struct gpu_stream *stream;
    CUresult           ret = CUDA_SUCCESS, one;

    GPU_ERROR_IF(gpu_current() < 0, INVALID_CONTEXT);
    pthread_mutex_lock(&streams_mutex);
    for (stream = streams; stream != NULL; stream = stream->next) {
        one = stream_run(stream);
        ret = (ret == CUDA_SUCCESS) ? one : ret;
    }
    pthread_mutex_unlock(&streams_mutex);
    return ret;
}

GPU_EXPORT CUresult cuStreamQuery(CUstream stream)
{
    return stream_run(stream);
}

GPU_EXPORT CUresult
cuStreamAddCallback(CUstream stream,
                    void (*call)(CUstream stream, CUresult status, void *arg),
                    void *arg, unsigned flags)
{
    call(stream, stream_run(stream), arg);
    return CUDA_SUCCESS;
}

GPU_EXPORT GPU_ANSWER(cuStreamWaitEvent, CUDA_SUCCESS)

GPU_EXPORT CUresult cuEventCreate(CUevent *event, unsigned flags)
{
    GPU_ERROR_IF(gpu_current() < 0, INVALID_CONTEXT);
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
    return stream_run(stream);
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
