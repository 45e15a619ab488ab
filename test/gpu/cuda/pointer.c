/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allocation, mapping, attributes of an address, dma-bufs and IPC. Functions
 * named gpu_cu are exported without the prefix, by hooked.c.
 */
#include "gpu.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

CUresult gpu_cuMemAlloc_v2(CUdeviceptr *ptr, size_t size)
{
    GPU_ERROR_IF(gpu_current() < 0, INVALID_CONTEXT);
    return GPU_LOCKED(gpu_alloc(gpu_current(), size, ptr));
}

CUresult gpu_cuMemFree_v2(CUdeviceptr ptr)
{
    if (ptr == 0) {
        return CUDA_SUCCESS;
    }
    return GPU_LOCKED(gpu_free(ptr));
}

/* Memory that the program maps itself, as PyTorch's expandable segments are: a
 * handle is a descriptor and what it is of. It lives as long as it is used. */
static struct {
    struct gpu_part part;
    int             device;
    unsigned        uses; /* the program's, and mappings; 0: free */
} gpu_handles[GPU_HANDLES];

GPU_EXPORT CUresult
cuMemGetAllocationGranularity(size_t *bytes, const CUmemAllocationProp *prop,
                              int option)
{
    *bytes = GPU_BLOCK;
    return CUDA_SUCCESS;
}

GPU_EXPORT CUresult cuMemAddressReserve(CUdeviceptr *ptr, size_t size,
                                        size_t alignment, CUdeviceptr address,
                                        unsigned long long flags)
{
    (void)alignment; /* GPU_BLOCK is enough */
    (void)address;   /* a hint */
    GPU_ERROR_IF((flags != 0) || (size == 0) || (size % GPU_BLOCK),
                 INVALID_VALUE);
    return GPU_LOCKED(gpu_reserve(size, ptr));
}

GPU_EXPORT CUresult cuMemAddressFree(CUdeviceptr ptr, size_t size)
{
    return GPU_LOCKED(gpu_unreserve(ptr, size));
}

/* For this process alone: none is exported. */
GPU_EXPORT CUresult cuMemCreate(CUmemGenericAllocationHandle *handle,
                                size_t size, const CUmemAllocationProp *prop,
                                unsigned long long flags)
{
    CUresult ret = CUDA_ERROR_OUT_OF_MEMORY;
    unsigned i;
    int fd;

    GPU_ERROR_IF(prop->requestedHandleTypes != 0, NOT_SUPPORTED);
    GPU_ERROR_IF((flags != 0) || (size == 0) || (size % GPU_BLOCK) ||
                 (prop->type != CU_MEM_ALLOCATION_TYPE_PINNED) ||
                 (prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE) ||
                 (gpu_device(prop->location.id) == NULL), INVALID_VALUE);
    fd = memfd_create(GPU_FD_MEMORY, MFD_CLOEXEC);
    gpu_lock();
    for (i = 0; (i < GPU_HANDLES) && (gpu_handles[i].uses != 0); ++i);
    if ((fd >= 0) && (i < GPU_HANDLES) && (ftruncate(fd, size) == 0)) {
        gpu_handles[i].part   = (struct gpu_part){.fd = fd, .size = size};
        gpu_handles[i].device = prop->location.id;
        gpu_handles[i].uses   = 1;
        *handle               = i + 1;
        ret                   = CUDA_SUCCESS;
    }
    gpu_unlock();
    if ((ret != CUDA_SUCCESS) && (fd >= 0)) {
        close(fd);
    }
    return ret;
}

static int handle_is_one(CUmemGenericAllocationHandle handle)
{
    return (handle > 0) && (handle <= GPU_HANDLES) &&
           (gpu_handles[handle - 1].uses > 0);
}

void gpu_handle_put(unsigned handle)
{
    if (--gpu_handles[handle - 1].uses == 0) {
        close(gpu_handles[handle - 1].part.fd);
    }
}

/* Mapped memory stays until it is unmapped. */
GPU_EXPORT CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
    CUresult ret = CUDA_ERROR_INVALID_VALUE;

    gpu_lock();
    if (handle_is_one(handle)) {
        gpu_handle_put(handle);
        ret = CUDA_SUCCESS;
    }
    gpu_unlock();
    return ret;
}

