/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finding calls by name, the names of errors, and the calls that this GPU does
 * not have: handles of memory that others know, and pools.
 */
#include "gpu.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define GPU_ERROR(_code, _text) {_code, #_code, _text}
static const struct gpu_error {
    CUresult    code;
    const char *name, *text;
} gpu_errors[] = {
    GPU_ERROR(CUDA_SUCCESS, "no error"),
    GPU_ERROR(CUDA_ERROR_INVALID_VALUE, "invalid argument"),
    GPU_ERROR(CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
    GPU_ERROR(CUDA_ERROR_NOT_INITIALIZED, "initialization error"),
    GPU_ERROR(CUDA_ERROR_NO_DEVICE, "no device"),
    GPU_ERROR(CUDA_ERROR_INVALID_DEVICE, "no such device"),
    GPU_ERROR(CUDA_ERROR_INVALID_CONTEXT, "no context, or not this thread's"),
    GPU_ERROR(CUDA_ERROR_MAP_FAILED, "mapping failed"),
    GPU_ERROR(CUDA_ERROR_INVALID_HANDLE, "invalid handle"),
    GPU_ERROR(CUDA_ERROR_NOT_FOUND, "not found"),
    GPU_ERROR(CUDA_ERROR_NOT_READY, "not ready"),
    GPU_ERROR(CUDA_ERROR_NOT_SUPPORTED, "not supported"),
};

static const struct gpu_error *gpu_error(CUresult error)
{
    unsigned i;

    for (i = 0; i < sizeof(gpu_errors) / sizeof(gpu_errors[0]); ++i) {
        if (gpu_errors[i].code == error) {
            return &gpu_errors[i];
        }
    }
    return NULL;
}

GPU_EXPORT CUresult cuGetErrorString(CUresult error, const char **text)
{
    const struct gpu_error *row = gpu_error(error);

    *text = (row != NULL) ? row->text : NULL;
    return (row != NULL) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

GPU_EXPORT CUresult cuGetErrorName(CUresult error, const char **name)
{
    const struct gpu_error *row = gpu_error(error);

    *name = (row != NULL) ? row->name : NULL;
    return (row != NULL) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* The newest form of a call, as CUDA's headers rename it. */
static void *gpu_call(const char *name)
{
    static const char *const forms[] = {"_v3", "_v2", ""};
    char form[128];
    void *call = NULL, *self;
    Dl_info info;
    unsigned i;

    if (dladdr((void*)gpu_call, &info) == 0) {
        return NULL;
    }
    self = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    for (i = 0; (self != NULL) && (call == NULL) &&
                (i < sizeof(forms) / sizeof(forms[0])); ++i) {
        snprintf(form, sizeof(form), "%s%s", name, forms[i]);
        call = dlsym(self, form);
    }
    if (self != NULL) {
        dlclose(self);
    }
    return call;
}

GPU_EXPORT CUresult cuGetProcAddress_v2(const char *name, void **call,
                                        int version, uint64_t flags,
                                        int *status)
{
    *call = gpu_call(name);
    if (status != NULL) {
        *status = (*call != NULL) ? 0 : 1;
    }
    return (*call != NULL) ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

GPU_EXPORT CUresult cuGetProcAddress(const char *name, void **call,
                                     int version, uint64_t flags)
{
    return cuGetProcAddress_v2(name, call, version, flags, NULL);
}

/* The answer of a driver for such a device. */
#define GPU_MISSING(_name) GPU_ANSWER(_name, CUDA_ERROR_NOT_SUPPORTED)

GPU_EXPORT GPU_MISSING(cuMemExportToShareableHandle)
GPU_EXPORT GPU_MISSING(cuMemImportFromShareableHandle)
GPU_EXPORT GPU_MISSING(cuMemPoolDestroy)
GPU_EXPORT GPU_MISSING(cuMemPoolExportPointer)
GPU_EXPORT GPU_MISSING(cuMemPoolExportToShareableHandle)
GPU_EXPORT GPU_MISSING(cuMemPoolImportFromShareableHandle)
GPU_EXPORT GPU_MISSING(cuMemPoolImportPointer)
GPU_EXPORT GPU_MISSING(cuMemPoolSetAccess)
GPU_EXPORT GPU_MISSING(cuMemRangeGetAttribute)

/* The same behind hooked.c. */
GPU_MISSING(gpu_cuMemAllocAsync)
GPU_MISSING(gpu_cuMemAllocFromPoolAsync)
GPU_MISSING(gpu_cuMemAllocPitch_v2)
GPU_MISSING(gpu_cuMemAllocManaged)
GPU_MISSING(gpu_cuMemFreeAsync)
GPU_MISSING(gpu_cuModuleGetGlobal_v2)
GPU_MISSING(gpu_cuLibraryGetGlobal)
