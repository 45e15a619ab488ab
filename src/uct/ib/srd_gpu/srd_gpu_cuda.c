/* SPDX-License-Identifier: BSD-3-Clause */
#include "srd_gpu_cuda.h"

#include <dlfcn.h>
#include <pthread.h>

/* Numbers of CUDA's driver interface (cuda.h). */
enum {
    CUDA_HOSTALLOC_PORTABLE    = 1,
    CUDA_HOSTALLOC_DEVICEMAP   = 2,
    CUDA_STREAM_NON_BLOCKING   = 1,
    CUDA_CAPTURE_RELAXED       = 2,
    CUDA_POINTER_MEMORY_TYPE   = 2,
    CUDA_POINTER_DEVICE        = 9,
    CUDA_MEMORYTYPE_DEVICE     = 2,
    CUDA_DEVICES               = 64
};

typedef struct srd_gpu_cuda {
    int (*ctx_get_device)(int *device);
    int (*ctx_push)(void *context);
    int (*ctx_pop)(void **context);
    int (*primary_retain)(void **context, int device);
    int (*primary_state)(int device, unsigned *flags, int *active);
    int (*device_count)(int *count);
    int (*host_alloc)(void **memory, size_t size, unsigned flags);
    int (*host_free)(void *memory);
    int (*pointer_attribute)(void *value, int attribute, uint64_t address);
    int (*capture_mode)(int *mode);
    int (*stream_create)(void **stream, unsigned flags);
    int (*stream_synchronize)(void *stream);
    int (*copy)(uint64_t to, uint64_t from, size_t size, void *stream);
    int found;
} srd_gpu_cuda_t;

static srd_gpu_cuda_t cuda;
static pthread_mutex_t cuda_lock = PTHREAD_MUTEX_INITIALIZER;

static void srd_gpu_cuda_find(void *library)
{
    static const char *const names[] = {
        "cuCtxGetDevice", "cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2",
        "cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxGetState",
        "cuDeviceGetCount", "cuMemHostAlloc", "cuMemFreeHost",
        "cuPointerGetAttribute", "cuThreadExchangeStreamCaptureMode",
        "cuStreamCreate", "cuStreamSynchronize", "cuMemcpyAsync"
    };
    void   **calls = (void**)&cuda;
    unsigned i;

    for (i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
        calls[i] = dlsym(library, names[i]);
        if (calls[i] == NULL) {
            return;
        }
    }
    cuda.found = 1; /* and the library stays */
}

/* NULL: it is not in this process. */
static const srd_gpu_cuda_t *srd_gpu_cuda_get(void)
{
    void *library;

    pthread_mutex_lock(&cuda_lock);
    if (!cuda.found) {
        library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
        if (library != NULL) {
            srd_gpu_cuda_find(library);
        }
        if ((library != NULL) && !cuda.found) {
            dlclose(library);
        }
    }
    pthread_mutex_unlock(&cuda_lock);
    return cuda.found ? &cuda : NULL;
}

/* A device's context, and a stream of our own in it: the usual one would wait
 * for the kernels. */
static struct {
    void *context, *stream;
} cuda_devices[CUDA_DEVICES];

/* Calls of ours are none of a graph that the program captures meanwhile: they
 * would fail, in any thread, and so would the capture. *mode_p: for leave,
 * which follows unless there is an error. */
static int srd_gpu_cuda_enter(const srd_gpu_cuda_t *driver, int device,
                              int *mode_p)
{
    void *context;
    int   err = 0;

    *mode_p = CUDA_CAPTURE_RELAXED;
    (void)driver->capture_mode(mode_p);
    if (cuda_devices[device].context == NULL) {
        err = driver->primary_retain(&cuda_devices[device].context, device);
    }
    if (err == 0) {
        err = driver->ctx_push(cuda_devices[device].context);
    }
    if ((err == 0) && (cuda_devices[device].stream == NULL)) {
        err = driver->stream_create(&cuda_devices[device].stream,
                                    CUDA_STREAM_NON_BLOCKING);
        if (err != 0) {
            (void)driver->ctx_pop(&context);
        }
    }
    if (err != 0) {
        (void)driver->capture_mode(mode_p);
    }
    return err;
}

static void srd_gpu_cuda_leave(const srd_gpu_cuda_t *driver, int mode)
{
    void *context;

    (void)driver->ctx_pop(&context);
    (void)driver->capture_mode(&mode);
}

/* The thread's device, or one that the program uses in others; -1: none. */
static int srd_gpu_cuda_device(const srd_gpu_cuda_t *driver)
{
    int      device = -1, count = 0, active = 0;
    unsigned flags;

    if (driver->ctx_get_device(&device) == 0) {
        return device;
    }
    (void)driver->device_count(&count);
    for (device = 0; (device < count) && (device < CUDA_DEVICES); ++device) {
        if ((driver->primary_state(device, &flags, &active) == 0) && active) {
            return device;
        }
    }
    return -1;
}

