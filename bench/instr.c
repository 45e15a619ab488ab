/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The data path of one process with two interfaces, in functions that callgrind
 * can tell apart by name: bench/instr.sh runs it and divides.
 *
 * usage: instr ROUNDS
 */
#include <uct/api/uct.h>
#include <ucs/async/async_fwd.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BENCH_AM    = 3,
    BENCH_BATCH = 16, /* messages in a poll */
    BENCH_BCOPY = 1024
};

typedef struct bench_side {
    uct_worker_h   worker;
    uct_iface_h    iface;
    uct_ep_h       ep;
    unsigned long  received;
    unsigned char  dev_addr[64], iface_addr[64];
} bench_side_t;

static ucs_async_context_t *bench_async;
static uct_md_h             bench_md;
static char                 bench_device[UCT_MD_NAME_MAX + 2];

static void bench_check(ucs_status_t status, const char *what)
{
    if (status != UCS_OK) {
        fprintf(stderr, "instr: %s: %s\n", what, ucs_status_string(status));
        exit(1);
    }
}

static ucs_status_t
bench_am(void *arg, void *data, size_t length, unsigned flags)
{
    (void)data;
    (void)length;
    (void)flags;
    ++((bench_side_t*)arg)->received;
    return UCS_OK;
}

static void bench_open_md(void)
{
    uct_component_h       *components;
    uct_component_attr_t   attr;
    uct_md_resource_desc_t md[8];
    uct_md_config_t       *config;
    unsigned               count, i;

    bench_check(uct_query_components(&components, &count), "components");
    for (i = 0; i < count; ++i) {
        attr.field_mask   = UCT_COMPONENT_ATTR_FIELD_NAME |
                          UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT;
        bench_check(uct_component_query(components[i], &attr), "component");
        if (strcmp(attr.name, "efa") || (attr.md_resource_count == 0)) {
            continue;
        }
        attr.field_mask   = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES;
        attr.md_resources = md;
        bench_check(uct_component_query(components[i], &attr), "domains");
        bench_check(uct_md_config_read(components[i], NULL, NULL, &config),
                    "md config");
        bench_check(uct_md_open(components[i], md[0].md_name, config,
                                &bench_md),
                    "md");
        uct_config_release(config);
        snprintf(bench_device, sizeof(bench_device), "%s:1", md[0].md_name);
    }
    uct_release_component_list(components);
    if (bench_md == NULL) {
        fprintf(stderr, "instr: no component efa: run it under 'efasim run -- "
                        "srdrun'\n");
        exit(1);
    }
}

static void bench_open(bench_side_t *side)
{
    uct_iface_params_t  params;
    uct_iface_config_t *config;

    memset(&params, 0, sizeof(params));
    bench_check(uct_worker_create(bench_async, UCS_THREAD_MODE_SINGLE,
                                  &side->worker),
                "worker");
    bench_check(uct_md_iface_config_read(bench_md, "srd", NULL, NULL, &config),
                "config");
    params.field_mask           = UCT_IFACE_PARAM_FIELD_OPEN_MODE |
                                  UCT_IFACE_PARAM_FIELD_DEVICE;
    params.open_mode            = UCT_IFACE_OPEN_MODE_DEVICE;
    params.mode.device.tl_name  = "srd";
    params.mode.device.dev_name = bench_device;
    bench_check(uct_iface_open(bench_md, side->worker, &params, config,
                               &side->iface),
                "interface");
    uct_config_release(config);
    uct_iface_set_am_handler(side->iface, BENCH_AM, bench_am, side, 0);
    uct_iface_get_device_address(side->iface,
                                 (uct_device_addr_t*)side->dev_addr);
    uct_iface_get_address(side->iface, (uct_iface_addr_t*)side->iface_addr);
    uct_iface_progress_enable(side->iface,
                              UCT_PROGRESS_SEND | UCT_PROGRESS_RECV);
}

