/* SPDX-License-Identifier: BSD-3-Clause */
/* Devices and contexts: there is the primary one of each device only. */
#include "gpu.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gpu_context {
    int      device;
    unsigned retained;
};

enum { GPU_STACK = 16 };

static pthread_once_t     gpu_once = PTHREAD_ONCE_INIT;
static struct gpu_device  gpu_devices[GPU_DEVICES];
static struct gpu_context gpu_contexts[GPU_DEVICES];
static int                gpu_devices_count;
static _Atomic int        gpu_started;

/* Contexts that a thread has pushed, the last one is current. */
static __thread struct {
    CUcontext context[GPU_STACK];
    unsigned  depth;
} gpu_stack;

static void device_add(const char *bdf)
{
    struct gpu_device *device = &gpu_devices[gpu_devices_count];
    unsigned function;

    if ((gpu_devices_count < GPU_DEVICES) &&
        (sscanf(bdf, "%x:%x:%x.%x", &device->domain, &device->bus,
                &device->slot, &function) == 4)) {
        ++gpu_devices_count;
    }
}

/* The emulated /sys has NVIDIA's functions, whose names sort by address. */
static void devices_of_sysfs(const char *root)
{
    struct dirent **entries;
    char path[512], text[16];
    int i, count;
    FILE *file;

    snprintf(path, sizeof(path), "%s/bus/pci/devices", root);
    count = scandir(path, &entries, NULL, alphasort);
    for (i = 0; i < count; ++i) {
        snprintf(path, sizeof(path), "%s/bus/pci/devices/%s/vendor", root,
                 entries[i]->d_name);
        file = fopen(path, "r");
        if (file != NULL) {
            if ((fgets(text, sizeof(text), file) != NULL) &&
                (strncmp(text, "0x10de", 6) == 0)) {
                device_add(entries[i]->d_name);
            }
            fclose(file);
        }
        free(entries[i]);
    }
    if (count >= 0) {
        free(entries);
    }
}

static void devices_find(void)
{
    const char *list = getenv("FAKE_GPU_DEVICES");
    const char *root = getenv("SYSFS_PATH");
    int i;

    if (list != NULL) {
        for (; list != NULL; list = strchr(list, ',')) {
            list += (*list == ',');
            device_add(list);
        }
    } else if (root != NULL) {
        devices_of_sysfs(root);
    }
    if ((list == NULL) && (getenv("FAKE_GPU_DEVICES") == NULL) &&
        (gpu_devices_count == 0)) {
        device_add("0000:00:1c.0");
    }
    for (i = 0; i < GPU_DEVICES; ++i) {
        gpu_contexts[i].device = i;
    }
}

int gpu_count(void)
{
    pthread_once(&gpu_once, devices_find);
    return gpu_devices_count;
}

const struct gpu_device *gpu_device(int device)
{
    return ((device >= 0) && (device < gpu_count())) ? &gpu_devices[device] :
                                                       NULL;
}

int gpu_current(void)
{
    return ((gpu_stack.depth == 0) ||
            (gpu_stack.context[gpu_stack.depth - 1] == NULL)) ?
           -1 : gpu_stack.context[gpu_stack.depth - 1]->device;
}

CUcontext gpu_context_of(int device)
{
    return &gpu_contexts[device];
}

GPU_EXPORT CUresult cuInit(unsigned flags)
{
    GPU_ERROR_IF(flags != 0, INVALID_VALUE);
    GPU_ERROR_IF(gpu_count() == 0, NO_DEVICE);
    gpu_started = 1;
    return CUDA_SUCCESS;
}

GPU_EXPORT CUresult cuDriverGetVersion(int *version)
{
    *version = 13000;
    return CUDA_SUCCESS;
}

GPU_EXPORT CUresult cuDeviceGetCount(int *count)
{
    GPU_ERROR_IF(!gpu_started, NOT_INITIALIZED);
    *count = gpu_count();
    return CUDA_SUCCESS;
}

GPU_EXPORT CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    GPU_ERROR_IF(!gpu_started, NOT_INITIALIZED);
    GPU_ERROR_IF(gpu_device(ordinal) == NULL, INVALID_DEVICE);
    *device = ordinal;
    return CUDA_SUCCESS;
}

GPU_EXPORT CUresult cuDeviceGetName(char *name, int length, CUdevice device)
{
    GPU_ERROR_IF(gpu_device(device) == NULL, INVALID_DEVICE);
    snprintf(name, length, "Emulated GPU %d", device);
    return CUDA_SUCCESS;
}

GPU_EXPORT CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
    GPU_ERROR_IF(gpu_device(device) == NULL, INVALID_DEVICE);
    memset(uuid, 0, sizeof(*uuid));
    uuid->bytes[0] = 'E';
    uuid->bytes[1] = gpu_device(device)->bus;
    uuid->bytes[2] = gpu_device(device)->slot;
    return CUDA_SUCCESS;
}

