/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mapping dma-bufs. Where there is no exporter of them, and small kernels have
 * none, a memfd stands in.
 */
#include "dmabuf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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

int drv_dmabuf_map(int fd, uint64_t offset, uint64_t length,
                   struct drv_mapping *map)
{
    uint64_t first = offset & ~(uint64_t)(DRV_PAGE - 1);
    off_t end      = lseek(fd, 0, SEEK_END);

    if ((end < 0) && (errno == EBADF)) {
        return -EBADF; /* what programs probe with */
    }
    if (!dmabuf_is_one(fd) || (end < 0) || (length == 0) ||
        (offset + length < offset) || ((uint64_t)end < offset + length)) {
        return -EINVAL;
    }

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

void drv_dmabuf_unmap(struct drv_mapping *map)
{
    if (map->start != NULL) {
        munmap(map->start, map->size);
        map->start = NULL;
    }
}
