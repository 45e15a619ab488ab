/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receiving half. For each receive completion call flow_rx_accept, then:
 *
 *   switch (flow_rx_accept(core, pkt, len, handle, src, now, &out)) {
 *   case FLOW_RX_DELIVER:    call the AM handler, repost; if (out.more) drain
 *   case FLOW_RX_HOLD:       keep the buffer: the core has its handle
 *   case FLOW_RX_CONTROL:
 *   case FLOW_RX_DROP:       repost; if (out.more) drain
 *   case FLOW_RX_NO_MEMORY:  flow_core_grow, then the same call again
 *   }
 *   drain: while ((handle = flow_rx_next(core, out.token)) != NULL) deliver it
 *
 * A held packet may wait long for the one before it, and that one needs a
 * buffer. So when few buffers are posted (rx_reserve or less), the caller
 * copies a packet to be held elsewhere and reposts: else all buffers may be
 * held, and the packet that would free them is refused for ever (a simulation
 * found it).
 *
 * A packet counts as consumed when accept or next hands it out, so the reserve
 * (flow_params_t) must cover what lies between delivery and reposting.
 */
#ifndef FLOW_RX_H_
#define FLOW_RX_H_

#include "flow/core_priv.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum flow_rx_verdict {
    FLOW_RX_DELIVER,
    FLOW_RX_HOLD,    /* out says nothing (but see flow_rx_accept_held)        */
    FLOW_RX_CONTROL,
    FLOW_RX_DROP,
    FLOW_RX_NO_MEMORY
} flow_rx_verdict_t;

typedef struct flow_rx_out {
    uint32_t    token;   /* names the flow for flow_rx_next                   */
    uint16_t    offset;  /* DELIVER: where the payload starts                 */
    uint8_t     am_id;   /* DELIVER                                           */
    uint8_t     more;    /* held packets are in order now: drain              */
    flow_drop_t reason;  /* DROP                                              */
} flow_rx_out_t;

/* Out of line part of flow_rx_accept: everything but the next short packet. */
flow_rx_verdict_t flow_rx_accept_slow(flow_core_t *core, const void *pkt,
                                      size_t len, void *handle, flow_src_t src,
                                      flow_time_t now, flow_rx_out_t *out);

/*
 * Classify one received packet of len bytes at pkt. handle (not NULL) is the
 * caller's name of the buffer; the core returns it by flow_rx_next or by
 * FLOW_EVENT_RX_RELEASE when the verdict is HOLD, and forgets it otherwise. The
 * caller must find pkt from the handle (flow_wire_am_id and flow_wire_hdr_len
 * parse it again). Nothing is assumed of the bytes.
 */
static inline flow_rx_verdict_t
flow_rx_accept(flow_core_t *core, const void *pkt, size_t len, void *handle,
               flow_src_t src, flow_time_t now, flow_rx_out_t *out)
{
    uint64_t word;
    uint32_t index;
    flow_rx_t *rx;

    if (flow_unlikely(len < FLOW_SHORT_HDR)) {
        goto slow;
    }

    word  = flow_wire_get64(pkt);
    index = (word >> FLOW_WIRE_TOKEN_SHIFT) & (FLOW_INDEX_MAX - 1);
    if (flow_unlikely(index >= core->rx_count)) {
        goto slow;
    }

    /* One compare for number, token with its generation, flags, and the limit,
     * which seldom changes; one for the sender. */
    rx = flow_core_rx(core, index);
    if (flow_unlikely(((word & FLOW_WIRE_EXPECT_MASK) != rx->expect) ||
                      (src != rx->src))) {
        goto slow;
    }

    rx->expect  += FLOW_WIRE_PSN_ONE;
    out->token   = (uint32_t)(word >> FLOW_WIRE_TOKEN_SHIFT) &
                   FLOW_WIRE_TOKEN_MASK;
    out->offset  = FLOW_SHORT_HDR;
    out->am_id   = word & FLOW_WIRE_AM_MASK;
    out->more    = rx->ring != 0;
    if (flow_unlikely((uint8_t)(rx->expect >> FLOW_WIRE_PSN_SHIFT) ==
                      rx->grant_at)) {
        flow_rx_grant(core, rx);
    }
    return FLOW_RX_DELIVER;

slow:
    return flow_rx_accept_slow(core, pkt, len, handle, src, now, out);
}

/*
 * The same for a thread that must not deliver (UD: the one that acknowledges):
 * data in order is held, too, with out.more set and the flow's token in out, so
 * that progress drains it later. DELIVER is not returned.
 */
flow_rx_verdict_t flow_rx_accept_held(flow_core_t *core, const void *pkt,
                                      size_t len, void *handle, flow_src_t src,
                                      flow_time_t now, flow_rx_out_t *out);

/*
 * The next held packet of the flow that is in order now, or NULL. The flow may
 * have gone meanwhile: then NULL, its packets come as FLOW_EVENT_RX_RELEASE.
 */
void *flow_rx_next(flow_core_t *core, uint32_t token);

#ifdef __cplusplus
}
#endif

#endif
