/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFA_GPU_H_
#define EFA_GPU_H_

#include "efa_md.h"

/* Finds out which GPU memory this device and kernel can register; without
 * with_dmabuf (UCX_EFA_DMABUF=n) none by dma-buf. */
void efa_md_probe_gpu(efa_md_t *md, int with_dmabuf);

/*
 * Why UCX 1.@minor cannot give this device the memory of an NVIDIA GPU, and
 * what to do about it; NULL: it can. Asks the GPU's driver if it is in this
 * process.
 */
const char *efa_md_gpu_obstacle(const efa_md_t *md);

/* Is the GPU's driver in this process? */
int efa_gpu_has_driver(void);

/* A peer was found: once in the process one warning, if a GPU is in use here
 * whose memory UCX will have to copy through host memory. For set-up paths. */
void efa_md_gpu_warn(const efa_md_t *md);

#endif
