/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which GPU memory can be registered. Two ways: by address, where a peer memory
 * driver serves EFA (EFA-FACTS: memory and GPUs; nvidia-peermem does not), and
 * by dma-buf, where kernel and libibverbs have the command. UCX is told of
 * nothing that was not found, or it would not copy through host memory.
 */
#include "efa_gpu.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define EFA_PEERMEM_MODULE "/sys/module/efa_nv_peermem/version"

/* The driver names its peer memory provider, "NVIDIA" or another. */
static int efa_p2p_is_nvidia(const efa_device_t *device)
{
    char path[sizeof(device->context->device->ibdev_path) + 16];
    char text[64];

    snprintf(path, sizeof(path), "%s/device/p2p",
             device->context->device->ibdev_path);
    return (efa_file_read(path, text, sizeof(text)) == 0) &&
           (strncmp(text, "NVIDIA", 6) == 0);
}

/* Whether dma-bufs can be registered: the kernel looks at the descriptor only
 * when it knows the command, so a bad one makes it tell. */
static int efa_dmabuf_works(const efa_md_t *md)
{
    struct ibv_mr *mr;

    if (md->device->verbs->reg_dmabuf_mr == NULL) {
        return 0;
    }
    errno = 0;
    mr    = md->device->verbs->reg_dmabuf_mr(md->pd, 0, sysconf(_SC_PAGESIZE),
                                             0, -1, md->access);
    if (mr != NULL) { /* no kernel does that */
        md->device->verbs->dereg_mr(mr);
        return 0;
    }
    return errno == EBADF;
}

void efa_md_probe_gpu(efa_md_t *md)
{
    md->gpu_types    = 0;
    md->dmabuf_types = 0;
    if ((access(EFA_PEERMEM_MODULE, F_OK) == 0) ||
        efa_p2p_is_nvidia(md->device)) {
        md->gpu_types = UCS_BIT(UCS_MEMORY_TYPE_CUDA);
    }
    if (efa_dmabuf_works(md)) {
        md->dmabuf_types = UCS_BIT(UCS_MEMORY_TYPE_CUDA) |
                           UCS_BIT(UCS_MEMORY_TYPE_ROCM);
    }
    host_debug(md->super.host, "%s: GPU memory: by address %s, by dma-buf %s",
               md->device->name, (md->gpu_types != 0) ? "yes" : "no",
               (md->dmabuf_types != 0) ? "yes" : "no");
}
