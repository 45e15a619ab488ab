/* SPDX-License-Identifier: BSD-3-Clause */
/* Huge pages, and the way to the memory of GPUs. */
#include "info.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

/* The number in the line of /proc/meminfo that begins with @name, or 0. */
static unsigned long meminfo(const char *text, const char *name)
{
    const char *line = strstr(text, name);

    return (line == NULL) ? 0 : strtoul(line + strlen(name), NULL, 10);
}

void check_memory(info_t *info)
{
    char text[8192];
    unsigned long total, unused;

    if (info_read(info, "/proc/meminfo", text, sizeof(text)) != 0) {
        info_report(info, INFO_WARN, "huge pages", "mount /proc",
                    "/proc/meminfo cannot be read");
        return;
    }
    total  = meminfo(text, "HugePages_Total:");
    unused = meminfo(text, "HugePages_Free:");
    if (total == 0) {
        info_report(info, INFO_OK, "huge pages", NULL,
                    "none reserved, none needed");
    } else if (unused == 0) {
        info_report(info, INFO_WARN, "huge pages",
                    "reserve more: sysctl vm.nr_hugepages",
                    "all %lu are in use; UCX and libefa take small pages "
                    "instead", total);
    } else {
        info_report(info, INFO_OK, "huge pages", NULL, "%lu of %lu are free",
                    unused, total);
    }
}

/* PCI vendors of GPUs with memory of their own: NVIDIA, AMD. */
static int is_gpu(const info_t *info, const char *bdf)
{
    char path[512], text[32];

    snprintf(path, sizeof(path), "/sys/bus/pci/devices/%.64s/class", bdf);
    if ((info_read(info, path, text, sizeof(text)) != 0) ||
        strncmp(text, "0x03", 4)) {
        return 0;
    }
    snprintf(path, sizeof(path), "/sys/bus/pci/devices/%.64s/vendor", bdf);
    return (info_read(info, path, text, sizeof(text)) == 0) &&
           (!strcmp(text, "0x10de") || !strcmp(text, "0x1002"));
}

static unsigned gpu_count(const info_t *info)
{
    unsigned count = 0;
    struct dirent *entry;
    char path[4200];
    DIR *dir;

    snprintf(path, sizeof(path), "%s/sys/bus/pci/devices", info->sysroot);
    dir = opendir(path);
    if (dir == NULL) {
        return 0;
    }
    while ((entry = readdir(dir)) != NULL) {
        count += is_gpu(info, entry->d_name);
    }
    closedir(dir);
    return count;
}

static int has_any(const info_t *info, const char *const *paths)
{
    while ((*paths != NULL) && !info_exists(info, *paths)) {
        ++paths;
    }
    return *paths != NULL;
}

void check_gpu(info_t *info)
{
    static const char *const drivers[]  = {"/sys/module/nvidia",
                                           "/sys/module/amdgpu", NULL};
    static const char *const peer_mem[] = {"/sys/module/nvidia_peermem",
                                           "/sys/module/efa_nv_peermem",
                                           "/sys/module/nv_peer_mem",
                                           "/sys/module/amdgpu", NULL};
    unsigned count                      = gpu_count(info);
    char text[64];

    if (count == 0) {
        info_report(info, INFO_OK, "GPU memory", NULL, "no GPU here");
    } else if (!has_any(info, drivers)) {
        info_report(info, INFO_WARN, "GPU memory",
                    "install the GPU's driver, or pass it to the container",
                    "%u GPUs without a driver", count);
    } else if (!has_any(info, peer_mem) &&
               ((info_read(info, "/proc/driver/nvidia/version", text,
                           sizeof(text)) != 0) ||
                (strstr(text, "Open Kernel Module") == NULL))) {
        info_report(info, INFO_WARN, "GPU memory",
                    "modprobe nvidia_peermem, or use NVIDIA's open kernel "
                    "modules, which offer dmabuf",
                    "%u GPUs, and neither peer memory nor dmabuf: UCX copies "
                    "through host memory", count);
    } else if (info->direct.has_efa &&
               (info->direct.efa_types & ~UCS_BIT(UCS_MEMORY_TYPE_HOST)) == 0) {
        info_report(info, INFO_WARN, "GPU memory",
                    "none here: UCX copies through host memory",
                    "%u GPUs; this module or this UCX registers host memory "
                    "only", count);
    } else {
        info_report(info, INFO_OK, "GPU memory", NULL,
                    "%u GPUs, whose memory the EFA may reach", count);
    }
}
