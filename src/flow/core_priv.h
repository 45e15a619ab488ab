/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state itself. Only src/flow and the inline functions of its headers look
 * inside; callers use the functions.
 */
#ifndef FLOW_CORE_PRIV_H_
#define FLOW_CORE_PRIV_H_

#include "flow/core.h"
#include "flow/tx.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    FLOW_CHUNK_SHIFT = 8, /* flows of one pool chunk: 256                     */
    FLOW_CHUNK       = 1 << FLOW_CHUNK_SHIFT,
    FLOW_CHUNKS_MAX  = FLOW_INDEX_MAX >> FLOW_CHUNK_SHIFT
};

struct flow_rx {
    uint64_t   expect;     /* header word of the next packet, masked          */
    flow_src_t src;        /* its sender                                      */
    uint16_t   limit_seen; /* last limit field of its packets                 */
    flow_psn_t grant_at;   /* consumed number at which to look at the grant   */
    uint32_t   ring;       /* 0: nothing held                                 */
};

struct flow_core {
    flow_rx_t  *rx_chunks[FLOW_CHUNKS_MAX];
    uint32_t    rx_count; /* slots handed over                                */
    uint32_t    ctl_pending;
    uint32_t    event_pending;
    flow_time_t timer_next;
};

static inline flow_rx_t *flow_core_rx(const flow_core_t *core, uint32_t index)
{
    return &core->rx_chunks[index >> FLOW_CHUNK_SHIFT]
                           [index & (FLOW_CHUNK - 1)];
}

/* The flow consumed up to its mark: give it more, or queue it as starved. */
void flow_rx_grant(flow_core_t *core, flow_rx_t *rx);

#ifdef __cplusplus
}
#endif

#endif
