/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFASIM_DRIVER_REGION_H
#define EFASIM_DRIVER_REGION_H

#include "state.h"

#include <unistd.h>

/* Bytes of a page of this machine, the driver's unit as the kernel's: 4 kB, or
 * 16 or 64 kB on some of aarch64. */
static inline uint64_t drv_page(void)
{
    return sysconf(_SC_PAGESIZE);
}

/* The page's begin, and the begin of the first page that is not before it. */
static inline uint64_t drv_page_down(uint64_t addr)
{
    return addr & ~(drv_page() - 1);
}

static inline uint64_t drv_page_up(uint64_t addr)
{
    return drv_page_down(addr + drv_page() - 1);
}

/* Fresh zeroed pages, one region for each of `sizes`, one behind the other:
 * all, or none and a negative errno. */
int drv_regions_alloc(struct drv_ctx *ctx, const size_t *sizes, unsigned num,
                      struct drv_region *regions);

/* All that were made together, from the first to the last; none, if the first
 * is none. */
void drv_regions_free(struct drv_ctx *ctx, struct drv_region *first,
                      const struct drv_region *last);

/* Map a part of a dma-buf. 0; -EBADF: no descriptor; -EINVAL: not of a dma-buf,
 * or shorter than that. Unmapping one that is not mapped does nothing. */
int drv_dmabuf_map(int fd, uint64_t offset, uint64_t length,
                   struct drv_mapping *map);

/* The same for memory of an emulated GPU that the program has mapped without
 * rights. 0 or -EFAULT: it is no such memory. */
int drv_gpu_map(uint64_t addr, uint64_t length, struct drv_mapping *map);
void drv_dmabuf_unmap(struct drv_mapping *map);

#endif
