/* SPDX-License-Identifier: BSD-3-Clause */
#include "gpu.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t   gpu_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct gpu_block  gpu_blocks[GPU_BLOCKS];
static struct gpu_range  gpu_ranges[GPU_RANGES];
static unsigned          gpu_range_count;
static struct gpu_reserved gpu_reserved[GPU_RESERVED];
static uint64_t          gpu_next_id;
static _Atomic uint64_t  gpu_copied[GPU_COPY_KINDS];

void gpu_lock(void)
{
    pthread_mutex_lock(&gpu_mutex);
}

void gpu_unlock(void)
{
    pthread_mutex_unlock(&gpu_mutex);
}

/* By the bare system call: UCX stands in front of mmap and munmap, and a GPU's
 * driver does not call those either. */
static void *gpu_mmap(uint64_t address, size_t size, int rights, int fd)
{
    long ret = syscall(SYS_mmap, address, size, rights,
                       MAP_SHARED | (address ? MAP_FIXED_NOREPLACE : 0), fd,
                       0);

    return (ret == -1) ? NULL : (void*)ret;
}

/* Index of the first allocation that ends beyond `ptr`. */
static unsigned range_index(CUdeviceptr ptr)
{
    unsigned low = 0, high = gpu_range_count, mid;

    while (low < high) {
        mid = (low + high) / 2;
        if (gpu_ranges[mid].start + gpu_ranges[mid].size <= ptr) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }

    return low;
}

const struct gpu_range *gpu_range_find(CUdeviceptr ptr)
{
    unsigned i = range_index(ptr);

    return ((i < gpu_range_count) && (gpu_ranges[i].start <= ptr)) ?
           &gpu_ranges[i] : NULL;
}

const struct gpu_block *gpu_range_block(const struct gpu_range *range)
{
    return &gpu_blocks[range->block];
}

/* The lowest free addresses of a device: what was freed comes back first, as
 * with a driver. 0: none. */
static CUdeviceptr block_place(int device, size_t size)
{
    CUdeviceptr at  = GPU_VA_BASE + device * GPU_VA_DEVICE;
    CUdeviceptr end = at + GPU_VA_DEVICE;
    unsigned i;

    for (i = 0; i < GPU_BLOCKS; ++i) {
        const struct gpu_block *block = &gpu_blocks[i];

        if ((block->start != 0) && (block->start < at + size) &&
            (block->start + block->size > at)) {
            at = block->start + block->size;
            i  = -1u; /* again from the first */
        }
    }

    return (at + size <= end) ? at : 0;
}

static int block_map_at(struct gpu_block *block, CUdeviceptr start, int device,
                        size_t size, int fd)
{
    if (start == 0) {
        return -1;
    }
    block->alias = gpu_mmap(0, size, PROT_READ | PROT_WRITE, fd);
    if (block->alias == NULL) {
        return -1;
    }
    if (gpu_mmap(start, size, PROT_NONE, fd) == NULL) {
        syscall(SYS_munmap, block->alias, size);
        return -1;
    }

    block->start  = start;
    block->size   = size;
    block->fd     = fd;
    block->device = device;
    block->ranges = 0;
    block->handle = 0;
    return 0;
}

static int block_map(struct gpu_block *block, int device, size_t size, int fd)
{
    return block_map_at(block, block_place(device, size), device, size, fd);
}

static struct gpu_block *block_unused(void)
{
    unsigned i;

    for (i = 0; i < GPU_BLOCKS; ++i) {
        if (gpu_blocks[i].start == 0) {
            return &gpu_blocks[i];
        }
    }

    return NULL;
}

static struct gpu_block *block_new(int device, size_t size)
{
    struct gpu_block *block = block_unused();
    int fd;

    size = (size + GPU_BLOCK - 1) & ~(size_t)(GPU_BLOCK - 1);
    fd   = (block == NULL) ? -1 : memfd_create(GPU_FD_MEMORY, MFD_CLOEXEC);
    if (fd < 0) {
        return NULL;
    }
    if ((ftruncate(fd, size) != 0) ||
        (block_map(block, device, size, fd) != 0)) {
        close(fd);
        return NULL;
    }

    block->foreign = 0;
    return block;
}

static void block_release(struct gpu_block *block)
{
    syscall(SYS_munmap, block->start, block->size);
    syscall(SYS_munmap, block->alias, block->size);
    close(block->fd);
    block->start = 0;
}

/* The lowest room for `size` bytes in a shared block; 0: none. */
static CUdeviceptr block_room(const struct gpu_block *block, size_t size)
{
    CUdeviceptr at = block->start;
    unsigned i     = range_index(at);

    for (; (i < gpu_range_count) &&
           (gpu_ranges[i].start < block->start + block->size); ++i) {
        if (gpu_ranges[i].start >= at + size) {
            break;
        }
        at = gpu_ranges[i].start + gpu_ranges[i].size + GPU_ALIGN - 1;
        at = at & ~(CUdeviceptr)(GPU_ALIGN - 1);
    }

    return (at + size <= block->start + block->size) ? at : 0;
}

