/* SPDX-License-Identifier: BSD-3-Clause */
#include "base_top_bytes.h"

#include <stdlib.h>
#include <string.h>

#define BASE_TOP_FREE UINT16_MAX /* in next[]: a free operation */

int base_top_bytes_open(base_top_bytes_t *bytes, const base_op_pool_t *pool)
{
    bytes->count = pool->count;
    bytes->next  = calloc(pool->count, sizeof(*bytes->next));
    return bytes->next != NULL;
}

void base_top_bytes_close(base_top_bytes_t *bytes)
{
    free(bytes->next);
}

static unsigned base_top_bucket(const base_ep_t *ep)
{
    return (unsigned)(((uintptr_t)ep * 0x9e3779b97f4a7c15ull) >> 54);
}

/* Marks the operations of a free list. Another thread may change the list: the
 * walk is bounded, and ends at a pointer that is not into the pool. */
static void base_top_mark_free(base_top_bytes_t *bytes,
                               const base_op_pool_t *pool, const base_op_t *op)
{
    size_t   offset;
    unsigned i;

    for (i = 0; (i < bytes->count) && (op != NULL); ++i) {
        offset = (size_t)((const char*)op - (const char*)pool->ops);
        if ((offset % sizeof(*op) != 0) ||
            (offset / sizeof(*op) >= bytes->count)) {
            return;
        }
        bytes->next[offset / sizeof(*op)] = BASE_TOP_FREE;
        op = (const base_op_t*)op->out.next;
    }
}

void base_top_bytes_sort(base_top_bytes_t *bytes, const base_op_pool_t *pool)
{
    const base_op_t *op;
    unsigned         i, bucket;
    int              is_free;

    memset(bytes->head, 0, sizeof(bytes->head));
    memset(bytes->next, 0, bytes->count * sizeof(*bytes->next));
    base_top_mark_free(bytes, pool, pool->free);
    base_top_mark_free(bytes, pool, pool->fenced);
    base_top_mark_free(bytes, pool, pool->free_reserve);
    bytes->rma = 0;
    if (!base_op_pool_is_full(pool)) {
        return;
    }
    for (i = 0; i < bytes->count; ++i) {
        op      = &pool->ops[i];
        is_free = bytes->next[i] == BASE_TOP_FREE;
        if ((op->ep == NULL) || (base_op_is_rma(op->out.kind) && is_free)) {
            continue;
        }
        bytes->rma         += base_op_is_rma(op->out.kind);
        bucket              = base_top_bucket(op->ep);
        bytes->next[i]      = bytes->head[bucket];
        bytes->head[bucket] = (uint16_t)(i + 1);
    }
}

static uint64_t base_top_length(const base_op_t *op)
{
    const efa_sge_t *piece  = efa_send_wr_pieces(&op->wr);
    int              count  = efa_send_wr_count(&op->wr), i;
    uint64_t         length = 0;

    if (op->wr.inside > 0) {
        return op->wr.inside;
    }
    for (i = 0; (piece != NULL) && (i < count) && (i < BASE_OP_SGE); ++i) {
        length += piece[i].length;
    }
    return length;
}

void base_top_bytes_sum(const base_top_bytes_t *bytes,
                        const base_op_pool_t *pool, const base_ep_t *ep,
                        flow_psn_t psn, unsigned sent, base_top_sum_t *sum)
{
    unsigned         at = bytes->head[base_top_bucket(ep)];
    const base_op_t *op;

    memset(sum, 0, sizeof(*sum));
    for (; at != 0; at = bytes->next[at - 1]) {
        op = &pool->ops[at - 1];
        if (op->ep != ep) {
            continue;
        }
        if (base_op_is_rma(op->out.kind)) {
            ++sum->rma;
            sum->rma_bytes += base_top_length(op);
        } else if ((flow_psn_t)(psn - 1 - op->flow.psn) < sent) {
            ++sum->messages;
            sum->message_bytes += base_top_length(op);
        }
    }
}
