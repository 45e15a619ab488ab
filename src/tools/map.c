/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * srd_info --map: the EFAs for each GPU of this host, those nearest on the tree
 * of PCI; without a GPU for each rank, as an equal share. UCX itself compares
 * NUMA nodes, and several GPUs are of one.
 */
#include "info.h"

#include <command/options.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAP_GPUS_MAX = 32, MAP_TEXT_MAX = 2048 };

typedef struct map {
    char         bdfs[INFO_DEVICES_MAX][32];
    places_gpu_t gpus[MAP_GPUS_MAX];
    unsigned     gpu_count, rows;
} map_t;

/* Whether row N uses a device. */
static int map_has(const info_t *info, const map_t *map, unsigned n,
                   unsigned device)
{
    unsigned first, i, least = UINT_MAX;

    if (map->gpu_count > 0) {
        for (i = 0; i < info->device_count; ++i) {
            least = (map->gpus[n].steps[i] < least) ? map->gpus[n].steps[i] :
                                                      least;
        }
        return map->gpus[n].steps[device] == least;
    }
    first = n * info->device_count / map->rows;
    return (device >= first) &&
           ((device == first) ||
            (device < (n + 1) * info->device_count / map->rows));
}

/* "rdmap0s6:1,rdmap16s6:1"; returns how many. */
static unsigned map_devices(const info_t *info, const map_t *map, unsigned n,
                            char text[MAP_TEXT_MAX])
{
    unsigned i, count = 0;

    text[0] = '\0';
    for (i = 0; i < info->device_count; ++i) {
        if (map_has(info, map, n, i)) {
            snprintf(text + strlen(text), MAP_TEXT_MAX - strlen(text),
                     "%s%s:1", (count++ > 0) ? "," : "", info->devices[i]);
        }
    }
    return count;
}

/* The row of this process: its GPU where one alone is visible to it, else its
 * number among the launcher's ranks of this host. */
static unsigned map_own_row(const map_t *map)
{
    static const char *const numbers[] = {
        "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
        "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PMI_LOCAL_RANK",
        "SLURM_LOCALID", "LOCAL_RANK",
    };
    const char *text;
    unsigned i, row;
    char end;

    for (i = (map->gpu_count > 0) ? 0 : 2;
         i < sizeof(numbers) / sizeof(numbers[0]); ++i) {
        text = getenv(numbers[i]);
        if ((text != NULL) && (sscanf(text, "%u%c", &row, &end) == 1)) {
            if ((row >= map->rows) && (i >= 2)) {
                options_error("--map=export: local rank %u, of %s, is none of "
                              "%u; it shares those of rank %u: give the ranks "
                              "of this host by --map-ranks", row, numbers[i],
                              map->rows, row % map->rows);
            }
            return row % map->rows;
        }
    }
    return 0;
}

static void map_show(info_t *info, const map_t *map)
{
    char text[MAP_TEXT_MAX];
    unsigned n, rails;

    json_array(&info->json, "map");
    for (n = 0; n < map->rows; ++n) {
        rails = map_devices(info, map, n, text);
        printf("%s %-3u %-14s UCX_NET_DEVICES=%s UCX_MAX_RNDV_RAILS=%u\n",
               (map->gpu_count > 0) ? "GPU" : "rank", n,
               (map->gpu_count > 0) ? map->gpus[n].bdf : "", text, rails);
        json_object(&info->json, NULL);
        json_count(&info->json, (map->gpu_count > 0) ? "gpu" : "rank", n);
        json_text(&info->json, "pci",
                  (map->gpu_count > 0) ? map->gpus[n].bdf : NULL);
        json_text(&info->json, "UCX_NET_DEVICES", text);
        json_count(&info->json, "UCX_MAX_RNDV_RAILS", rails);
        json_end_object(&info->json);
    }
    json_end_array(&info->json);
}

/* Those that can be opened alone: in a container the others are not its own. */
static void map_open(info_t *info, map_t *map)
{
    efa_device_t *device;
    unsigned      opened = 0, i;

    for (i = 0; i < info->device_count; ++i) {
        if (efa_device_open(&info->host, info->devices[i], &device) ==
            UCS_OK) {
            snprintf(map->bdfs[opened], sizeof(map->bdfs[opened]), "%s",
                     device->bdf);
            memmove(info->devices[opened++], info->devices[i],
                    sizeof(*info->devices));
            efa_device_close(device);
        }
    }
    info->device_count = opened;
}

int map_run(info_t *info, const char *what, unsigned ranks)
{
    static map_t map;
    char text[MAP_TEXT_MAX], why[INFO_TEXT_MAX];
    unsigned rails;

    if (strcmp(what, "text") && strcmp(what, "export")) {
        options_error("--map=%.40s: allowed is export, for the lines of this "
                      "process, or nothing", what);
        return OPTIONS_EXIT_USAGE;
    }
    info_devices(info, why, sizeof(why));
    if (info->device_count == 0) {
        options_error("--map: %s", why);
        return 1;
    }
    map_open(info, &map);
    if (info->device_count == 0) {
        options_error("--map: no EFA can be opened: srd_info --check tells "
                      "why, and what to do");
        return 1;
    }
    map.gpu_count = (ranks > 0) ? 0 :
                    places_gpus(map.bdfs, info->device_count, map.gpus,
                                MAP_GPUS_MAX);
    map.rows      = (map.gpu_count > 0) ? map.gpu_count :
                    (ranks > 0) ? ranks : info->device_count;
    if (!strcmp(what, "export")) {
        rails = map_devices(info, &map, map_own_row(&map), text);
        printf("export UCX_NET_DEVICES=%s\nexport UCX_MAX_RNDV_RAILS=%u\n",
               text, rails);
    } else {
        map_show(info, &map);
    }
    return 0;
}