GPU_EXPORT CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
    return cuDeviceGetUuid(uuid, device);
}

GPU_EXPORT CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    GPU_ERROR_IF(gpu_device(device) == NULL, INVALID_DEVICE);
    *bytes = GPU_MEMORY;
    return CUDA_SUCCESS;
}

/* FAKE_GPU_DMABUF=0: a driver that exports none. */
static int gpu_has_dmabuf(void)
{
    const char *value = getenv("FAKE_GPU_DMABUF");

    return (value == NULL) || (*value != '0');
}

GPU_EXPORT CUresult cuDeviceGetAttribute(int *value, int attribute,
                                         CUdevice device)
{
    const struct gpu_device *gpu = gpu_device(device);

    GPU_ERROR_IF(gpu == NULL, INVALID_DEVICE);
    switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
        *value = gpu->bus;
        break;
    case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID:
        *value = gpu->slot;
        break;
    case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID:
        *value = gpu->domain;
        break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        *value = 9;
        break;
    case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
    case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED:
        *value = 1;
        break;
    case CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED:
        *value = gpu_has_dmabuf();
        break;
    default:
        *value = 0;
        break;
    }
    return CUDA_SUCCESS;
}

GPU_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *context,
                                             CUdevice device)
{
    GPU_ERROR_IF(gpu_device(device) == NULL, INVALID_DEVICE);
    gpu_lock();
    ++gpu_contexts[device].retained;
    gpu_unlock();
    *context = &gpu_contexts[device];
    return CUDA_SUCCESS;
}

GPU_EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    CUresult ret = CUDA_SUCCESS;

    GPU_ERROR_IF(gpu_device(device) == NULL, INVALID_DEVICE);
    gpu_lock();
    if (gpu_contexts[device].retained == 0) {
        ret = CUDA_ERROR_INVALID_CONTEXT;
    } else {
        --gpu_contexts[device].retained;
    }
    gpu_unlock();
    return ret;
}

GPU_EXPORT CUresult cuDevicePrimaryCtxGetState(CUdevice device,
                                               unsigned *flags, int *active)
{
    GPU_ERROR_IF(gpu_device(device) == NULL, INVALID_DEVICE);
    *flags = 0;
    gpu_lock();
    *active = gpu_contexts[device].retained > 0;
    gpu_unlock();
    return CUDA_SUCCESS;
}

GPU_EXPORT CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device,
                                                  unsigned flags)
{
    return (gpu_device(device) == NULL) ? CUDA_ERROR_INVALID_DEVICE :
                                          CUDA_SUCCESS;
}

GPU_EXPORT CUresult cuCtxGetCurrent(CUcontext *context)
{
    GPU_ERROR_IF(!gpu_started, NOT_INITIALIZED);
    *context = (gpu_current() < 0) ? NULL : &gpu_contexts[gpu_current()];
    return CUDA_SUCCESS;
}

GPU_EXPORT CUresult cuCtxSetCurrent(CUcontext context)
{
    if (gpu_stack.depth == 0) {
        gpu_stack.depth = 1;
    }
    gpu_stack.context[gpu_stack.depth - 1] = context;
    return CUDA_SUCCESS;
}

GPU_EXPORT CUresult cuCtxPushCurrent_v2(CUcontext context)
{
    GPU_ERROR_IF(gpu_stack.depth == GPU_STACK, INVALID_VALUE);
    gpu_stack.context[gpu_stack.depth++] = context;
    return CUDA_SUCCESS;
}

GPU_EXPORT CUresult cuCtxPopCurrent_v2(CUcontext *context)
{
    GPU_ERROR_IF(gpu_stack.depth == 0, INVALID_CONTEXT);
    --gpu_stack.depth;
    if (context != NULL) {
        *context = gpu_stack.context[gpu_stack.depth];
    }
    return CUDA_SUCCESS;
}

GPU_EXPORT CUresult cuCtxGetDevice(CUdevice *device)
{
    GPU_ERROR_IF(gpu_current() < 0, INVALID_CONTEXT);
    *device = gpu_current();
    return CUDA_SUCCESS;
}

GPU_EXPORT CUresult cuCtxGetId(CUcontext context, unsigned long long *id)
{
    GPU_ERROR_IF((context == NULL) && (gpu_current() < 0), INVALID_CONTEXT);
    *id = 1 + ((context != NULL) ? context->device : gpu_current());
    return CUDA_SUCCESS;
}

GPU_EXPORT CUresult cuCtxGetApiVersion(CUcontext context, unsigned *version)
{
    *version = 13000;
    return CUDA_SUCCESS;
}

GPU_EXPORT GPU_ANSWER(cuCtxSetFlags, CUDA_SUCCESS)

GPU_EXPORT CUresult cuCtxGetFlags(unsigned *flags)
{
    *flags = 0;
    return (gpu_current() < 0) ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}
