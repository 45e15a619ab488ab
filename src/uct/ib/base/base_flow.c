/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory, time and parameters for the protocol core, which has none itself. */
#include "base_flow.h"
#include "base_record.h"
#include <uct/ib/efa/efa_clock.h>
#include <uct/ib/efa/efa_random.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BASE_ASSERT_LINES    10

flow_time_t base_flow_clock(base_iface_t *iface)
{
    iface->now = efa_clock() + 1;
    /* SRD's core is told with each call that asks; none while it closes */
    if (__builtin_expect(iface->am_other, 0) && (iface->core != NULL)) {
        flow_timer_set_now(iface->core, iface->now);
    }
    return iface->now;
}

/* Memory of the core lies behind one cache line that links the blocks. */
typedef struct base_flow_block base_flow_block_t;

struct base_flow_block {
    base_flow_block_t *next;
    void              *allocated; /* by calloc: pages that nobody writes to
                                     are none */
};

static void *base_flow_alloc(base_iface_t *iface, size_t size)
{
    char              *allocated = calloc(1, size + 2 * FLOW_ALIGN);
    base_flow_block_t *block;

    if (allocated == NULL) {
        return NULL;
    }
    block = (base_flow_block_t*)(allocated +
                                 (-(uintptr_t)allocated & (FLOW_ALIGN - 1)));
    block->allocated   = allocated;
    block->next        = iface->core_chunks;
    iface->core_chunks = block;
    return (char*)block + FLOW_ALIGN;
}

static void base_flow_free(base_iface_t *iface, void *memory)
{
    base_flow_block_t  *block = (void*)((char*)memory - FLOW_ALIGN);
    base_flow_block_t **link  = &iface->core_chunks;

    while (*link != block) {
        link = &(*link)->next;
    }
    *link = block->next;
    free(block->allocated);
}

/* Gives the pools of the core what they need: bits, not 0. */
static __attribute__((noinline)) ucs_status_t
base_flow_grow_pools(base_iface_t *iface, unsigned needed)
{
    unsigned pool;
    void    *memory, *former;

    do {
        for (pool = 0; pool < FLOW_POOL_LAST; ++pool) {
            if (!(needed & (1u << pool))) {
                continue;
            }
            memory = base_flow_alloc(iface,
                                     flow_pool_chunk_size(iface->core, pool));
            if (memory == NULL) {
                return UCS_ERR_NO_MEMORY;
            }
            former = flow_pool_grow(iface->core, pool, memory);
            if (former != NULL) {
                base_flow_free(iface, former);
            }
        }
        needed = flow_pool_grow_needed(iface->core);
    } while (needed != 0);
    return UCS_OK;
}

ucs_status_t base_flow_grow(base_iface_t *iface)
{
    unsigned needed = flow_pool_grow_needed(iface->core);

    return (needed == 0) ? UCS_OK : base_flow_grow_pools(iface, needed);
}

ucs_status_t base_flow_open(base_iface_t *iface, const base_config_t *config)
{
    flow_params_t params;
    size_t        size;
    void         *memory;

    iface->transport->flow_params(&params);
    memcpy(params.self.gid, base_iface_md(iface)->device->gid.raw,
           sizeof(params.self.gid));
    params.self.qpn         = iface->qpn;
    params.self.qkey        = iface->qkey;
    params.self.incarnation = iface->incarnation;
    params.grant            = config->window;
    params.rx_posted        = iface->rxq.base;
    params.rx_reserve       = BASE_RXQ_RESERVE;
    params.ctl_slots        = BASE_CTL_OPS;
    params.init_window      = efa_at_most(params.init_window, config->window);
    if (config->first_window != 0) {
        params.first_window = config->first_window;
    }
    if (config->tries != 0) {
        params.tries = config->tries;
    }
    if ((efa_random(&params.seed, sizeof(params.seed)) != 0) ||
        (efa_random(params.key, sizeof(params.key)) != 0)) {
        return UCS_ERR_IO_ERROR;
    }

    size   = flow_core_size(&params);
    memory = base_flow_alloc(iface, size);
    if (memory == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    iface->core = flow_core_init_zeroed(memory, size, &params);
    if (iface->core == NULL) {
        return UCS_ERR_INVALID_PARAM;
    }
    if (base_flow_grow(iface) != UCS_OK) {
        return UCS_ERR_NO_MEMORY;
    }
    base_record_open(iface);
    if (iface->recorder == NULL) {
        flow_trace_end(iface->core);
    }
    return UCS_OK;
}

void base_flow_close(base_iface_t *iface)
{
    base_record_close(iface);
    while (iface->core_chunks != NULL) {
        base_flow_free(iface, (char*)iface->core_chunks + FLOW_ALIGN);
    }
    iface->core = NULL;
}

/*
 * The assertion hook of the core (flow/assert.h): its own logic is wrong;
 * nothing that a peer sends leads here. A line, not too often, and the process
 * goes on: flows may fail, their user's other work need not.
 */
void flow_assert_failed(const char *expression, const char *file, int line)
{
    static const char text[] = "libuct_srd: protocol core: assertion failed: ";
    static unsigned   lines; /* workers of several threads come here */
    int               user_errno = errno;
    ssize_t           rc;

    (void)line;
    if ((__atomic_load_n(&lines, __ATOMIC_RELAXED) >= BASE_ASSERT_LINES) ||
        (__atomic_fetch_add(&lines, 1, __ATOMIC_RELAXED) >=
         BASE_ASSERT_LINES)) {
        return;
    }
    rc = write(2, text, sizeof(text) - 1);
    rc = write(2, expression, strlen(expression));
    rc = write(2, " in ", 4);
    rc = write(2, file, strlen(file));
    rc = write(2, "\n", 1);
    (void)rc;
    errno = user_errno;
#ifdef __SANITIZE_ADDRESS__ /* a build for tests */
    __builtin_trap();
#endif
}
