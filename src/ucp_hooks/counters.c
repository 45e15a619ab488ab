/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Extras of UCX builds that are made for developers: UCT's own statistics of
 * interfaces and endpoints, tracers of active messages, lines of each packet.
 *
 * The statistics are in no public header. This file relies on one property of
 * all sources from 1.13 on: a build that has them is made with 8 bytes
 * more at the end of uct_base_iface_t and of uct_base_ep_t, a pointer to a
 * node; a node begins with its class, which is a public structure, and has its
 * counters where ucx_stats_open() writes, too. The order of the counters
 * differs with other options of the build: they are looked up by name.
 */
#include "host.h"

#include <string.h>

#include "calls.h"

enum {
    COUNTERS_EP_SIZE    = sizeof(uct_ep_t) + sizeof(void*),
    COUNTERS_IFACE_SIZE = 1288, /* 1280 without */
    COUNTERS_NAMES_MAX  = 64    /* more is no class of UCT's */
};

static const char *const counters_ep_names[UCX_EP_COUNTER_LAST] = {
    "am", "put", "get", "bytes_short", "bytes_bcopy", "bytes_zcopy",
    "no_res", "flush", "flush_wait", "pending", "fence"
};

static const char *const counters_iface_names[UCX_IFACE_COUNTER_LAST] = {
    "rx_am", "rx_am_bytes", "flush", "flush_wait", "fence"
};

int ucx_host_has_counters(const ucx_host_t *host)
{
    return (host->calls->ep_class->size == COUNTERS_EP_SIZE) &&
           (host->calls->iface_class->size == COUNTERS_IFACE_SIZE);
}

/* A key without a place to be packed to: a build that checks refuses it, and
 * says nothing; another asks the domain (abi_mkey_pack). */
int ucx_host_checks_params(const ucx_host_t *host, uct_md_h md)
{
    return (host->calls->mkey_pack != NULL) &&
           (host->calls->mkey_pack(md, md, NULL, 0, NULL, NULL) ==
            UCS_ERR_INVALID_PARAM);
}

/* Adds to the counter of @name of the node whose address lies at @place. */
static void counters_add(const void *place, const char *name, uint64_t n)
{
    const ucx_stats_class_t *cls;
    char *node;
    unsigned i;

    memcpy(&node, place, sizeof(node));
    if (node == NULL) {
        return; /* statistics are off */
    }
    memcpy(&cls, node, sizeof(cls));
    for (i = 0; (i < cls->count) && (i < COUNTERS_NAMES_MAX); ++i) {
        if (!strcmp(cls->names[i], name)) {
            ((uint64_t*)(node + UCX_STATS_NODE_COUNTERS))[i] += n;
            return;
        }
    }
}

void ucx_ep_count(uct_ep_h ep, ucx_ep_counter_t counter, uint64_t n)
{
    const ucx_host_t *host = ((ucx_iface_base_t*)ep->iface)->host;

    if (ucx_host_has_counters(host)) {
        counters_add((char*)ep + COUNTERS_EP_SIZE - sizeof(void*),
                     counters_ep_names[counter], n);
    }
}

void ucx_iface_count(uct_iface_h iface, ucx_iface_counter_t counter,
                     uint64_t n)
{
    const ucx_host_t *host = ((ucx_iface_base_t*)iface)->host;

    if (ucx_host_has_counters(host)) {
        counters_add((char*)iface + COUNTERS_IFACE_SIZE - sizeof(void*),
                     counters_iface_names[counter], n);
    }
}

/* A build decides once its highest level, and tells nobody: but only lines that
 * it would print are formatted. The line is empty, and so is not printed. */
ucs_log_level_t ucx_host_packet_level(const ucx_host_t *host)
{
    static const char format[] = "%n";
    ucx_log_component_t component = {
        .level       = UCS_LOG_LEVEL_TRACE_POLL,
        .name        = "EFA",
        .file_filter = host->calls->global_opts->file_filter
    };
    int written = -1;

    host->calls->log_dispatch(__FILE__, __LINE__, __func__,
                              UCS_LOG_LEVEL_TRACE_DATA, &component, format,
                              &written);
    return (written == 0) ? UCS_LOG_LEVEL_TRACE_DATA : UCS_LOG_LEVEL_DEBUG;
}

void ucx_iface_dump_am(ucx_iface_base_t *self, uct_am_trace_type_t type,
                       uint8_t id, const void *data, size_t length,
                       char *buffer, size_t max)
{
    const ucx_calls_t *calls = self->host->calls;

    buffer[0] = '\0';
    if (calls->iface_dump_am != NULL) {
        calls->iface_dump_am(self, type, id, data, length, buffer, max);
    }
}