int srd_gpu_cuda_is_used(void)
{
    const srd_gpu_cuda_t *driver = srd_gpu_cuda_get();

    return (driver != NULL) && (srd_gpu_cuda_device(driver) >= 0);
}

int srd_gpu_cuda_host_alloc(void **memory_p, size_t size)
{
    const srd_gpu_cuda_t *driver = srd_gpu_cuda_get();
    int                   err, mode;

    if ((driver == NULL) || (srd_gpu_cuda_device(driver) < 0)) {
        return -1;
    }
    pthread_mutex_lock(&cuda_lock);
    err = srd_gpu_cuda_enter(driver, srd_gpu_cuda_device(driver), &mode);
    pthread_mutex_unlock(&cuda_lock);
    if (err == 0) {
        err = driver->host_alloc(memory_p, size,
                                 CUDA_HOSTALLOC_PORTABLE |
                                         CUDA_HOSTALLOC_DEVICEMAP);
        srd_gpu_cuda_leave(driver, mode);
    }
    return err;
}

void srd_gpu_cuda_host_free(void *memory)
{
    const srd_gpu_cuda_t *driver = srd_gpu_cuda_get();
    int                   mode   = CUDA_CAPTURE_RELAXED;

    (void)driver->capture_mode(&mode);
    (void)driver->host_free(memory);
    (void)driver->capture_mode(&mode);
}

int srd_gpu_cuda_device_of(uint64_t address)
{
    const srd_gpu_cuda_t *driver = srd_gpu_cuda_get();
    unsigned              type   = 0;
    int                   device = -1;

    if ((driver == NULL) ||
        (driver->pointer_attribute(&type, CUDA_POINTER_MEMORY_TYPE, address) !=
         0) || (type != CUDA_MEMORYTYPE_DEVICE) ||
        (driver->pointer_attribute(&device, CUDA_POINTER_DEVICE, address) !=
         0)) {
        return -1;
    }
    return device;
}

/* The one before of the same counter; -1: none. */
static int
srd_gpu_cuda_add_before(const srd_gpu_cuda_add_t *adds, unsigned i)
{
    int before = (int)i - 1;

    while ((before >= 0) && (adds[before].address != adds[i].address)) {
        --before;
    }
    return before;
}

/* Reads each counter once; nothing is under way when it returns. */
static int srd_gpu_cuda_read(const srd_gpu_cuda_t *driver, void *stream,
                             const srd_gpu_cuda_add_t *adds, unsigned count,
                             uint64_t *values)
{
    unsigned i;
    int      err = 0, waited;

    for (i = 0; (err == 0) && (i < count); ++i) {
        if (srd_gpu_cuda_add_before(adds, i) < 0) {
            err = driver->copy((uintptr_t)&values[i], adds[i].address,
                               sizeof(*values), stream);
        }
    }
    waited = driver->stream_synchronize(stream);
    return (err != 0) ? err : waited;
}

/* Reads them, and writes what each is after each of its increments. */
static int srd_gpu_cuda_copy(const srd_gpu_cuda_t *driver, void *stream,
                             const srd_gpu_cuda_add_t *adds, unsigned count,
                             uint64_t *values)
{
    int      err = srd_gpu_cuda_read(driver, stream, adds, count, values);
    unsigned i;
    int      before;

    for (i = 0; (err != 0) && (count > 1) && (i < count); ++i) {
        (void)srd_gpu_cuda_copy(driver, stream, &adds[i], 1, values);
    }
    for (i = 0; (err == 0) && (i < count); ++i) {
        before = srd_gpu_cuda_add_before(adds, i);
        values[i] = values[(before < 0) ? (int)i : before] + adds[i].add;
        err = driver->copy(adds[i].address, (uintptr_t)&values[i],
                           sizeof(*values), stream);
    }
    return (err != 0) ? err : driver->stream_synchronize(stream);
}

int srd_gpu_cuda_add(int device, const srd_gpu_cuda_add_t *adds,
                     unsigned count, uint64_t *values)
{
    const srd_gpu_cuda_t *driver = srd_gpu_cuda_get();
    int                   err, mode;

    if (device >= CUDA_DEVICES) {
        return -1;
    }
    pthread_mutex_lock(&cuda_lock); /* others may have the same counter */
    err = srd_gpu_cuda_enter(driver, device, &mode);
    if (err == 0) {
        err = srd_gpu_cuda_copy(driver, cuda_devices[device].stream, adds,
                                count, values);
        srd_gpu_cuda_leave(driver, mode);
    }
    pthread_mutex_unlock(&cuda_lock);
    return err;
}
