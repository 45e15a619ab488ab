/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The part of CUDA's driver interface that UCX's modules use, as numbers and
 * plain types: enough to build a library of that name, and programs for it,
 * where no CUDA is installed.
 */
#ifndef TEST_GPU_CUDA_ABI_H
#define TEST_GPU_CUDA_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef int                CUresult;
typedef int                CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct gpu_context *CUcontext;
typedef struct gpu_stream  *CUstream;
typedef struct gpu_event   *CUevent;

typedef struct {
    char bytes[16];
} CUuuid;

typedef struct {
    char reserved[64];
} CUipcMemHandle;

typedef unsigned long long CUmemGenericAllocationHandle;

typedef struct {
    int type, id;
} CUmemLocation;

typedef struct {
    int           type; /* CU_MEM_ALLOCATION_TYPE_PINNED */
    int           requestedHandleTypes;
    CUmemLocation location;
    void         *win32HandleMetaData;
    struct {
        unsigned char  compressionType, gpuDirectRDMACapable;
        unsigned short usage;
        unsigned char  reserved[4];
    } allocFlags;
} CUmemAllocationProp;

typedef struct {
    CUmemLocation location;
    int           flags; /* CU_MEM_ACCESS_FLAGS_PROT_READWRITE */
} CUmemAccessDesc;

enum {
    CUDA_SUCCESS               = 0,
    CUDA_ERROR_INVALID_VALUE   = 1,
    CUDA_ERROR_OUT_OF_MEMORY   = 2,
    CUDA_ERROR_NOT_INITIALIZED = 3,
    CUDA_ERROR_NO_DEVICE       = 100,
    CUDA_ERROR_INVALID_DEVICE  = 101,
    CUDA_ERROR_INVALID_CONTEXT = 201,
    CUDA_ERROR_MAP_FAILED      = 205,
    CUDA_ERROR_INVALID_HANDLE  = 400,
    CUDA_ERROR_NOT_FOUND       = 500,
    CUDA_ERROR_NOT_READY       = 600,
    CUDA_ERROR_NOT_SUPPORTED   = 801,
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
    CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901
};

/* CUstreamCaptureMode */
enum {
    CU_STREAM_CAPTURE_MODE_GLOBAL  = 0,
    CU_STREAM_CAPTURE_MODE_RELAXED = 2
};

/* CUdevice_attribute */
enum {
    CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY       = 19,
    CU_DEVICE_ATTRIBUTE_PCI_BUS_ID                = 33,
    CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID             = 34,
    CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING        = 41,
    CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID             = 50,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR  = 75,
    CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED = 116,
    CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED         = 124
};

/* CUpointer_attribute */
enum {
    CU_POINTER_ATTRIBUTE_CONTEXT        = 1,
    CU_POINTER_ATTRIBUTE_MEMORY_TYPE    = 2,
    CU_POINTER_ATTRIBUTE_DEVICE_POINTER = 3,
    CU_POINTER_ATTRIBUTE_SYNC_MEMOPS    = 6,
    CU_POINTER_ATTRIBUTE_BUFFER_ID      = 7,
    CU_POINTER_ATTRIBUTE_IS_MANAGED     = 8,
    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
    CU_POINTER_ATTRIBUTE_IS_LEGACY_IPC  = 10,
    CU_POINTER_ATTRIBUTE_RANGE_START    = 11,
    CU_POINTER_ATTRIBUTE_RANGE_SIZE     = 12,
    CU_POINTER_ATTRIBUTE_MAPPED         = 13,
    CU_POINTER_ATTRIBUTE_HANDLE_TYPES   = 14,
    CU_POINTER_ATTRIBUTE_RDMA_CAPABLE   = 15,
    CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE = 17
};

enum {
    CU_MEMORYTYPE_DEVICE                = 2,
    CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD = 1,
    CU_MEM_ALLOCATION_TYPE_PINNED       = 1,
    CU_MEM_LOCATION_TYPE_DEVICE         = 1,
    CU_MEM_ACCESS_FLAGS_PROT_READWRITE  = 3
};

#endif
