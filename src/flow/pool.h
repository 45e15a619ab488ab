/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory of a core, which grows by chunks that the caller hands over. */
#ifndef FLOW_POOL_H_
#define FLOW_POOL_H_

#include "flow/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Pools that grow; each is handed over in chunks of a size the core names. */
typedef enum flow_pool {
    FLOW_POOL_TX,   /* sending flows                                          */
    FLOW_POOL_RX,   /* receiving flows                                        */
    FLOW_POOL_PEER, /* peers, one for both directions                         */
    FLOW_POOL_RING, /* reorder rings, only for flows with held (UD: also
                       unacknowledged) packets; on UD ask for growth before
                       each batch of sends, too                               */
    FLOW_POOL_HASH, /* the indices of receiving flows and peers               */
    FLOW_POOL_LAST
} flow_pool_t;

/*
 * Pools that must grow before the next batch, as bits 1 << flow_pool_t; 0 is
 * the normal answer. After it said 0 the core can open FLOW_RX_BATCH receive
 * flows, hold in as many and open one sending flow without asking again; more
 * may return FLOW_NO_MEMORY / FLOW_RX_NO_MEMORY, upon which the caller grows
 * and repeats the same call: nothing was changed.
 */
unsigned flow_pool_grow_needed(const flow_core_t *core);

/* Bytes of the next chunk of a pool (it may differ from call to call). */
size_t flow_pool_chunk_size(const flow_core_t *core, flow_pool_t pool);

/*
 * Hand over one chunk: at least flow_pool_chunk_size bytes, aligned to
 * FLOW_ALIGN, the caller's to free only after the core is no longer used.
 * Exception: for FLOW_POOL_HASH the former table comes back, to be freed now
 * (NULL when there was none). All other pools return NULL.
 */
void *flow_pool_grow(flow_core_t *core, flow_pool_t pool, void *mem);

#ifdef __cplusplus
}
#endif

#endif
