/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFASIM_DRIVER_REGION_H
#define EFASIM_DRIVER_REGION_H

#include "state.h"

/* Fresh zeroed pages, one region for each of `sizes`, one behind the other:
 * all, or none and a negative errno. */
int drv_regions_alloc(struct drv_ctx *ctx, const size_t *sizes, unsigned num,
                      struct drv_region *regions);

/* All that were made together, from the first to the last; none, if the first
 * is none. */
void drv_regions_free(struct drv_ctx *ctx, struct drv_region *first,
                      const struct drv_region *last);

#endif
