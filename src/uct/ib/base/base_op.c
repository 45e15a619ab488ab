/* SPDX-License-Identifier: BSD-3-Clause */
#include "base_op.h"
#include <uct/ib/efa/efa_block.h>

#include <stdlib.h>
#include <string.h>

#define BASE_MARKER_BLOCK 32

/* Operations as a free list, with the parts of their work requests that never
 * change. */
static base_op_t *base_op_link(base_op_pool_t *pool, base_op_t *ops,
                               unsigned first, unsigned count)
{
    base_op_t *op;

    for (op = ops; op < ops + count; ++op, ++first) {
        op->buf_sge.addr = (uintptr_t)op->buf;
        op->buf_sge.lkey = pool->chunks->mr->lkey;
        pool->users.table[first] = op;
        efa_send_wr_init(&op->wr, op, first);
        op->out.next     = (op + 1 < ops + count) ? &op[1].out : NULL;
    }
    return (count > 0) ? ops : NULL;
}

/* Adds a chunk of bounce buffers; none at the limit. */
static void base_op_bounce_grow(base_op_pool_t *pool)
{
    size_t         stride = base_op_bounce_stride(pool->bounce_size);
    unsigned       count  = BASE_BOUNCE_CHUNK;
    base_bounce_t *bounce;
    unsigned       i;

    if (count > pool->bounce_max - pool->bounce_count) {
        count = pool->bounce_max - pool->bounce_count;
    }
    if (count == 0) {
        return;
    }
    if (efa_chunk_add(pool->md, &pool->chunks, count * stride) != UCS_OK) {
        pool->bounce_max = pool->bounce_count; /* said once; not tried again */
        return;
    }

    for (i = 0; i < count; ++i) {
        bounce = (base_bounce_t*)((char*)pool->chunks->memory + (i * stride));
        bounce->sge.addr  = (uintptr_t)bounce->data;
        bounce->sge.lkey  = pool->chunks->mr->lkey;
        bounce->next      = pool->free_bounce;
        pool->free_bounce = bounce;
    }
    pool->bounce_count += count;
}

/* No buffer is free: a new one, or some free operation's. */
static __attribute__((noinline)) base_bounce_t *
base_op_bounce_find(base_op_pool_t *pool, base_op_t *op)
{
    base_op_t *other = pool->free;

    base_op_bounce_grow(pool);
    if (pool->free_bounce != NULL) {
        return base_op_bounce_get(pool, op);
    }
    while ((other != NULL) && (other->bounce == NULL)) {
        other = (base_op_t*)other->out.next;
    }
    if (other != NULL) {
        op->bounce    = other->bounce;
        other->bounce = NULL;
    }
    return op->bounce;
}

base_bounce_t *base_op_bounce_get(base_op_pool_t *pool, base_op_t *op)
{
    base_bounce_t *bounce = pool->free_bounce;

    if (bounce == NULL) {
        return base_op_bounce_find(pool, op);
    }
    pool->free_bounce = bounce->next;
    op->bounce        = bounce;
    return bounce;
}

/* Has at least so many operations for control packets. */
static ucs_status_t base_op_pool_make_ctl(base_op_pool_t *pool, unsigned count)
{
    unsigned     more = count - pool->ctl_made;
    base_op_t   *ops;
    ucs_status_t status;

    if (more == 0) {
        return UCS_OK;
    }
    status = efa_chunk_add(pool->md, &pool->chunks, more * sizeof(*ops));
    if (status != UCS_OK) {
        return status;
    }
    ops = pool->chunks->memory;
    (void)base_op_link(pool, ops, pool->count + pool->ctl_made, more);
    ops[more - 1].out.next = (base_out_t*)pool->free_ctl;
    pool->free_ctl         = ops;
    pool->ctl_made        += more;
    return UCS_OK;
}

ucs_status_t base_op_pool_init(base_op_pool_t *pool, efa_md_t *md,
                               const base_op_counts_t *counts, unsigned first,
                               size_t packet_size)
{
    unsigned     count = counts->common + counts->reserve;
    ucs_status_t status;

    memset(pool, 0, sizeof(*pool));
    pool->md          = md;
    pool->sink        = &pool->free;
    pool->count       = count;
    pool->count_ctl   = counts->ctl;
    pool->common      = counts->common;
    pool->bounce_size = base_op_bounce_bytes(packet_size);
    pool->bounce_max  = count;

    flow_reserve_init(&pool->reserve, counts->reserve);
    pool->users.count = count + counts->ctl;
    pool->users.table = calloc(pool->users.count, sizeof(void*));
    if (pool->users.table == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    status = base_op_pool_make_ctl(pool, first);
    if (status != UCS_OK) {
        free(pool->users.table);
    }
    return status;
}

/* The first bounce buffers. */
static ucs_status_t base_op_pool_fill_bounce(base_op_pool_t *pool)
{
    if (pool->free_bounce == NULL) {
        pool->bounce_max = pool->count;
        base_op_bounce_grow(pool);
    }
    return (pool->free_bounce != NULL) ? UCS_OK : UCS_ERR_NO_MEMORY;
}

ucs_status_t base_op_pool_fill(base_op_pool_t *pool)
{
    unsigned     common = pool->common;
    ucs_status_t status;
    base_op_t   *op;

    if (base_op_pool_is_full(pool)) {
        return UCS_OK;
    }
    status = base_op_pool_make_ctl(pool, pool->count_ctl);
    if (status == UCS_OK) {
        status = base_op_pool_fill_bounce(pool);
    }
    if (status == UCS_OK) {
        status = efa_chunk_add(pool->md, &pool->chunks,
                               pool->count * sizeof(*pool->ops));
    }
    if (status != UCS_OK) {
        return status;
    }
    pool->ops          = pool->chunks->memory;
    pool->free         = base_op_link(pool, pool->ops, 0, common);
    pool->free_reserve = base_op_link(pool, pool->ops + common, common,
                                      pool->count - common);
    for (op = pool->free_reserve; op != NULL; op = (base_op_t*)op->out.next) {
        op->reserved = 1;
    }
    return UCS_OK;
}

void base_op_pool_cleanup(base_op_pool_t *pool)
{
    free(pool->users.table);
    efa_block_list_free(&pool->marker_blocks);
    efa_chunk_list_free(pool->md, &pool->chunks);
}

base_out_t *base_op_marker_get(base_op_pool_t *pool)
{
    base_out_t *marker = pool->free_markers;
    unsigned    i;

    if (marker == NULL) {
        marker = efa_block_add(&pool->marker_blocks, BASE_MARKER_BLOCK,
                               sizeof(*marker));
        if (marker == NULL) {
            return NULL;
        }
        for (i = 0; i < BASE_MARKER_BLOCK; ++i) {
            marker[i].kind = BASE_OUT_FLUSH;
            base_op_marker_put(pool, &marker[i]);
        }
        marker = pool->free_markers;
    }
    pool->free_markers = marker->next;
    return marker;
}
