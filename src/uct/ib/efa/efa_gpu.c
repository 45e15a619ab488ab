/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which GPU memory can be registered. Two ways: by address, where a peer memory
 * driver serves EFA (EFA-FACTS: memory and GPUs; nvidia-peermem does not), and
 * by dma-buf, where kernel and libibverbs have the command. UCX is told of
 * nothing that was not found, or it would not copy through host memory.
 */
#include "efa_gpu.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define EFA_PEERMEM_MODULE "/sys/module/efa_nv_peermem/version"

/* Numbers of CUDA's driver interface and of UCX: success, the first UCX that
 * takes dma-bufs, the first that does so without being told, and the attribute
 * of a device that exports them. */
enum {
    EFA_CUDA_SUCCESS        = 0,
    EFA_UCX_DMABUF          = 14,
    EFA_UCX_DMABUF_DEFAULT  = 16,
    EFA_CUDA_ATTR_DMABUF    = 124,
    EFA_CUDA_DEVICES        = 64
};

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

void efa_md_probe_gpu(efa_md_t *md, int with_dmabuf)
{
    md->no_dmabuf    = !with_dmabuf;
    md->gpu_types    = 0;
    md->dmabuf_types = 0;
    if ((access(EFA_PEERMEM_MODULE, F_OK) == 0) ||
        efa_p2p_is_nvidia(md->device)) {
        md->gpu_types = UCS_BIT(UCS_MEMORY_TYPE_CUDA);
    }
    if (with_dmabuf && efa_dmabuf_works(md)) {
        md->dmabuf_types = UCS_BIT(UCS_MEMORY_TYPE_CUDA) |
                           UCS_BIT(UCS_MEMORY_TYPE_ROCM);
    }
    host_debug(md->super.host, "%s: GPU memory: by address %s, by dma-buf %s",
               md->device->name, (md->gpu_types != 0) ? "yes" : "no",
               (md->dmabuf_types != 0) ? "yes" : "no");
}

/* The GPU's driver, if this process has it already. */
static void *efa_cuda_library(void)
{
    return dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
}

int efa_gpu_has_driver(void)
{
    void *library = efa_cuda_library();

    if (library != NULL) {
        dlclose(library);
    }
    return library != NULL;
}

/* A device of the driver's that this process uses; -1: it uses none. */
static int efa_cuda_device_in_use(void *library)
{
    int (*count)(int*);
    int (*state)(int, unsigned*, int*);
    unsigned flags;
    int      i, devices = 0, active;

    count = (int (*)(int*))dlsym(library, "cuDeviceGetCount");
    state = (int (*)(int, unsigned*, int*))dlsym(library,
                                                 "cuDevicePrimaryCtxGetState");
    if ((count == NULL) || (state == NULL) ||
        (count(&devices) != EFA_CUDA_SUCCESS)) {
        return -1;
    }
    for (i = 0; (i < devices) && (i < EFA_CUDA_DEVICES); ++i) {
        if ((state(i, &flags, &active) == EFA_CUDA_SUCCESS) && active) {
            return i;
        }
    }
    return -1;
}

/* 0: the driver says that it exports no dma-bufs. */
static int efa_cuda_exports(void *library, int device)
{
    int (*attribute)(int*, int, int);
    int value = 1;

    attribute = (int (*)(int*, int, int))dlsym(library,
                                               "cuDeviceGetAttribute");
    if ((attribute == NULL) ||
        (attribute(&value, EFA_CUDA_ATTR_DMABUF, device) !=
         EFA_CUDA_SUCCESS)) {
        return 1;
    }
    return value;
}

const char *efa_md_gpu_obstacle(const efa_md_t *md)
{
    unsigned minor = md->super.host->minor;
    void    *library;
    int      device, exports;

    if (md->gpu_types & UCS_BIT(UCS_MEMORY_TYPE_CUDA)) {
        return NULL;
    }
    if (md->no_dmabuf) {
        return "UCX_EFA_DMABUF=n forbids dma-bufs, and peer memory for EFA is "
               "not there: load efa_nv_peermem, or leave the variable out";
    }
    if (md->dmabuf_types == 0) {
        return "neither peer memory for EFA nor dma-bufs are there: load "
               "efa_nv_peermem, or use kernel 5.16 and rdma-core 34 or newer";
    }
    if (minor < EFA_UCX_DMABUF) {
        return "this UCX knows no dma-bufs: use UCX 1.14 or newer, or load "
               "efa_nv_peermem";
    }
    library = efa_cuda_library();
    if (library != NULL) {
        device  = efa_cuda_device_in_use(library);
        exports = efa_cuda_exports(library, (device < 0) ? 0 : device);
        dlclose(library);
        if (!exports) {
            return "NVIDIA's driver exports no dma-bufs: install its open "
                   "kernel modules, or load efa_nv_peermem";
        }
    }
    if ((minor < EFA_UCX_DMABUF_DEFAULT) &&
        !ucx_has_new_protocols(md->super.host)) {
        return "UCX before 1.16 uses dma-bufs only with UCX_PROTO_ENABLE=y: "
               "set it";
    }
    return NULL;
}

void efa_md_gpu_warn(const efa_md_t *md)
{
    static int  told;
    const char *why;
    void       *library;
    int         device;

    if (__atomic_load_n(&told, __ATOMIC_RELAXED)) {
        return;
    }
    library = efa_cuda_library();
    if (library == NULL) {
        return;
    }
    device = efa_cuda_device_in_use(library);
    dlclose(library);
    if (device < 0) {
        return;
    }

    if (__atomic_exchange_n(&told, 1, __ATOMIC_RELAXED)) {
        return;
    }
    why = efa_md_gpu_obstacle(md);
    if ((why != NULL) && ucx_user_is_warned()) {
        host_warn(md->super.host,
                  "%s: GPU memory is copied through host memory: %s; "
                  "'srd_info --check' tells more (UCX_EFA_WARN_FALLBACK=n: no "
                  "such warning)",
                  md->device->name, why);
    }
}
