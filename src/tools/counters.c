/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * srd_info --counters: how much each EFA moved, by the kernel's counters
 * (ports/1/hw_counters), of all programs of the host together.
 */
#include "info.h"

#include <command/options.h>
#include <uct/ib/efa/efa_network.h>

#include <dirent.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COUNTERS_MAX = 64 };

typedef struct counters {
    char     device[EFA_DEVICE_NAME_MAX];
    char     name[COUNTERS_MAX][40];
    uint64_t value[COUNTERS_MAX];
    unsigned count;
} counters_t;

/* Bytes that left this host, and that came, whoever asked for them. */
static const char *const counters_sent[]     = {"send_bytes",
                                                "rdma_write_bytes",
                                                "rdma_read_resp_bytes"};
static const char *const counters_received[] = {"recv_bytes",
                                                "rdma_read_bytes",
                                                "rdma_write_recv_bytes"};

static void counters_folder(const info_t *info, const char *device,
                            char path[PATH_MAX])
{
    char within[PATH_MAX];

    snprintf(within, sizeof(within), "/class/infiniband%s%s%s",
             (device != NULL) ? "/" : "", (device != NULL) ? device : "",
             (device != NULL) ? "/ports/1/hw_counters" : "");
    info_device_path(info, within, path);
}

/* The counters of a device, in the order of their names. 0, or -1: none. */
static int counters_read(const info_t *info, const char *device,
                         counters_t *counters)
{
    char folder[PATH_MAX], path[PATH_MAX + 64];
    struct dirent **names;
    int count, i;

    memset(counters, 0, sizeof(*counters));
    snprintf(counters->device, sizeof(counters->device), "%.63s", device);
    counters_folder(info, device, folder);
    count = scandir(folder, &names, efa_sysfs_is_name, alphasort);
    for (i = 0; i < count; ++i) {
        snprintf(path, sizeof(path), "%s/%.60s", folder, names[i]->d_name);
        if ((counters->count < COUNTERS_MAX) &&
            strcmp(names[i]->d_name, "lifespan") && /* in the kernel's cache */
            (efa_network_number(path,
                                &counters->value[counters->count]) == 0)) {
            snprintf(counters->name[counters->count++],
                     sizeof(counters->name[0]), "%.39s", names[i]->d_name);
        }
        free(names[i]);
    }
    if (count >= 0) {
        free(names);
    }
    return (counters->count > 0) ? 0 : -1;
}

/* NULL: the driver has none of that name. */
static const uint64_t *counters_find(const counters_t *counters,
                                     const char *name)
{
    unsigned i;

    for (i = 0; i < counters->count; ++i) {
        if (!strcmp(counters->name[i], name)) {
            return &counters->value[i];
        }
    }
    return NULL;
}

static uint64_t counters_sum(const counters_t *counters,
                             const char *const names[3])
{
    const uint64_t *value;
    uint64_t sum = 0;
    unsigned i;

    for (i = 0; i < 3; ++i) {
        value = counters_find(counters, names[i]);
        sum  += (value != NULL) ? *value : 0;
    }
    return sum;
}

/* How much the network retransmitted, if the driver tells. */
static void counters_show_network(const counters_t *now)
{
    char text[EFA_NETWORK_TEXT];
    const uint64_t *value;
    efa_network_t network;
    unsigned i;

    for (i = 0; i < EFA_NETWORK_COUNT; ++i) {
        value = counters_find(now, efa_network_names[i]);
        if (value == NULL) {
            return;
        }
        network.value[i] = *value;
    }
    efa_network_describe(&network, text);
    printf("; %s", text);
}

/* A line of the growth within so many seconds; 0: since the device is there. */
static void counters_show(info_t *info, const counters_t *now, double seconds)
{
    uint64_t sent     = counters_sum(now, counters_sent);
    uint64_t received = counters_sum(now, counters_received);
    unsigned i;

    printf("%-12s sent %llu bytes", now->device, (unsigned long long)sent);
    if (seconds > 0) {
        printf(" (%.3f MB/s)", (double)sent / seconds / 1e6);
    }
    printf(", received %llu bytes", (unsigned long long)received);
    if (seconds > 0) {
        printf(" (%.3f MB/s)", (double)received / seconds / 1e6);
    }
    counters_show_network(now);
    puts("");
    json_object(&info->json, NULL);
    json_text(&info->json, "name", now->device);
    json_count(&info->json, "sent_bytes", sent);
    json_count(&info->json, "received_bytes", received);
    json_object(&info->json, "counters");
    for (i = 0; i < now->count; ++i) {
        json_count(&info->json, now->name[i], now->value[i]);
        if (info->all) {
            printf("  %-27s %20llu\n", now->name[i],
                   (unsigned long long)now->value[i]);
        }
    }
    json_end_object(&info->json);
    json_end_object(&info->json);
}

int counters_run(info_t *info, unsigned seconds)
{
    counters_t *before;
    char folder[PATH_MAX];
    struct dirent **names;
    counters_t now;
    int count, found = 0, i;
    unsigned k;

    counters_folder(info, NULL, folder);
    count  = scandir(folder, &names, efa_sysfs_is_name, alphasort);
    before = calloc((count > 0) ? (size_t)count : 1, sizeof(*before));
    for (i = 0; (before != NULL) && (i < count) && (seconds > 0); ++i) {
        (void)counters_read(info, names[i]->d_name, &before[i]);
    }
    sleep(seconds);
    json_count(&info->json, "seconds", seconds);
    json_array(&info->json, "devices");
    for (i = 0; (before != NULL) && (i < count); ++i) {
        if (counters_read(info, names[i]->d_name, &now) != 0) {
            continue;
        }
        for (k = 0; (k < now.count) && (k < before[i].count); ++k) {
            now.value[k] -= before[i].value[k];
        }
        counters_show(info, &now, seconds);
        ++found;
    }
    json_end_array(&info->json);
    free(before);
    if (found == 0) {
        options_error("--counters: no device with counters is in %s: load the "
                      "driver (modprobe efa), or see --check", folder);
    }
    return (found > 0) ? 0 : 1;
}
