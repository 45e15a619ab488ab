/* SPDX-License-Identifier: BSD-3-Clause */
/* A UCX as counters.c sees one, for a C++ test that cannot include its headers.
 */
#include "ucp_hooks/calls.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { SHIM_EP_SIZE = 16, SHIM_IFACE_SIZE = 1288 };

static struct {
    ucs_class_t         ep_class, iface_class;
    ucx_log_component_t opts;
    ucx_calls_t         calls;
    ucx_host_t          host;
    ucx_iface_base_t    iface;
    ucx_ep_base_t       ep;
    int                 most; /* the highest level that is printed */
    int                 lines;
} shim;

/* A node of statistics, with this order of counters. */
static const ucx_stats_class_t shim_class = {
    .name  = "some",
    .count = 8,
    .names = {"am", "put", "tag", "flush", "rx_am", "bytes_short", "no_res",
              "fence"}
};
static struct {
    const ucx_stats_class_t *cls;
    char     rest[UCX_STATS_NODE_COUNTERS - sizeof(void*)];
    uint64_t counters[8];
} shim_node;

void     counters_shim_open(unsigned more, int with_node);
void     counters_shim_count(int of_iface, unsigned counter, unsigned n);
uint64_t counters_shim_value(unsigned index);
int      counters_shim_has(void);
int      counters_shim_level(int most, int *lines);

/* As UCX's handler: what is above its own bound is not even formatted. */
static void shim_dispatch(const char *file, unsigned line, const char *function,
                          ucs_log_level_t level, ucx_log_component_t *component,
                          const char *format, ...)
{
    char text[64] = "";
    va_list ap;

    (void)file, (void)line, (void)function;
    if (((int)level <= shim.most) && ((int)level <= component->level)) {
        va_start(ap, format);
        vsnprintf(text, sizeof(text), format, ap);
        va_end(ap);
        shim.lines += text[0] != '\0';
    }
}

/* UCX's parts are `more` bytes larger than without statistics. */
void counters_shim_open(unsigned more, int with_node)
{
    void *node = with_node ? &shim_node : NULL;

    memset(&shim, 0, sizeof(shim));
    memset(&shim_node, 0, sizeof(shim_node));
    shim_node.cls           = &shim_class;
    shim.ep_class.size      = SHIM_EP_SIZE - 8 + more;
    shim.iface_class.size   = SHIM_IFACE_SIZE - 8 + more;
    shim.calls.ep_class     = &shim.ep_class;
    shim.calls.iface_class  = &shim.iface_class;
    shim.calls.global_opts  = &shim.opts;
    shim.calls.log_dispatch = shim_dispatch;
    shim.host.calls         = &shim.calls;
    shim.iface.host         = &shim.host;
    shim.ep.super.iface     = &shim.iface.super;
    memcpy((char*)&shim.ep + SHIM_EP_SIZE - 8, &node, sizeof(node));
    memcpy((char*)&shim.iface + SHIM_IFACE_SIZE - 8, &node, sizeof(node));
}

void counters_shim_count(int of_iface, unsigned counter, unsigned n)
{
    if (of_iface) {
        ucx_iface_count(&shim.iface.super, counter, n);
    } else {
        ucx_ep_count(&shim.ep.super, counter, n);
    }
}

uint64_t counters_shim_value(unsigned index)
{
    return shim_node.counters[index];
}

int counters_shim_has(void)
{
    return ucx_host_has_counters(&shim.host);
}

int counters_shim_level(int most, int *lines)
{
    int level;

    shim.most  = most;
    shim.lines = 0;
    level      = ucx_host_packet_level(&shim.host);
    *lines     = shim.lines;
    return level;
}
