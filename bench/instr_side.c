/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "instr_side.h"
#include "apps/uct_open.h"

#include <ucp_hooks/provider.h>
#include <uct/ib/base/base_types.h>
#include <ucs/async/async_fwd.h>

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ucs_async_context_t *bench_async;
static uct_component_h      bench_component;
static uct_md_h             bench_md;
static char                 bench_device[UCT_MD_NAME_MAX + 2];
static unsigned long        bench_heap_bytes;
static uintptr_t            bench_text, bench_text_end; /* of the module */

void bench_check(ucs_status_t status, const char *what)
{
    if (status != UCS_OK) {
        fprintf(stderr, "instr: %s: %s\n", what, ucs_status_string(status));
        exit(1);
    }
}

void bench_expect(unsigned long got, unsigned long expected, const char *what)
{
    if (got != expected) {
        fprintf(stderr, "instr: %s: %lu, where %lu were expected: the run does "
                        "not measure what it says\n", what, got, expected);
        exit(1);
    }
}

/* The module's allocations are told by where they come from. */
static void *bench_account(void *memory, size_t size, uintptr_t from)
{
    if ((memory != NULL) && (from >= bench_text) && (from < bench_text_end)) {
        bench_heap_bytes += size;
    }
    return memory;
}

#define BENCH_FROM ((uintptr_t)__builtin_return_address(0))

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_memalign(size_t align, size_t size);

void *malloc(size_t size)
{
    return bench_account(__libc_malloc(size), size, BENCH_FROM);
}

void *calloc(size_t count, size_t size)
{
    return bench_account(__libc_calloc(count, size), count * size, BENCH_FROM);
}

int posix_memalign(void **memory, size_t align, size_t size)
{
    *memory = bench_account(__libc_memalign(align, size), size, BENCH_FROM);
    return (*memory == NULL) ? ENOMEM : 0;
}

static int bench_find_module(struct dl_phdr_info *info, size_t size, void *arg)
{
    int i;

    (void)size;
    (void)arg;
    if (strstr(info->dlpi_name, "libuct_srd.so") == NULL) {
        return 0;
    }
    for (i = 0; i < info->dlpi_phnum; ++i) {
        if ((info->dlpi_phdr[i].p_type == PT_LOAD) &&
            (info->dlpi_phdr[i].p_flags & PF_X)) {
            bench_text     = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            bench_text_end = bench_text + info->dlpi_phdr[i].p_memsz;
        }
    }
    return 1;
}

unsigned long bench_heap(void)
{
    return bench_heap_bytes;
}

void bench_md_open(void)
{
    uct_efa_t efa;

    bench_check(ucs_async_context_create(UCS_ASYNC_MODE_THREAD_SPINLOCK,
                                         &bench_async),
                "async");
    if (uct_open_efa(&efa) != UCS_OK) {
        fprintf(stderr, "instr: no component efa: run it under 'efasim run -- "
                        "srdrun'\n");
        exit(1);
    }
    bench_md        = efa.md;
    bench_component = efa.component;
    snprintf(bench_device, sizeof(bench_device), "%s:1", efa.device);
    dl_iterate_phdr(bench_find_module, NULL);
}

void bench_md_close(void)
{
    uct_md_close(bench_md);
    ucs_async_context_destroy(bench_async);
}

void bench_memory_open(bench_memory_t *memory)
{
    enum { PAGE = 4096, KEY_MAX = 256 };
    unsigned char key[KEY_MAX];
    uct_md_attr_t attr;

    bench_check(uct_md_query(bench_md, &attr), "md attributes");
    bench_expect(attr.rkey_packed_size <= KEY_MAX, 1, "a short key");
    memory->address = aligned_alloc(PAGE, PAGE);
    bench_check(uct_md_mem_reg(bench_md, memory->address, PAGE,
                               UCT_MD_MEM_ACCESS_RMA, &memory->memh),
                "registration");
    bench_check(uct_md_mkey_pack(bench_md, memory->memh, key), "key");
    bench_check(uct_rkey_unpack(bench_component, key, &memory->rkey), "key");
}

void bench_memory_close(bench_memory_t *memory)
{
    uct_rkey_release(bench_component, &memory->rkey);
    uct_md_mem_dereg(bench_md, memory->memh);
    free(memory->address);
}

void bench_list_fill(bench_list_t *list, const bench_memory_t *local,
                     const bench_memory_t *remote)
{
    int i;

    for (i = 0; i < BENCH_LIST; ++i) {
        list->buffers[i]      = local->address;
        list->lengths[i]      = 16;
        list->memhs[i]        = local->memh;
        list->remote_addrs[i] = (uintptr_t)remote->address;
        list->rkeys[i]        = remote->rkey.rkey;
    }
}

static ucx_sgl_t bench_list_sgl(const bench_list_t *list)
{
    ucx_sgl_t sgl = {
        .count        = BENCH_LIST,
        .buffers      = list->buffers,
        .lengths      = list->lengths,
        .memhs        = list->memhs,
        .remote_addrs = list->remote_addrs,
        .rkeys        = list->rkeys
    };

    return sgl;
}

int bench_list_put(bench_side_t *side, const bench_list_t *list,
                   uct_completion_t *comp)
{
    const ucx_iface_vops_t *vops = ((ucx_iface_base_t*)side->iface)->vops;
    ucx_sgl_t               sgl  = bench_list_sgl(list);
    size_t                  put, get;

    vops->query_sgl(side->iface, &put, &get);
    if (put == 0) {
        return 0;
    }
    bench_expect(vops->ep_put_sgl(side->ep, &sgl, comp), UCS_INPROGRESS,
                 "put of a list");
    return 1;
}

int bench_list_get(bench_side_t *side, const bench_list_t *list,
                   uct_completion_t *comp)
{
    const ucx_iface_vops_t *vops = ((ucx_iface_base_t*)side->iface)->vops;
    ucx_sgl_t               sgl  = bench_list_sgl(list);

    bench_expect(vops->ep_get_sgl(side->ep, &sgl, comp), UCS_INPROGRESS,
                 "get of a list");
    return 1;
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

void bench_side_open(bench_side_t *side)
{
    uct_iface_params_t  params;
    uct_iface_config_t *config;

    memset(side, 0, sizeof(*side));
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
    if (side->ep != NULL) {
        uct_ep_destroy(side->ep);
    }
    uct_iface_close(side->iface);
    uct_worker_destroy(side->worker);
}

uct_ep_h bench_side_connect(bench_side_t *side, const void *dev_addr,
                            const void *iface_addr)
{
    uct_ep_params_t params;
    uct_ep_h        ep;

    memset(&params, 0, sizeof(params));
    params.field_mask = UCT_EP_PARAM_FIELD_IFACE | UCT_EP_PARAM_FIELD_DEV_ADDR |
                        UCT_EP_PARAM_FIELD_IFACE_ADDR;
    params.iface      = side->iface;
    params.dev_addr   = dev_addr;
    params.iface_addr = iface_addr;
    bench_check(uct_ep_create(&params, &ep), "endpoint");
    return ep;
}
