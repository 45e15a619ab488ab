/* SPDX-License-Identifier: BSD-3-Clause */
/* srd_info without options: devices, UCX, its transports to other hosts. */
#include "info.h"

#include <uct/ib/efa/efa_ah.h>
#include <uct/ib/efa/efa_direct_test.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Why messages do not go directly to a device; NULL: they do. Found out as the
 * module does: by its own trial, on a memory domain with no more than that
 * needs. */
static const char *data_path_try(info_t *info, efa_device_t *device)
{
    efa_md_t    md  = {.super = {.host = &info->host}, .device = device};
    const char *why = "no protection domain";

    md.pd = device->verbs->alloc_pd(device->context);
    if (md.pd == NULL) {
        return why;
    }
    why = "out of memory";
    if (efa_ah_table_open(&md) == UCS_OK) {
        why = efa_direct_why_not(&md);
        efa_ah_table_close(&md);
    }
    device->verbs->dealloc_pd(md.pd);
    return why;
}

/* "direct, without libefa", or "by libefa: " and why, of a device that is
 * open. */
static void data_path_describe(info_t *info, efa_device_t *device, char *text,
                               size_t size)
{
    const char *wish = getenv("UCX_EFA_DIRECT"), *why;

    if (info_wishes("UCX_EFA_DIRECT", 0)) {
        snprintf(text, size, "by libefa: UCX_EFA_DIRECT=%s", wish);
        return;
    }
    why = data_path_try(info, device);
    if (why == NULL) {
        snprintf(text, size, "direct, without libefa");
    } else if (info_wishes("UCX_EFA_DIRECT", 1)) {
        snprintf(text, size, "none: UCX_EFA_DIRECT=%s, but %s", wish, why);
    } else {
        snprintf(text, size, "by libefa: %s", why);
    }
}

static void show_json(json_t *json, const char *name,
                      const efa_device_t *device, const char *place,
                      const char *gid, const char *path)
{
    json_object(json, NULL);
    json_text(json, "name", name);
    json_text(json, "pci", device->bdf);
    json_text(json, "place", place);
    json_text(json, "gid", gid);
    json_truth(json, "rdma_read", device->caps & EFA_DEVICE_CAP_RDMA_READ);
    json_truth(json, "rdma_write", device->caps & EFA_DEVICE_CAP_RDMA_WRITE);
    json_truth(json, "rnr_retry", device->caps & EFA_DEVICE_CAP_RNR_RETRY);
    json_count(json, "message_bytes", device->max_msg);
    json_count(json, "inline_bytes", device->inline_size);
    json_count(json, "rdma_bytes", device->max_rdma);
    json_count(json, "sends", device->max_sq_wr);
    json_count(json, "receives", device->max_rq_wr);
    json_count(json, "address_handles", device->max_ah);
    json_number(json, "gbit", device->bandwidth * 8e-9);
    json_text(json, "data_path", path);
    json_end_object(json);
}

static void gid_text(const efa_device_t *device, char text[64])
{
    size_t used = 0;
    unsigned i;

    for (i = 0; i < sizeof(device->gid.raw); ++i) {
        used += sprintf(text + used, "%s%02x",
                        ((i > 0) && (i % 2 == 0)) ? ":" : "",
                        device->gid.raw[i]);
    }
}

static void show_device(info_t *info, const char *name)
{
    char place[INFO_TEXT_MAX], path[INFO_TEXT_MAX], gid[64];
    efa_device_t *device;

    printf("device %s\n", name);
    if (efa_device_open(&info->host, name, &device) != UCS_OK) {
        printf("  cannot be opened: %s\n", host_stub_message());
        json_object(&info->json, NULL);
        json_text(&info->json, "name", name);
        json_text(&info->json, "error", host_stub_message());
        json_end_object(&info->json);
        return;
    }
    places_describe(info, device->bdf, place, sizeof(place));
    gid_text(device, gid);
    printf("  place          PCI %s, %s\n",
           (device->bdf[0] != '\0') ? device->bdf : "unknown", place);
    printf("  GID            %s\n", gid);
    printf("  capabilities  %s%s%s SRD, UD\n",
           (device->caps & EFA_DEVICE_CAP_RDMA_READ) ? " RDMA read," : "",
           (device->caps & EFA_DEVICE_CAP_RDMA_WRITE) ? " RDMA write," : "",
           (device->caps & EFA_DEVICE_CAP_RNR_RETRY) ? " RNR retry," : "");
    printf("  messages       to %zu B, inline %u B; RDMA to %zu B\n",
           device->max_msg, device->inline_size, device->max_rdma);
    printf("  queues         %u sends, %u receives; %u address handles\n",
           device->max_sq_wr, device->max_rq_wr, device->max_ah);
    printf("  link           %.0f Gbit/s\n", device->bandwidth * 8e-9);
    data_path_describe(info, device, path, sizeof(path));
    printf("  data path      %s\n", path);
    show_json(&info->json, name, device, place, gid, path);
    efa_device_close(device);
}

static void show_devices(info_t *info)
{
    char why[INFO_TEXT_MAX];
    unsigned i;

    info_devices(info, why, sizeof(why));
    json_array(&info->json, "devices");
    for (i = 0; i < info->device_count; ++i) {
        show_device(info, info->devices[i]);
    }
    json_end_array(&info->json);
    if (info->device_count == 0) {
        printf("no device: %s\n", why);
        json_text(&info->json, "no_device", why);
    }
}