/* By this UCX tells mapped memory from managed one. */
GPU_EXPORT CUresult
cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle,
                            void *address)
{
    const struct gpu_range *range;
    CUresult ret = CUDA_ERROR_INVALID_VALUE;

    gpu_lock();
    range = gpu_range_find((uintptr_t)address);
    if ((range != NULL) && (gpu_range_block(range)->handle != 0)) {
        *handle = gpu_range_block(range)->handle;
        ++gpu_handles[*handle - 1].uses;
        ret = CUDA_SUCCESS;
    }
    gpu_unlock();
    return ret;
}

GPU_EXPORT CUresult
cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop,
                                       CUmemGenericAllocationHandle handle)
{
    CUresult ret = CUDA_ERROR_INVALID_VALUE;

    memset(prop, 0, sizeof(*prop));
    gpu_lock();
    if (handle_is_one(handle)) {
        prop->type          = CU_MEM_ALLOCATION_TYPE_PINNED;
        prop->location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        prop->location.id   = gpu_handles[handle - 1].device;
        ret                 = CUDA_SUCCESS;
    }
    gpu_unlock();
    return ret;
}

CUresult gpu_cuMemMap(CUdeviceptr ptr, size_t size, size_t offset,
                      CUmemGenericAllocationHandle handle,
                      unsigned long long flags)
{
    CUresult ret = CUDA_ERROR_INVALID_VALUE;
    struct gpu_part part;

    gpu_lock();
    if (handle_is_one(handle) && (flags == 0) && (offset == 0) &&
        (size == gpu_handles[handle - 1].part.size)) {
        part    = gpu_handles[handle - 1].part;
        part.fd = fcntl(part.fd, F_DUPFD_CLOEXEC, 0);
        ret     = gpu_map(&part, gpu_handles[handle - 1].device, handle, ptr);
        if (ret == CUDA_SUCCESS) {
            ++gpu_handles[handle - 1].uses;
        } else {
            close(part.fd);
        }
    }
    gpu_unlock();
    return ret;
}

CUresult gpu_cuMemUnmap(CUdeviceptr ptr, size_t size)
{
    return GPU_LOCKED(gpu_unmap(ptr, size));
}

GPU_EXPORT CUresult cuMemSetAccess(CUdeviceptr ptr, size_t size,
                                   const CUmemAccessDesc *desc, size_t count)
{
    const struct gpu_range *range;
    CUresult ret;

    gpu_lock();
    range = gpu_range_find(ptr);
    ret   = ((range != NULL) && (size > 0) && (count > 0) &&
             (desc->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE)) ?
            CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    gpu_unlock();
    return ret;
}

GPU_EXPORT CUresult cuMemHostRegister_v2(void *ptr, size_t size,
                                         unsigned flags)
{
    return ((ptr == NULL) || (size == 0)) ? CUDA_ERROR_INVALID_VALUE :
                                            CUDA_SUCCESS;
}

GPU_EXPORT CUresult cuMemHostUnregister(void *ptr)
{
    return (ptr == NULL) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

/* FAKE_GPU_PINNED: so many pieces of host memory at a time, at most. */
static _Atomic int pinned;

GPU_EXPORT CUresult cuMemHostAlloc(void **ptr, size_t size, unsigned flags)
{
    const char *most = getenv("FAKE_GPU_PINNED");

    GPU_ERROR_IF(gpu_capture_hurt(), STREAM_CAPTURE_UNSUPPORTED);
    GPU_ERROR_IF((most != NULL) && (pinned >= atoi(most)), OUT_OF_MEMORY);
    ++pinned;
    return (posix_memalign(ptr, GPU_PAGE, size) == 0) ?
           CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult gpu_cuMemFreeHost(void *ptr)
{
    --pinned;
    free(ptr);
    return CUDA_SUCCESS;
}

GPU_EXPORT CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    *free_bytes = *total = GPU_MEMORY;
    return CUDA_SUCCESS;
}

GPU_EXPORT CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size,
                                            CUdeviceptr ptr)
{
    const struct gpu_range *range;
    CUresult ret = CUDA_ERROR_NOT_FOUND;

    gpu_lock();
    range = gpu_range_find(ptr);
    if (range != NULL) {
        if (base != NULL) {
            *base = range->start;
        }
        if (size != NULL) {
            *size = range->size;
        }
        ret = CUDA_SUCCESS;
    }
    gpu_unlock();
    return ret;
}