static CUresult range_add(struct gpu_block *block, CUdeviceptr start,
                          size_t size, CUdeviceptr *ptr)
{
    unsigned i = range_index(start);

    GPU_ERROR_IF(gpu_range_count == GPU_RANGES, OUT_OF_MEMORY);
    memmove(&gpu_ranges[i + 1], &gpu_ranges[i],
            (gpu_range_count - i) * sizeof(gpu_ranges[0]));
    gpu_ranges[i] = (struct gpu_range){
        .start = start,
        .size  = size,
        .block = block - gpu_blocks,
        .id    = ++gpu_next_id,
    };
    ++gpu_range_count;
    ++block->ranges;
    *ptr = start;
    return CUDA_SUCCESS;
}

CUresult gpu_alloc(int device, size_t size, CUdeviceptr *ptr)
{
    struct gpu_block *block;
    CUdeviceptr room;
    CUresult ret;

    GPU_ERROR_IF(size == 0, INVALID_VALUE);
    if (size <= GPU_BLOCK / 2) {
        for (block = gpu_blocks; block < gpu_blocks + GPU_BLOCKS; ++block) {
            if ((block->start == 0) || (block->device != device) ||
                (block->size != GPU_BLOCK) || block->foreign ||
                (block->handle != 0)) {
                continue;
            }
            room = block_room(block, size);
            if (room != 0) {
                return range_add(block, room, size, ptr);
            }
        }
    }

    block = (size > GPU_MEMORY) ? NULL : block_new(device, size);
    GPU_ERROR_IF(block == NULL, OUT_OF_MEMORY);
    ret = range_add(block, block->start, size, ptr);
    if (ret != CUDA_SUCCESS) {
        block_release(block);
    }
    return ret;
}

/* The block goes with its last allocation. */
static void range_remove(const struct gpu_range *range)
{
    struct gpu_block *block = &gpu_blocks[range->block];
    unsigned i              = range - gpu_ranges;

    memmove(&gpu_ranges[i], &gpu_ranges[i + 1],
            (gpu_range_count - i - 1) * sizeof(gpu_ranges[0]));
    --gpu_range_count;
    if (--block->ranges == 0) {
        block_release(block);
    }
}

CUresult gpu_free(CUdeviceptr ptr)
{
    const struct gpu_range *range = gpu_range_find(ptr);

    GPU_ERROR_IF((range == NULL) || (range->start != ptr) ||
                 (gpu_blocks[range->block].handle != 0), INVALID_VALUE);

    range_remove(range);
    return CUDA_SUCCESS;
}

CUresult gpu_reserve(size_t size, CUdeviceptr *ptr)
{
    CUdeviceptr at = GPU_VA_RESERVED;
    unsigned i, unused = GPU_RESERVED;

    for (i = 0; i < GPU_RESERVED; ++i) {
        if (gpu_reserved[i].start == 0) {
            unused = i;
        } else if ((gpu_reserved[i].start < at + size) &&
                   (gpu_reserved[i].start + gpu_reserved[i].size > at)) {
            at = gpu_reserved[i].start + gpu_reserved[i].size;
            i  = -1u; /* again from the first */
        }
    }
    GPU_ERROR_IF((unused == GPU_RESERVED) || (size > GPU_VA_END - at),
                 OUT_OF_MEMORY);
    gpu_reserved[unused].start = at;
    gpu_reserved[unused].size  = size;
    *ptr                       = at;
    return CUDA_SUCCESS;
}

/* The reservation that has all of a range; NULL: none. */
static struct gpu_reserved *reserved_find(CUdeviceptr ptr, size_t size)
{
    struct gpu_reserved *at;

    for (at = gpu_reserved; at < gpu_reserved + GPU_RESERVED; ++at) {
        if ((at->start != 0) && (ptr >= at->start) &&
            (ptr + size <= at->start + at->size)) {
            return at;
        }
    }
    return NULL;
}

/* An allocation of these addresses begins below `ptr + size`. */
static int is_mapped(CUdeviceptr ptr, size_t size)
{
    unsigned i = range_index(ptr);

    return (i < gpu_range_count) && (gpu_ranges[i].start < ptr + size);
}

CUresult gpu_unreserve(CUdeviceptr ptr, size_t size)
{
    struct gpu_reserved *at = reserved_find(ptr, size);

    GPU_ERROR_IF((at == NULL) || (at->start != ptr) || (at->size != size) ||
                 is_mapped(ptr, size), INVALID_VALUE);
    at->start = 0;
    return CUDA_SUCCESS;
}

