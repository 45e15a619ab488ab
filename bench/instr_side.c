/* SPDX-License-Identifier: BSD-3-Clause */
#include "instr.h"
#include "apps/uct_open.h"

#include <uct/ib/base/base_types.h>
#include <ucs/async/async_fwd.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ucs_async_context_t *bench_async;
static uct_efa_t            bench_efa;
static char                 bench_device_name[UCT_MD_NAME_MAX + 2];

void bench_expect(unsigned long got, unsigned long expected, const char *what)
{
    if (got != expected) {
        fprintf(stderr, "instr: %s: %lu, where %lu were expected: the run does "
                        "not measure what it says\n", what, got, expected);
        exit(1);
    }
}

void bench_md_open(void)
{
    bench_check(ucs_async_context_create(UCS_ASYNC_MODE_THREAD_SPINLOCK,
                                         &bench_async),
                "async");
    if (uct_open_efa(&bench_efa) != UCS_OK) {
        fprintf(stderr, "instr: no component efa: run it under 'efasim run -- "
                        "srdrun'\n");
        exit(1);
    }
    snprintf(bench_device_name, sizeof(bench_device_name), "%s:1",
             bench_efa.device);
    bench_clock_open();
}

void bench_memory_open(bench_memory_t *memory)
{
    enum { PAGE = 4096, KEY_MAX = 256 };
    unsigned char key[KEY_MAX];
    uct_md_attr_t attr;

    bench_check(uct_md_query(bench_efa.md, &attr), "md attributes");
    bench_expect(attr.rkey_packed_size <= KEY_MAX, 1, "a short key");
    memory->address = aligned_alloc(PAGE, PAGE);
    bench_check(uct_md_mem_reg(bench_efa.md, memory->address, PAGE,
                               UCT_MD_MEM_ACCESS_RMA, &memory->memh),
                "registration");
    bench_check(uct_md_mkey_pack(bench_efa.md, memory->memh, key), "key");
    bench_check(uct_rkey_unpack(bench_efa.component, key, &memory->rkey),
                "key");
}

static ucs_status_t
bench_am(void *arg, void *data, size_t length, unsigned flags)
{
    return UCS_OK;
}

void bench_side_open(bench_side_t *side)
{
    uct_iface_params_t params = {
        .field_mask           = UCT_IFACE_PARAM_FIELD_OPEN_MODE |
                                UCT_IFACE_PARAM_FIELD_DEVICE |
                                UCT_IFACE_PARAM_FIELD_RX_HEADROOM,
        .open_mode            = UCT_IFACE_OPEN_MODE_DEVICE,
        .mode.device.tl_name  = "srd",
        .mode.device.dev_name = bench_device_name,
        .rx_headroom          = 64 /* for a descriptor, as UCP's */
    };
    uct_iface_config_t *config;

    memset(side, 0, sizeof(*side));
    bench_check(uct_worker_create(bench_async, UCS_THREAD_MODE_SINGLE,
                                  &side->worker),
                "worker");
    bench_check(uct_md_iface_config_read(bench_efa.md, "srd", NULL, NULL,
                                         &config), "config");
    bench_check(uct_iface_open(bench_efa.md, side->worker, &params, config,
                               &side->iface),
                "interface");
    uct_config_release(config);
    /* as with a UCX that checks no parameters */
    side->iface->ops = ((base_iface_t*)side->iface)->unchecked;
    uct_iface_set_am_handler(side->iface, BENCH_AM, bench_am, side, 0);
    uct_iface_get_device_address(side->iface,
                                 (uct_device_addr_t*)side->dev_addr);
    uct_iface_get_address(side->iface, (uct_iface_addr_t*)side->iface_addr);
    uct_iface_progress_enable(side->iface,
                              UCT_PROGRESS_SEND | UCT_PROGRESS_RECV);
}

void bench_side_close(bench_side_t *side)
{
    uct_iface_close(side->iface);
    uct_worker_destroy(side->worker);
}

uct_ep_h bench_side_connect(bench_side_t *side, const void *dev_addr,
                            const void *iface_addr)
{
    uct_ep_params_t params = {
        .field_mask = UCT_EP_PARAM_FIELD_IFACE | UCT_EP_PARAM_FIELD_DEV_ADDR |
                      UCT_EP_PARAM_FIELD_IFACE_ADDR,
        .iface      = side->iface,
        .dev_addr   = dev_addr,
        .iface_addr = iface_addr
    };
    uct_ep_h ep;

    bench_check(uct_ep_create(&params, &ep), "endpoint");
    return ep;
}
