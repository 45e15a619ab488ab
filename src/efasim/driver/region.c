/* SPDX-License-Identifier: BSD-3-Clause */
#include "region.h"

#include "efasim/fabric/process.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

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