CUresult gpu_map(const struct gpu_part *part, int device, unsigned handle,
                 CUdeviceptr ptr)
{
    struct gpu_block *block = block_unused();
    CUresult ret;

    GPU_ERROR_IF((block == NULL) || (reserved_find(ptr, part->size) == NULL) ||
                 is_mapped(ptr, part->size), INVALID_VALUE);
    GPU_ERROR_IF(block_map_at(block, ptr, device, part->size, part->fd) != 0,
                 MAP_FAILED);
    block->foreign = 0;
    block->handle  = handle;
    ret            = range_add(block, ptr, part->size, &ptr);
    if (ret != CUDA_SUCCESS) {
        block_release(block);
    }
    return ret;
}

CUresult gpu_unmap(CUdeviceptr ptr, size_t size)
{
    GPU_ERROR_IF((reserved_find(ptr, size) == NULL) || !is_mapped(ptr, size),
                 INVALID_VALUE);
    while (is_mapped(ptr, size)) {
        gpu_handle_put(gpu_range_block(&gpu_ranges[range_index(ptr)])->handle);
        range_remove(&gpu_ranges[range_index(ptr)]);
    }
    return CUDA_SUCCESS;
}

CUresult gpu_open_foreign(const struct gpu_part *part, int device,
                          CUdeviceptr *ptr)
{
    struct gpu_block *block = block_unused();
    CUresult ret;

    GPU_ERROR_IF((block == NULL) ||
                 (block_map(block, device, part->block, part->fd) != 0),
                 MAP_FAILED);
    block->foreign = 1;
    ret            = range_add(block, block->start + part->offset, part->size,
                               ptr);
    if (ret != CUDA_SUCCESS) {
        block_release(block);
    }
    return ret;
}

static int is_device_address(CUdeviceptr ptr)
{
    return (ptr >= GPU_VA_BASE) &&
           (ptr < GPU_VA_END);
}

void *gpu_reach(CUdeviceptr ptr, size_t size)
{
    const struct gpu_range *range;
    const struct gpu_block *block;
    void *at = NULL;

    if (!is_device_address(ptr)) {
        return (void*)(uintptr_t)ptr;
    }

    gpu_lock();
    range = gpu_range_find(ptr);
    if ((range != NULL) && (ptr + size <= range->start + range->size)) {
        block = gpu_range_block(range);
        at    = block->alias + (ptr - block->start);
    }
    gpu_unlock();
    return at;
}

static _Atomic unsigned long gpu_waits;

void gpu_count_wait(void)
{
    atomic_fetch_add(&gpu_waits, 1);
}

/* The kinds by name, for the tests. */
static void gpu_copies_tell(void)
{
    const char *file = getenv("FAKE_GPU_COPIES");
    FILE *out        = (file != NULL) ? fopen(file, "a") : NULL;

    if (out != NULL) {
        fprintf(out, "pid=%d htod=%llu dtoh=%llu dtod=%llu waits=%lu\n",
                (int)getpid(),
                (unsigned long long)gpu_copied[GPU_COPY_HTOD],
                (unsigned long long)gpu_copied[GPU_COPY_DTOH],
                (unsigned long long)gpu_copied[GPU_COPY_DTOD], gpu_waits);
        fclose(out);
    }
}

GPU_EXPORT void fake_gpu_copied(uint64_t copied[GPU_COPY_KINDS])
{
    unsigned kind;

    for (kind = 0; kind < GPU_COPY_KINDS; ++kind) {
        copied[kind] = gpu_copied[kind];
    }
}

void gpu_count_copy(CUdeviceptr dst, CUdeviceptr src, size_t size)
{
    static _Atomic int told;
    unsigned kind;

    if (!is_device_address(dst) && !is_device_address(src)) {
        return;
    }
    if (!atomic_exchange(&told, 1)) {
        atexit(gpu_copies_tell);
    }
    kind = !is_device_address(src) ? GPU_COPY_HTOD :
           !is_device_address(dst) ? GPU_COPY_DTOH : GPU_COPY_DTOD;
    atomic_fetch_add(&gpu_copied[kind], size);
}

/* Bytes from `ptr` to the end of its block; of host memory all. */
static size_t copy_piece(CUdeviceptr ptr, size_t size)
{
    size_t rest = GPU_BLOCK - ptr % GPU_BLOCK;

    return (!is_device_address(ptr) || (size < rest)) ? size : rest;
}

/* Block by block, as each may be of another handle. */
CUresult gpu_copy(CUdeviceptr dst, CUdeviceptr src, size_t size)
{
    const void *from;
    size_t piece;
    void *to;

    gpu_count_copy(dst, src, size);
    do {
        piece = copy_piece(dst, copy_piece(src, size));
        to    = gpu_reach(dst, piece);
        from  = gpu_reach(src, piece);
        if ((to == NULL) || (from == NULL)) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        memmove(to, from, piece);
        dst  += piece;
        src  += piece;
        size -= piece;
    } while (size > 0);
    return CUDA_SUCCESS;
}
