/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where a device sits: by hwloc where srd_info was built with it, which knows
 * what is near on the PCI tree; the NUMA node by sysfs in any case, since hwloc
 * does not see a device that only this process has (efasim).
 */
#include "info.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_CONFIG_H
#include <config.h>
#endif
#ifdef HAVE_HWLOC
#include <hwloc.h>
#endif

#define PLACES_CONSOLE_VENDOR 0x1a03 /* ASPEED */

/* A sysfs attribute of PCI function @bdf, where libibverbs looks. */
static int pci_attribute(const info_t *info, const char *bdf, const char *name,
                         char *text, size_t size)
{
    char path[PATH_MAX], full[PATH_MAX];

    snprintf(path, sizeof(path), "/bus/pci/devices/%s/%s", bdf, name);
    info_device_path(info, path, full);
    if (efa_file_read(full, text, size) != 0) {
        return -1;
    }
    text[strcspn(text, "\n")] = '\0';
    return (text[0] != '\0') ? 0 : -1;
}

#ifdef HAVE_HWLOC
static int places_load(hwloc_topology_t *topology)
{
    if (hwloc_topology_init(topology) != 0) {
        return -1;
    }
    hwloc_topology_set_io_types_filter(*topology,
                                       HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    if (hwloc_topology_load(*topology) != 0) {
        hwloc_topology_destroy(*topology);
        return -1;
    }
    return 0;
}

/* Display adapters: a server's console chip is one, too. */
static int places_is_gpu(hwloc_obj_t device)
{
    return (device->attr->pcidev.class_id >> 8) == 0x03;
}

static void places_bdf(hwloc_obj_t device, char *bdf, size_t size)
{
    const struct hwloc_pcidev_attr_s *pci = &device->attr->pcidev;

    snprintf(bdf, size, "%04x:%02x:%02x.%01x", pci->domain, pci->bus, pci->dev,
             pci->func);
}

/* Appends the GPUs that share the device's nearest place but the machine. */
static void places_near(const char *bdf, char *text, size_t size)
{
    hwloc_topology_t topology;
    hwloc_obj_t device, place, gpu = NULL;
    char other[32];

    if (places_load(&topology) != 0) {
        return;
    }
    device = hwloc_get_pcidev_by_busidstring(topology, bdf);
    place  = (device == NULL) ? NULL :
             hwloc_get_non_io_ancestor_obj(topology, device);
    while ((place != NULL) &&
           ((gpu = hwloc_get_next_pcidev(topology, gpu)) != NULL)) {
        if (places_is_gpu(gpu) && (gpu != device) &&
            (hwloc_get_non_io_ancestor_obj(topology, gpu) == place)) {
            places_bdf(gpu, other, sizeof(other));
            snprintf(text + strlen(text), size - strlen(text),
                     ", near GPU %s%s", other,
                     (gpu->parent == device->parent) ? " (behind one bridge)" :
                                                       "");
        }
    }
    hwloc_topology_destroy(topology);
}

/* Steps up from the GPU to what is above the device, too. */
static unsigned places_steps(hwloc_obj_t gpu, hwloc_obj_t device)
{
    unsigned steps = 0;
    hwloc_obj_t above, other;

    for (above = gpu; (above != NULL) && (device != NULL);
         above = above->parent, ++steps) {
        for (other = device; other != NULL; other = other->parent) {
            if (other == above) {
                return steps;
            }
        }
    }
    return UINT_MAX;
}

unsigned places_gpus(char (*const bdfs)[32], unsigned count,
                     places_gpu_t *gpus, unsigned max)
{
    hwloc_topology_t topology;
    hwloc_obj_t gpu = NULL;
    unsigned found = 0, i;

    if (places_load(&topology) != 0) {
        return 0;
    }
    while ((found < max) &&
           ((gpu = hwloc_get_next_pcidev(topology, gpu)) != NULL)) {
        if (!places_is_gpu(gpu) || (gpu->attr->pcidev.vendor_id ==
                                    PLACES_CONSOLE_VENDOR)) {
            continue;
        }
        places_bdf(gpu, gpus[found].bdf, sizeof(gpus[found].bdf));
        for (i = 0; i < count; ++i) {
            gpus[found].steps[i] = places_steps(
                    gpu, (bdfs[i][0] == '\0') ? NULL :
                    hwloc_get_pcidev_by_busidstring(topology, bdfs[i]));
        }
        ++found;
    }
    hwloc_topology_destroy(topology);
    return found;
}
#else
static void places_near(const char *bdf, char *text, size_t size)
{
    (void)bdf, (void)text, (void)size;
}

unsigned places_gpus(char (*const bdfs)[32], unsigned count,
                     places_gpu_t *gpus, unsigned max)
{
    (void)bdfs, (void)count, (void)gpus, (void)max;
    return 0;
}
#endif

void places_describe(const info_t *info, const char *bdf, char *text,
                     size_t size)
{
    char node[32], cpus[256];

    snprintf(text, size, "not known");
    if (bdf[0] == '\0') {
        return;
    }
    if ((pci_attribute(info, bdf, "numa_node", node, sizeof(node)) == 0) &&
        (node[0] != '-')) {
        snprintf(text, size, "NUMA node %s", node);
        if (pci_attribute(info, bdf, "local_cpulist", cpus, sizeof(cpus)) ==
            0) {
            snprintf(text + strlen(text), size - strlen(text), ", CPUs %s",
                     cpus);
        }
    } else {
        snprintf(text, size, "no NUMA node of its own");
    }
    places_near(bdf, text, size);
}
