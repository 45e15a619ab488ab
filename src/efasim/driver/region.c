/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pages that we map, too: of queues, of dma-bufs, and of an emulated GPU by its
 * address, as a driver with peer memory can. Where there is no exporter of
 * dma-bufs, and small kernels have none, a memfd stands in.
 */
#include "region.h"
#include "gpu_fd.h"

#include "efasim/fabric/process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static size_t region_size(size_t size)
{
    return drv_page_up(size ? size : 1);
}

int drv_regions_alloc(struct drv_ctx *ctx, const size_t *sizes, unsigned num,
                      struct drv_region *regions)
{
    size_t size = 0;
    uint8_t *ptr;
    unsigned i;

    for (i = 0; i < num; ++i) {
        size += region_size(sizes[i]);
    }
    if (fabric_process_check_size(ctx->size + size) != 0) {
        drv_log("no memory for a queue: raise the limit on file sizes (ulimit "
                "-f)");
        return -ENOMEM;
    }
    if (size == 0) {
        return 0;
    }
    if (ftruncate(ctx->fd, ctx->size + size) != 0) {
        return -errno;
    }
    ptr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, ctx->fd,
               ctx->size);
    if (ptr == MAP_FAILED) {
        return -errno;
    }

    for (i = 0; i < num; ++i) {
        regions[i].ptr    = ptr;
        regions[i].offset = ctx->size;
        regions[i].size   = region_size(sizes[i]);
        ptr              += regions[i].size;
        ctx->size        += regions[i].size;
    }
    return 0;
}

void drv_regions_free(struct drv_ctx *ctx, struct drv_region *first,
                      const struct drv_region *last)
{
    size_t size;

    if (first->ptr == NULL) {
        return;
    }

    size = last->ptr + last->size - first->ptr;
    munmap(first->ptr, size);
    first->ptr = NULL;
    /* offsets are never used again; the pages go back now. The descriptor may
     * be closed already: then they went with it. */
    if (fallocate(ctx->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  first->offset, size) != 0) {
        first->size = 0;
    }
}

/* 1: a descriptor that a dma-buf's could be. */
static int dmabuf_is_one(int fd)
{
    char link[64], target[64];
    ssize_t length;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    length = readlink(link, target, sizeof(target) - 1);
    if (length < 0) {
        return 0;
    }

    target[length] = '\0';
    return !strncmp(target, "/memfd:", 7) || !strncmp(target, "/dmabuf:", 8);
}

/* Maps the parts of an emulated GPU's dma-buf. 1: done; 0: `fd` is no such one;
 * -EINVAL: of memory that is gone, or shorter. */
static int dmabuf_map_gpu(int fd, uint64_t offset, uint64_t length,
                          struct drv_mapping *map)
{
    uint64_t first = drv_page_down(offset), end = offset + length, at = 0, from;
    struct gpu_fd_dmabuf part = { 0 };
    off_t next                = 0;
    struct stat st;
    size_t size;

    for (; (pread(fd, &part, sizeof(part), next) == sizeof(part)) &&
           (part.magic == GPU_FD_MAGIC) && (at < end);
         at += part.length, next += sizeof(part)) {
        if (at + part.length <= first) {
            continue;
        }
        if (map->start == NULL) {
            map->size  = end - first;
            map->start = mmap(NULL, map->size, PROT_NONE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (map->start == MAP_FAILED) {
                map->start = NULL;
                return -errno;
            }
            map->addr = (uintptr_t)map->start + (offset - first);
        }
        from = (at < first) ? first : at;
        size = ((at + part.length < end) ? at + part.length : end) - from;
        if ((fstat(part.fd, &st) != 0) || (st.st_ino != part.inode) ||
            ((uint64_t)st.st_size < part.offset + (from - at) + size) ||
            (mmap((uint8_t*)map->start + (from - first), size,
                  PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, part.fd,
                  part.offset + (from - at)) == MAP_FAILED)) {
            break;
        }
    }
    if ((next == 0) && (map->start == NULL)) {
        return 0;
    }
    if (at >= end) {
        return 1;
    }
    drv_dmabuf_unmap(map);
    return -EINVAL;
}

int drv_dmabuf_map(int fd, uint64_t offset, uint64_t length,
                   struct drv_mapping *map)
{
    uint64_t first;
    off_t end = lseek(fd, 0, SEEK_END);
    int ret;

    if ((end < 0) && (errno == EBADF)) {
        return -EBADF; /* what programs probe with */
    }
    if (!dmabuf_is_one(fd) || (end < 0) || (length == 0) ||
        (offset + length < offset)) {
        return -EINVAL;
    }
    ret = dmabuf_map_gpu(fd, offset, length, map);
    if (ret != 0) {
        return (ret < 0) ? ret : 0;
    }
    if ((uint64_t)end < offset + length) {
        return -EINVAL;
    }

    first      = drv_page_down(offset);
    map->size  = offset + length - first;
    map->start = mmap(NULL, map->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                      first);
    if (map->start == MAP_FAILED) {
        map->start = NULL;
        return -errno;
    }

    map->addr = (uintptr_t)map->start + (offset - first);
    return 0;
}

/* 1: this line of /proc/self/maps is GPU memory that has all of the range. */
static int dmabuf_line_has(const char *line, uint64_t addr, uint64_t length)
{
    unsigned long long start, end;

    return (strstr(line, "/memfd:" GPU_FD_MEMORY) != NULL) &&
           (sscanf(line, "%llx-%llx", &start, &end) == 2) &&
           (addr >= start) && (addr + length <= end);
}

/* A second mapping of the same pages, with rights that the first has not:
 * mremap() makes one of a shared mapping when it is asked to move 0 bytes. */
static int dmabuf_map_again(uint64_t addr, uint64_t length,
                            struct drv_mapping *map)
{
    uint64_t first = drv_page_down(addr);
    void *again;

    map->size = addr + length - first;
    again     = mremap((void*)(uintptr_t)first, 0, map->size, MREMAP_MAYMOVE);
    if (again == MAP_FAILED) {
        return -EFAULT;
    }
    if (mprotect(again, map->size, PROT_READ | PROT_WRITE) != 0) {
        munmap(again, map->size);
        return -EFAULT;
    }

    map->start = again;
    map->addr  = (uintptr_t)again + (addr - first);
    return 0;
}

int drv_gpu_map(uint64_t addr, uint64_t length, struct drv_mapping *map)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[PATH_MAX + 128];
    int ret = -EFAULT;

    while ((maps != NULL) && (ret != 0) &&
           (fgets(line, sizeof(line), maps) != NULL)) {
        if (dmabuf_line_has(line, addr, length)) {
            ret = dmabuf_map_again(addr, length, map);
            break;
        }
    }
    if (maps != NULL) {
        fclose(maps);
    }
    return ret;
}

void drv_dmabuf_unmap(struct drv_mapping *map)
{
    if (map->start != NULL) {
        munmap(map->start, map->size);
        map->start = NULL;
    }
}
