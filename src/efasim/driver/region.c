/* SPDX-License-Identifier: BSD-3-Clause */
#include "region.h"

#include "efasim/fabric/process.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

static int ctx_region_alloc(struct drv_ctx *ctx, size_t size,
                            struct drv_region *region)
{
    void *ptr;

    size = (size + DRV_PAGE - 1) & ~(size_t)(DRV_PAGE - 1);
    if (size == 0) {
        size = DRV_PAGE;
    }
    if (fabric_process_check_size(ctx->size + size) != 0) {
        drv_log("no memory for a queue: raise the limit on file sizes (ulimit "
                "-f)");
        return -ENOMEM;
    }
    if (ftruncate(ctx->fd, ctx->size + size) != 0) {
        return -errno;
    }

    ptr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, ctx->fd,
               ctx->size);
    if (ptr == MAP_FAILED) {
        return -errno;
    }

    region->ptr    = ptr;
    region->offset = ctx->size;
    region->size   = size;
    ctx->size     += size;
    return 0;
}

int drv_regions_alloc(struct drv_ctx *ctx, const size_t *sizes, unsigned num,
                      struct drv_region *regions)
{
    unsigned i;
    int ret;

    for (i = 0; i < num; ++i) {
        ret = ctx_region_alloc(ctx, sizes[i], &regions[i]);
        if (ret != 0) {
            while (i-- > 0) {
                drv_region_free(ctx, &regions[i]);
            }
            return ret;
        }
    }

    return 0;
}

void drv_region_free(struct drv_ctx *ctx, struct drv_region *region)
{
    if (region->ptr == NULL) {
        return;
    }

    munmap(region->ptr, region->size);
    /* offsets are never used again; the pages go back now. The descriptor may
     * be closed already: then they went with it. */
    if (fallocate(ctx->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  region->offset, region->size) != 0) {
        region->size = 0;
    }
    region->ptr = NULL;
}
