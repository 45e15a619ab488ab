/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFASIM_DRIVER_DMABUF_H
#define EFASIM_DRIVER_DMABUF_H

#include "state.h"

/* Map a part of a dma-buf. 0; -EBADF: no descriptor; -EINVAL: not of a dma-buf,
 * or shorter than that. Unmapping one that is not mapped does nothing. */
int drv_dmabuf_map(int fd, uint64_t offset, uint64_t length,
                   struct drv_mapping *map);

/* The same for memory of an emulated GPU that the program has mapped without
 * rights. 0 or -EFAULT: it is no such memory. */
int drv_gpu_map(uint64_t addr, uint64_t length, struct drv_mapping *map);
void drv_dmabuf_unmap(struct drv_mapping *map);

#endif
