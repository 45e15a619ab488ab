/* SPDX-License-Identifier: BSD-3-Clause */
#include "efa_op.h"
#include "efa_block.h"

#include <stdlib.h>
#include <string.h>

#define EFA_BOUNCE_CHUNK 32 /* buffers that are added at a time */
#define EFA_MARKER_BLOCK 32

static efa_op_t *efa_op_link(efa_op_t *ops, unsigned count, uint32_t lkey)
{
    unsigned i;

    for (i = 0; i < count; ++i) {
        ops[i].lkey     = lkey;
        ops[i].out.next = (i + 1 < count) ? &ops[i + 1].out : NULL;
    }
    return (count > 0) ? ops : NULL;
}

ucs_status_t efa_op_pool_init(efa_op_pool_t *pool, efa_md_t *md,
                              unsigned count, unsigned count_ctl,
                              size_t packet_size)
{
    efa_bounce_t *bounce;
    ucs_status_t  status;
    efa_op_t     *ops;

    memset(pool, 0, sizeof(*pool));
    pool->md          = md;
    pool->sink        = &pool->free;
    pool->count       = count;
    pool->count_ctl   = count_ctl;
    pool->bounce_size = (packet_size + 63) & ~(size_t)63;
    pool->bounce_max  = count;

    status = efa_chunk_add(md, &pool->chunks,
                           (count + count_ctl) * sizeof(*ops));
    if (status != UCS_OK) {
        return status;
    }

    ops            = pool->chunks->memory;
    pool->free     = efa_op_link(ops, count, pool->chunks->mr->lkey);
    pool->free_ctl = efa_op_link(ops + count, count_ctl,
                                 pool->chunks->mr->lkey);
    bounce         = efa_bounce_grow(pool);
    if (bounce == NULL) {
        efa_op_pool_cleanup(pool);
        return UCS_ERR_NO_MEMORY;
    }
    efa_bounce_put(pool, bounce);
    return UCS_OK;
}

void efa_op_pool_cleanup(efa_op_pool_t *pool)
{
    efa_block_list_free(&pool->marker_blocks);
    efa_chunk_list_free(pool->md, &pool->chunks);
}

efa_bounce_t *efa_bounce_grow(efa_op_pool_t *pool)
{
    size_t        stride = sizeof(efa_bounce_t) + pool->bounce_size;
    unsigned      count  = EFA_BOUNCE_CHUNK;
    efa_bounce_t *bounce = NULL;
    unsigned      i;

    if (count > pool->bounce_max - pool->bounce_count) {
        count = pool->bounce_max - pool->bounce_count;
    }
    if (count == 0) {
        return NULL;
    }
    if (efa_chunk_add(pool->md, &pool->chunks, count * stride) != UCS_OK) {
        pool->bounce_max = pool->bounce_count; /* said once; not tried again */
        return NULL;
    }

    for (i = 0; i < count; ++i) {
        bounce = (efa_bounce_t*)((char*)pool->chunks->memory + (i * stride));
        bounce->lkey = pool->chunks->mr->lkey;
        if (i + 1 < count) {
            efa_bounce_put(pool, bounce);
        }
    }
    pool->bounce_count += count;
    return bounce;
}

efa_out_t *efa_marker_get(efa_op_pool_t *pool)
{
    efa_out_t *marker = pool->free_markers;
    unsigned   i;

    if (marker == NULL) {
        marker = efa_block_add(&pool->marker_blocks, EFA_MARKER_BLOCK,
                               sizeof(*marker));
        if (marker == NULL) {
            return NULL;
        }
        for (i = 0; i < EFA_MARKER_BLOCK; ++i) {
            marker[i].kind = EFA_OUT_FLUSH;
            efa_marker_put(pool, &marker[i]);
        }
        marker = pool->free_markers;
    }
    pool->free_markers = marker->next;
    return marker;
}