static CUresult pointer_attribute(void *data, int attribute,
                                  const struct gpu_range *range,
                                  CUdeviceptr ptr)
{
    int device = gpu_range_block(range)->device;

    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        *(CUcontext*)data = (gpu_range_block(range)->handle != 0) ? NULL :
                            gpu_context_of(device);
        break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(unsigned*)data = CU_MEMORYTYPE_DEVICE;
        break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *(CUdeviceptr*)data = ptr;
        break;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        *(uint64_t*)data = range->id;
        break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *(unsigned*)data = 0;
        break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *(int*)data = device;
        break;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_IPC:
        *(unsigned char*)data = gpu_range_block(range)->handle == 0;
        break;
    case CU_POINTER_ATTRIBUTE_MAPPED:
        *(unsigned char*)data = 1;
        break;
    case CU_POINTER_ATTRIBUTE_RANGE_START:
        *(CUdeviceptr*)data = range->start;
        break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        *(size_t*)data = range->size;
        break;
    case CU_POINTER_ATTRIBUTE_RDMA_CAPABLE:
        *(unsigned char*)data = 1;
        break;
    case CU_POINTER_ATTRIBUTE_HANDLE_TYPES:
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        *(uint64_t*)data = 0;
        break;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

GPU_EXPORT CUresult cuPointerGetAttribute(void *data, int attribute,
                                          CUdeviceptr ptr)
{
    const struct gpu_range *range;
    CUresult ret = CUDA_ERROR_INVALID_VALUE;

    gpu_lock();
    range = gpu_range_find(ptr);
    if (range != NULL) {
        ret = pointer_attribute(data, attribute, range, ptr);
    }
    gpu_unlock();
    return ret;
}

/* All are 0 for an address that is no device memory. */
GPU_EXPORT CUresult cuPointerGetAttributes(unsigned count, int *attributes,
                                           void **data, CUdeviceptr ptr)
{
    const struct gpu_range *range;
    CUresult ret = CUDA_SUCCESS;
    unsigned i;

    gpu_lock();
    range = gpu_range_find(ptr);
    for (i = 0; (i < count) && (ret == CUDA_SUCCESS); ++i) {
        if (range != NULL) {
            ret = pointer_attribute(data[i], attributes[i], range, ptr);
        } else if (attributes[i] == CU_POINTER_ATTRIBUTE_CONTEXT) {
            *(void**)data[i] = NULL;
        } else if (attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) {
            *(int*)data[i] = -2;
        } else {
            *(unsigned char*)data[i] = 0;
            if (attributes[i] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE) {
                *(unsigned*)data[i] = 0;
            }
        }
    }
    gpu_unlock();
    return ret;
}

GPU_EXPORT CUresult cuPointerSetAttribute(const void *value, int attribute,
                                          CUdeviceptr ptr)
{
    CUresult ret;

    gpu_lock();
    ret = ((gpu_range_find(ptr) != NULL) &&
           (attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)) ?
          CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    gpu_unlock();
    return ret;
}

/* Adds the part of `block` that is in the range to a dma-buf. @return 0, -1. */
static int dmabuf_add(int fd, const struct gpu_block *block, CUdeviceptr ptr,
                      CUdeviceptr end)
{
    struct gpu_fd_dmabuf part = {
        .magic  = GPU_FD_MAGIC,
        .fd     = block->fd,
        .offset = ptr - block->start,
        .length = ((end < block->start + block->size) ?
                   end : block->start + block->size) - ptr,
    };
    struct stat st;

    if (fstat(block->fd, &st) != 0) {
        return -1;
    }
    part.inode = st.st_ino;
    return (write(fd, &part, sizeof(part)) == sizeof(part)) ? 0 : -1;
}

/* The block that has this page; NULL: none. */
static const struct gpu_block *dmabuf_block(CUdeviceptr ptr)
{
    const struct gpu_range *range = gpu_range_find(ptr);

    range = (range != NULL) ? range : gpu_range_find(ptr + GPU_PAGE - 1);
    return (range != NULL) ? gpu_range_block(range) : NULL;
}

static CUresult dmabuf_make(CUdeviceptr ptr, CUdeviceptr end, int *fd)
{
    const struct gpu_block *block;

    *fd = (getenv("FAKE_GPU_REAL") != NULL) ?
          eventfd(0, EFD_CLOEXEC) : memfd_create(GPU_FD_DMABUF, MFD_CLOEXEC);
    for (; (*fd >= 0) && (ptr < end); ptr = block->start + block->size) {
        block = dmabuf_block(ptr);
        if ((block == NULL) || (ptr < block->start) ||
            ((getenv("FAKE_GPU_REAL") == NULL) &&
             (dmabuf_add(*fd, block, ptr, end) != 0))) {
            close(*fd);
            return CUDA_ERROR_INVALID_VALUE;
        }
    }
    return (*fd < 0) ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

/* A dma-buf of whole pages, which may be of several handles that are mapped one
 * behind the other; FAKE_GPU_DMABUF=0: a driver that knows the call but exports
 * nothing; FAKE_GPU_REAL: memory that no emulated EFA can map, as with a real
 * GPU. */
GPU_EXPORT CUresult cuMemGetHandleForAddressRange(void *handle,
                                                  CUdeviceptr ptr, size_t size,
                                                  int type,
                                                  unsigned long long flags)
{
    const char *value = getenv("FAKE_GPU_DMABUF");
    CUresult ret;
    int fd;

    GPU_ERROR_IF((type != CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD) || (size == 0) ||
                 (((ptr | size) & (GPU_PAGE - 1)) != 0), INVALID_VALUE);
    GPU_ERROR_IF((value != NULL) && (*value == '0'), NOT_SUPPORTED);

    gpu_lock();
    ret = dmabuf_make(ptr, ptr + size, &fd);
    gpu_unlock();
    if (ret == CUDA_SUCCESS) {
        *(int*)handle = fd;
    }
    return ret;
}

struct ipc_handle {
    int             pid, device;
    struct gpu_part part;
    uint64_t        inode;
};

_Static_assert(sizeof(struct ipc_handle) <= sizeof(CUipcMemHandle), "handle");

GPU_EXPORT CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr ptr)
{
    struct ipc_handle own = {.pid = getpid()};
    const struct gpu_range *range;
    const struct gpu_block *block;
    CUresult ret = CUDA_ERROR_INVALID_VALUE;
    struct stat st;

    gpu_lock();
    range = gpu_range_find(ptr);
    if (range != NULL) {
        block = gpu_range_block(range);
        if (fstat(block->fd, &st) == 0) {
            own.part.fd     = block->fd;
            own.part.block  = block->size;
            own.part.offset = range->start - block->start;
            own.part.size   = range->size;
            own.device      = block->device;
            own.inode       = st.st_ino;
            ret             = CUDA_SUCCESS;
        }
    }
    gpu_unlock();
    memset(handle, 0, sizeof(*handle));
    memcpy(handle, &own, sizeof(own));
    return ret;
}

/* As the driver: not in the process that made it. */
GPU_EXPORT CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *ptr,
                                          CUipcMemHandle handle,
                                          unsigned flags)
{
    struct ipc_handle own;
    struct stat st;
    char path[64];
    CUresult ret;
    int fd;

    memcpy(&own, &handle, sizeof(own));
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", own.pid, own.part.fd);
    fd = (own.pid == getpid()) ? -1 : open(path, O_RDWR | O_CLOEXEC);
    GPU_ERROR_IF(fd < 0, MAP_FAILED);
    if ((fstat(fd, &st) != 0) || (st.st_ino != own.inode)) {
        close(fd);
        return CUDA_ERROR_INVALID_HANDLE;
    }

    own.part.fd = fd;
    gpu_lock();
    ret = gpu_open_foreign(&own.part, own.device, ptr);
    gpu_unlock();
    if (ret != CUDA_SUCCESS) {
        close(fd);
    }
    return ret;
}

GPU_EXPORT CUresult cuIpcCloseMemHandle(CUdeviceptr ptr)
{
    return gpu_cuMemFree_v2(ptr);
}
