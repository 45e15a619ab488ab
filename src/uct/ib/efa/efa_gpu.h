/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFA_GPU_H_
#define EFA_GPU_H_

#include "efa_md.h"

/* Finds out which GPU memory this device and kernel can register. */
void efa_md_probe_gpu(efa_md_t *md);

#endif