static void bench_connect(bench_side_t *side, const bench_side_t *peer)
{
    uct_ep_params_t params;

    memset(&params, 0, sizeof(params));
    params.field_mask = UCT_EP_PARAM_FIELD_IFACE | UCT_EP_PARAM_FIELD_DEV_ADDR |
                        UCT_EP_PARAM_FIELD_IFACE_ADDR;
    params.iface      = side->iface;
    params.dev_addr   = (const uct_device_addr_t*)peer->dev_addr;
    params.iface_addr = (const uct_iface_addr_t*)peer->iface_addr;
    bench_check(uct_ep_create(&params, &side->ep), "endpoint");
}

static size_t bench_pack(void *dest, void *arg)
{
    (void)dest;
    (void)arg;
    return BENCH_BCOPY; /* the packing itself is the user's, not ours */
}

/* One phase each, so that callgrind sums it under a name. */
__attribute__((noinline)) void bench_post_short(bench_side_t *side)
{
    uint64_t payload = 1;

    bench_check(uct_ep_am_short(side->ep, BENCH_AM, 1, &payload, 0), "short");
}

__attribute__((noinline)) void bench_post_bcopy(bench_side_t *side)
{
    if (uct_ep_am_bcopy(side->ep, BENCH_AM, bench_pack, NULL, 0) < 0) {
        bench_check(UCS_ERR_IO_ERROR, "bcopy");
    }
}

/* Not by a jump, as callgrind would count that to the caller. */
static inline unsigned bench_progress(const bench_side_t *side)
{
    unsigned count = uct_iface_progress(side->iface);

    __asm__ volatile("" : "+r"(count));
    return count;
}

__attribute__((noinline)) unsigned bench_receive(bench_side_t *side)
{
    return bench_progress(side);
}

__attribute__((noinline)) unsigned bench_complete(bench_side_t *side)
{
    return bench_progress(side);
}

__attribute__((noinline)) unsigned bench_empty(bench_side_t *side)
{
    return bench_progress(side);
}

/* 16 messages are posted, arrive in one poll, complete in one poll. Receives
 * and completions that come in pieces are counted by the message all the
 * same. */
static void bench_round(bench_side_t *from, bench_side_t *to,
                        void (*post)(bench_side_t*))
{
    unsigned long target = to->received + BENCH_BATCH;
    unsigned      i;

    for (i = 0; i < BENCH_BATCH; ++i) {
        post(from);
    }
    while (to->received < target) {
        bench_receive(to);
    }
    while (uct_iface_flush(from->iface, 0, NULL) == UCS_INPROGRESS) {
        bench_complete(from);
    }
}

int main(int argc, char **argv)
{
    unsigned long rounds = (argc > 1) ? strtoul(argv[1], NULL, 10) : 100;
    bench_side_t  a, b;
    unsigned long i;

    memset(&a, 0, sizeof(a));
    memset(&b, 0, sizeof(b));
    bench_check(ucs_async_context_create(UCS_ASYNC_MODE_THREAD_SPINLOCK,
                                         &bench_async),
                "async");
    bench_open_md();
    bench_open(&a);
    bench_open(&b);
    bench_connect(&a, &b);

    for (i = 0; i < 1000; ++i) { /* introductions */
        uct_ep_am_short(a.ep, BENCH_AM, 0, NULL, 0);
        uct_iface_progress(a.iface);
        uct_iface_progress(b.iface);
    }
    while ((uct_iface_flush(a.iface, 0, NULL) != UCS_OK) ||
           (uct_iface_progress(b.iface) > 0)) {
        uct_iface_progress(a.iface);
    }

    for (i = 0; i < rounds; ++i) {
        bench_round(&a, &b, bench_post_short);
    }
    for (i = 0; i < rounds; ++i) {
        bench_round(&a, &b, bench_post_bcopy);
    }
    /* the last limits have to be out, or b looks for their completions */
    for (i = 0; i < 1000; ++i) {
        uct_iface_progress(a.iface);
        uct_iface_progress(b.iface);
    }
    for (i = 0; i < rounds; ++i) {
        bench_empty(&b);
    }

    uct_ep_destroy(a.ep);
    uct_iface_close(a.iface);
    uct_iface_close(b.iface);
    uct_worker_destroy(a.worker);
    uct_worker_destroy(b.worker);
    uct_md_close(bench_md);
    ucs_async_context_destroy(bench_async);
    return 0;
}
