/* SPDX-License-Identifier: BSD-3-Clause */
/* UCX's question to NVML: NVLinks, of which there are none. */
#include "gpu.h"

#include <string.h>

enum {
    NVML_ERROR_NOT_SUPPORTED = 3
};

#define NVML_MISSING(_name) \
    GPU_EXPORT GPU_ANSWER(_name, NVML_ERROR_NOT_SUPPORTED)

GPU_EXPORT GPU_ANSWER(nvmlInit_v2, 0)
GPU_EXPORT GPU_ANSWER(nvmlInitWithFlags, 0)
GPU_EXPORT GPU_ANSWER(nvmlShutdown, 0)

GPU_EXPORT int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = 1;
    return 0;
}

GPU_EXPORT const char *nvmlErrorString(int error)
{
    return error ? "Not Supported" : "Success";
}

GPU_EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle)
{
    static char handles[GPU_DEVICES];

    *handle = &handles[index % GPU_DEVICES];
    return 0;
}

/* nvmlFieldValue_t; the one field that UCX asks for is the count of links */
struct nvml_field {
    unsigned id, scope;
    int64_t  timestamp, latency;
    unsigned type, result;
    uint64_t value;
};

GPU_EXPORT int nvmlDeviceGetFieldValues(void *device, int count,
                                        struct nvml_field *fields)
{
    int i;

    for (i = 0; i < count; ++i) {
        fields[i].result = 0;
        fields[i].value  = 0;
    }
    return 0;
}

/* nvmlGpuFabricInfo_t; all zero: no fabric */
struct nvml_fabric {
    unsigned char cluster[16];
    unsigned      status, clique;
    unsigned char state;
};

GPU_EXPORT int nvmlDeviceGetGpuFabricInfo(void *device,
                                          struct nvml_fabric *info)
{
    memset(info, 0, sizeof(*info));
    return 0;
}

/* The same behind a number of the version */
GPU_EXPORT int nvmlDeviceGetGpuFabricInfoV(void *device, unsigned *info)
{
    return nvmlDeviceGetGpuFabricInfo(device, (void*)(info + 1));
}

NVML_MISSING(nvmlDeviceGetBAR1MemoryInfo)
NVML_MISSING(nvmlDeviceGetMemoryInfo)
NVML_MISSING(nvmlDeviceGetMigMode)
NVML_MISSING(nvmlDeviceGetNvLinkRemotePciInfo_v2)
NVML_MISSING(nvmlDeviceGetPciInfo_v3)
