/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GPUs: whether the EFA reaches their memory, by what, and what is missing if
 * it does not; and which EFA is near which GPU.
 */
#include "info.h"

#include <uct/ib/efa/efa_gpu.h>

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    GPU_FUNCTIONS_MAX = 64
};

/* A GPU or an EFA. */
typedef struct function {
    char address[16];      /* "0000:10:1c.0" */
    char path[PATH_MAX];   /* its folder, links resolved */
    char name[64];         /* of an EFA: "rdmap16s27" or its address */
} function_t;

typedef struct functions {
    function_t gpus[GPU_FUNCTIONS_MAX];
    function_t efas[GPU_FUNCTIONS_MAX];
    unsigned   gpu_count, efa_count;
    int        is_nvidia; /* one of them at least */
} functions_t;

static void function_text(const info_t *info, const char *address,
                          const char *file, char *text, size_t size)
{
    char path[512];

    snprintf(path, sizeof(path), "/sys/bus/pci/devices/%.64s/%s", address,
             file);
    if (info_read(info, path, text, size) != 0) {
        text[0] = '\0';
    }
}

/* The verbs device below an EFA's folder; its address if there is none. */
static void efa_name(function_t *efa)
{
    struct dirent *entry;
    char path[PATH_MAX + 16];
    DIR *dir;

    snprintf(efa->name, sizeof(efa->name), "%s", efa->address);
    snprintf(path, sizeof(path), "%s/infiniband", efa->path);
    dir = opendir(path);
    while ((dir != NULL) && ((entry = readdir(dir)) != NULL)) {
        if (entry->d_name[0] != '.') {
            snprintf(efa->name, sizeof(efa->name), "%.60s", entry->d_name);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
}

static function_t *function_add(const info_t *info, const char *address,
                                function_t *functions, unsigned *count)
{
    function_t *function = &functions[*count];
    char path[PATH_MAX], full[PATH_MAX];

    if (*count == GPU_FUNCTIONS_MAX) {
        return NULL;
    }
    snprintf(function->address, sizeof(function->address), "%.15s", address);
    snprintf(path, sizeof(path), "/sys/bus/pci/devices/%.64s", address);
    info_path(info, path, full);
    if (realpath(full, function->path) == NULL) {
        snprintf(function->path, sizeof(function->path), "%s", full);
    }
    ++*count;
    return function;
}

/* PCI vendors of GPUs with memory of their own: NVIDIA, AMD. */
static void function_sort(const info_t *info, const char *address,
                          functions_t *all)
{
    char vendor[32], device[32], kind[32];
    function_t *efa;

    function_text(info, address, "vendor", vendor, sizeof(vendor));
    function_text(info, address, "device", device, sizeof(device));
    function_text(info, address, "class", kind, sizeof(kind));
    if (!strcmp(vendor, "0x1d0f") && !strncmp(device, "0xefa", 5)) {
        efa = function_add(info, address, all->efas, &all->efa_count);
        if (efa != NULL) {
            efa_name(efa);
        }
    } else if (!strncmp(kind, "0x03", 4) &&
               (!strcmp(vendor, "0x10de") || !strcmp(vendor, "0x1002"))) {
        (void)function_add(info, address, all->gpus, &all->gpu_count);
        all->is_nvidia |= !strcmp(vendor, "0x10de");
    }
}

static void functions_find(const info_t *info, functions_t *all)
{
    struct dirent **entries;
    char path[PATH_MAX];
    int i, count;

    memset(all, 0, sizeof(*all));
    info_path(info, "/sys/bus/pci/devices", path);
    count = scandir(path, &entries, NULL, alphasort);
    for (i = 0; i < count; ++i) {
        if (entries[i]->d_name[0] != '.') {
            function_sort(info, entries[i]->d_name, all);
        }
        free(entries[i]);
    }
    if (count >= 0) {
        free(entries);
    }
}

/* Folders that two functions have in common: a bridge more is nearer. */
static unsigned common_folders(const char *a, const char *b)
{
    unsigned folders = 0;

    for (; (*a != '\0') && (*a == *b); ++a, ++b) {
        folders += (*a == '/');
    }
    return folders;
}

/* The EFAs that share most with a GPU: "rdmap16s27" or several. */
static void gpu_near(const functions_t *all, const function_t *gpu, char *text,
                     size_t size)
{
    unsigned i, common, best = 0, far = UINT_MAX;

    text[0] = '\0';
    for (i = 0; i < all->efa_count; ++i) {
        common = common_folders(gpu->path, all->efas[i].path);
        best   = (common > best) ? common : best;
        far    = (common < far) ? common : far;
    }
    for (i = 0; (i < all->efa_count) && ((far < best) || (all->efa_count == 1));
         ++i) {
        if (common_folders(gpu->path, all->efas[i].path) == best) {
            size_t at = strlen(text);

            snprintf(text + at, size - at, "%s%s", (at > 0) ? ", " : "",
                     all->efas[i].name);
        }
    }
}

static void report_near(info_t *info, const functions_t *all)
{
    char near[INFO_TEXT_MAX / 2];
    unsigned i;

    for (i = 0; (i < all->gpu_count) && (all->efa_count > 0); ++i) {
        gpu_near(all, &all->gpus[i], near, sizeof(near));
        if (near[0] == '\0') {
            snprintf(near, sizeof(near), "all EFAs are equally far");
        }
        info_report(info, INFO_OK, "GPU place", NULL, "GPU %u (%s): %s%s", i,
                    all->gpus[i].address,
                    strchr(near, ' ') && !strchr(near, ',') ? "" : "near ",
                    near);
    }
}

/* A driver of the EFA's that offers GPU memory by address. NVIDIA's own
 * nvidia_peermem is for InfiniBand's drivers. */
static int has_peer_memory(const info_t *info, const functions_t *all)
{
    char text[64];
    unsigned i;

    if (info_exists(info, "/sys/module/efa_nv_peermem")) {
        return 1;
    }
    for (i = 0; i < all->efa_count; ++i) {
        function_text(info, all->efas[i].address, "p2p", text, sizeof(text));
        if (strncmp(text, "NVIDIA", 6) == 0) {
            return 1;
        }
    }
    return 0;
}

/* The driver exports dma-bufs; so does the one that efasim emulates. */
static int driver_is_open(const info_t *info)
{
    char text[256];

    return ((info_read(info, "/proc/driver/nvidia/version", text,
                       sizeof(text)) == 0) &&
            (strstr(text, "Open Kernel Module") != NULL)) ||
           ((info_read(info, "/sys/module/nvidia/version", text,
                       sizeof(text)) == 0) && !strcmp(text, "emulated"));
}

/* Whether kernel and libibverbs register dma-bufs for the first EFA: 1 yes, 0
 * no, -1: no device can be opened here. */
static int has_dmabuf(info_t *info)
{
    efa_md_t md = {.super.host = &info->host};
    int answer  = -1;

    if ((info->device_count == 0) ||
        (efa_device_open(&info->host, info->devices[0], &md.device) !=
         UCS_OK)) {
        return -1;
    }
    md.pd = md.device->verbs->alloc_pd(md.device->context);
    if (md.pd != NULL) {
        md.access = IBV_ACCESS_LOCAL_WRITE;
        efa_md_probe_gpu(&md, 1);
        answer = (md.dmabuf_types != 0);
        md.device->verbs->dealloc_pd(md.pd);
    }
    efa_device_close(md.device);
    return answer;
}

/* The one thing that is missing for dma-bufs; NULL: nothing. */
static const char *dmabuf_missing(info_t *info, const char **remedy)
{
    const probe_t *probe = &info->direct;

    if (info_wishes("UCX_EFA_DMABUF", 0)) {
        *remedy = "leave it out, or load efa_nv_peermem";
        return "UCX_EFA_DMABUF=n forbids dma-bufs";
    }
    if (has_dmabuf(info) == 0) {
        *remedy = "kernel 5.16 and rdma-core 34 or newer; or the EFA "
                  "installer's driver with efa_nv_peermem";
        return "this kernel or libibverbs registers no dma-bufs";
    }
    if (!driver_is_open(info)) {
        *remedy = "install NVIDIA's open kernel modules (nvidia-open), which "
                  "export dma-bufs";
        return "NVIDIA's driver is not the open one and exports no dma-bufs";
    }
    if ((probe->minor > 0) && (probe->minor < 14)) {
        *remedy = "UCX 1.14 or newer; or efa_nv_peermem";
        return "this UCX knows no dma-bufs";
    }
    return NULL;
}

/* The UCX here finds no GPU memory: its modules for that are not installed. */
static int ucx_is_blind(const info_t *info)
{
    return (info->direct.major > 0) &&
           !(info->direct.ucp_types & UCS_BIT(UCS_MEMORY_TYPE_CUDA));
}

static void report_nvidia(info_t *info, const functions_t *all)
{
    const char *remedy = NULL;
    int peer           = has_peer_memory(info, all);
    const char *why    = peer ? NULL : dmabuf_missing(info, &remedy);

    if (why != NULL) {
        info_report(info, INFO_WARN, "GPU memory", remedy,
                    "%u GPUs, neither peer memory nor dma-buf: %s; UCX copies "
                    "through host memory",
                    all->gpu_count, why);
    } else if (ucx_is_blind(info)) {
        info_report(info, INFO_WARN, "GPU memory",
                    "a UCX with CUDA (PyPI: libucx-cu12, libucx-cu13), and "
                    "the driver's libcuda.so.1 where the loader finds it",
                    "%u GPUs, whose memory the EFA reaches by %s; but this "
                    "UCX knows no CUDA memory", all->gpu_count,
                    peer ? "peer memory" : "dma-buf");
    } else if (!peer && (info->direct.minor > 0) &&
               (info->direct.minor < 16)) {
        info_report(info, INFO_OK, "GPU memory", NULL,
                    "%u GPUs, whose memory the EFA reaches by dma-buf; this "
                    "UCX does so with UCX_PROTO_ENABLE=y", all->gpu_count);
    } else {
        info_report(info, INFO_OK, "GPU memory", NULL,
                    "%u GPUs, whose memory the EFA reaches by %s",
                    all->gpu_count, peer ? "peer memory" : "dma-buf");
    }
}

/* UCX's device API, by which kernels begin transfers (transport srd_gpu). */
static void report_kernels(info_t *info)
{
    if ((info->direct.major == 1) && (info->direct.minor < 22)) {
        info_report(info, INFO_OK, "GPU kernels", NULL,
                    "this UCX has no device API for them (1.22 and newer "
                    "have)");
    } else if (info->direct.major > 0) {
        info_report(info, INFO_OK, "GPU kernels", NULL,
                    "srd_gpu serves UCX's device API, where EFA and "
                    "rdma-core have RDMA write");
    }
}

void check_gpu(info_t *info)
{
    static functions_t all;

    functions_find(info, &all);
    if (all.gpu_count == 0) {
        info_report(info, INFO_OK, "GPU memory", NULL, "no GPU here");
        return;
    }
    if (!info_exists(info, "/sys/module/nvidia") &&
        !info_exists(info, "/sys/module/amdgpu")) {
        info_report(info, INFO_WARN, "GPU memory",
                    "install the GPU's driver, or pass it to the container",
                    "%u GPUs without a driver", all.gpu_count);
    } else if (all.is_nvidia) {
        report_nvidia(info, &all);
        report_kernels(info);
    } else {
        info_report(info, INFO_OK, "GPU memory", NULL,
                    "%u GPUs, whose memory the EFA may reach", all.gpu_count);
    }
    report_near(info, &all);
}