/* The lanes that UCX takes between hosts: each transport and device once. */
static void show_hosts(info_t *info)
{
    const probe_t *probe = &info->chosen;
    const char *tls      = getenv("UCX_TLS");
    char words[PROBE_LANES_MAX][PROBE_LANE_MAX + 8];
    unsigned i, k, count = 0;

    for (i = 0; i < probe->lane_count; ++i) {
        info_lane_words(probe->lanes[i], words[count], sizeof(words[0]));
        for (k = 0; (k < count) && strcmp(words[k], words[count]); ++k) {
        }
        count += (k == count);
    }
    printf("to other hosts   ");
    if (count == 0) {
        printf("UCX takes nothing: %s", info_reason(probe));
    }
    for (i = 0; i < count; ++i) {
        printf("%s%s", (i == 0) ? "UCX takes " : ", ", words[i]);
    }
    printf(" (UCX_TLS %s%s)\n", (tls != NULL) ? "= " : "is not set",
           (tls != NULL) ? tls : "");
    json_object(&info->json, "to_other_hosts");
    json_text(&info->json, "tls", probe->tls);
    json_array(&info->json, "takes");
    for (i = 0; i < count; ++i) {
        json_text(&info->json, NULL, words[i]);
    }
    json_end_array(&info->json);
    json_array(&info->json, "lanes");
    for (i = 0; i < probe->lane_count; ++i) {
        json_text(&info->json, NULL, probe->lanes[i]);
        if (info->all) {
            printf("  lane           %s\n", probe->lanes[i]);
        }
    }
    json_end_array(&info->json);
    json_text(&info->json, "error",
              (probe->error[0] != '\0') ? probe->error : NULL);
    json_end_object(&info->json);
}

static void show_gpus(info_t *info)
{
    static const struct {
        ucs_memory_type_t type;
        const char        *name;
    } gpus[] = {{UCS_MEMORY_TYPE_CUDA, "CUDA"}, {UCS_MEMORY_TYPE_ROCM, "ROCm"}};
    const probe_t *probe = &info->chosen;
    const char *way;
    unsigned i;

    json_object(&info->json, "gpu_memory");
    for (i = 0; i < sizeof(gpus) / sizeof(gpus[0]); ++i) {
        way = !(probe->ucp_types & UCS_BIT(gpus[i].type)) ?
              "this UCX finds none here" :
              (probe->efa_types & UCS_BIT(gpus[i].type)) ?
              "as host memory: the EFA reaches it" :
              "as host memory, copied through it by UCX";
        printf("  %s memory    %s\n", gpus[i].name, way);
        json_text(&info->json, gpus[i].name, way);
    }
    json_end_object(&info->json);
}

static void show_transport(info_t *info, const char *name,
                           const probe_t *probe)
{
    int is_usable = info_is_usable(probe);

    printf("transport %-3s    %s%s\n", name,
           is_usable ? "UCX can use it" : "cannot be used: ",
           is_usable ? "" : info_reason(probe));
    json_object(&info->json, NULL);
    json_text(&info->json, "name", name);
    json_truth(&info->json, "usable", is_usable);
    json_text(&info->json, "error", is_usable ? NULL : info_reason(probe));
    json_end_object(&info->json);
}

static void show_ucx(info_t *info)
{
    const probe_t *probe = &info->direct;
    const char *loaded   = probe_ucx_module();
    const char *path     = (loaded != NULL) ? loaded :
                           (info->chosen.plugin[0] != '\0') ?
                           info->chosen.plugin :
                           (info->module[0] != '\0') ? info->module : NULL;
    const char *how      = (loaded != NULL) ? "preloaded" :
                           (info->chosen.plugin[0] != '\0') ?
                           "loaded by UCX" :
                           "not loaded here; srdrun COMMAND does it";
    char version[64], why[INFO_TEXT_MAX];
    const char *remedy;

    snprintf(version, sizeof(version), "%u.%u.%u", probe->major, probe->minor,
             probe->release);
    if (probe->major == 0) {
        remedy = info_no_ucx(info, why, sizeof(why));
        printf("UCX              none: %s; remedy: %s\n", why, remedy);
    } else {
        printf("UCX              %s in %s\n", version, probe->ucp_path);
    }
    printf("module           %s (%s)\n", (path != NULL) ? path : "not found",
           how);
    json_object(&info->json, "ucx");
    json_text(&info->json, "version", (probe->major == 0) ? NULL : version);
    json_text(&info->json, "path", probe->ucp_path);
    json_end_object(&info->json);
    json_object(&info->json, "module");
    json_text(&info->json, "path", path);
    json_text(&info->json, "loaded", how);
    json_end_object(&info->json);
}

int show_run(info_t *info)
{
    show_devices(info);
    show_ucx(info);
    json_array(&info->json, "transports");
    show_transport(info, info->transport, &info->direct);
    show_transport(info, info->spare, &info->other);
    json_end_array(&info->json);
    show_hosts(info);
    show_gpus(info);
    return ((info->device_count > 0) && (info->direct.major > 0)) ? 0 : 1;
}
