/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receiving half. For each receive completion call flow_rx_accept, then:
 *
 *   switch (flow_rx_accept(core, pkt, len, handle, src, &out)) {
 *   case FLOW_RX_DELIVER:    call the AM handler, repost; if (out.more) drain
 *   case FLOW_RX_HOLD:       keep the buffer: the core has its handle
 *   case FLOW_RX_CONTROL:
 *   case FLOW_RX_DROP:       repost; if (out.more) drain
 *   case FLOW_RX_NO_MEMORY:  flow_pool_grow, then the same call again
 *   }
 *   drain: while ((handle = flow_rx_next(core, out.token)) != NULL) deliver it
 *          (or several at a time by flow_rx_run)
 *
 * A held packet may wait long for the one before it, and that one needs a
 * buffer. When few buffers are posted (rx_reserve or less) and there are no
 * others, the caller copies a packet to be held elsewhere and reposts: else all
 * buffers may be held, and the packet that would free them is refused for ever
 * (a simulation found it).
 *
 * A packet counts as consumed when accept or next hands it out, so the reserve
 * (flow_params_t) must cover the packets between delivery and reposting.
 */
#ifndef FLOW_RX_H_
#define FLOW_RX_H_

#include "flow/ring.h"
#include "flow/state_priv.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum flow_rx_verdict {
    FLOW_RX_DELIVER,
    FLOW_RX_HOLD,    /* out is not filled (but see flow_rx_accept_held)       */
    FLOW_RX_CONTROL,
    FLOW_RX_DROP,
    FLOW_RX_NO_MEMORY,
    FLOW_RX_FILL,    /* flow_rx_short only: DELIVER, and drain                */
    FLOW_RX_OTHER    /* flow_rx_short only: nothing was done                  */
} flow_rx_verdict_t;

typedef struct flow_rx_out {
    uint32_t    token;   /* names the flow for flow_rx_next                   */
    uint16_t    offset;  /* DELIVER: where the payload starts                 */
    uint8_t     am_id;   /* DELIVER                                           */
    uint8_t     more;    /* held packets are in order now: drain              */
    flow_drop_t reason;  /* DROP                                              */
} flow_rx_out_t;

/* flow_rx_accept without flow_rx_short in front: for packets that it left, or
 * whenever instructions do not count. It takes any packet. */
flow_rx_verdict_t flow_rx_accept_slow(flow_core_t *core, const void *pkt,
                                      size_t len, void *handle, flow_src_t src,
                                      flow_rx_out_t *out);

/* The caller dropped a packet by itself: counts it. */
void flow_drop_count(flow_core_t *core, flow_drop_t reason);

/* The flow that a short header names; nothing is checked yet. */
static inline uint32_t flow_rx_index_of(uint64_t word)
{
    return flow_wire_token(word) & (FLOW_INDEX_MAX - 1);
}

/* One compare for number, token with its generation, flags, and the limit,
 * which seldom changes; one for the sender. */
static inline int flow_rx_fits(const flow_rx_t *rx, uint64_t word,
                               flow_src_t src)
{
    return ((word & FLOW_WIRE_EXPECT_MASK) == rx->expect) && (src == rx->src);
}

/* Out of line part of flow_rx_take: the flow consumed up to look_low. Ends it
 * if that was its last packet, else grants its sender more. */
void flow_rx_consumed(flow_core_t *core, flow_rx_t *rx);

/* Takes the number of a packet that fits. */
static inline void flow_rx_take(flow_core_t *core, flow_rx_t *rx)
{
    rx->expect += FLOW_WIRE_PSN_ONE;
    if (flow_unlikely((uint8_t)flow_wire_psn(rx->expect) == rx->look_low)) {
        flow_rx_consumed(core, rx);
    }
}

/* The core has the packet from now on, in its slot. */
static inline void flow_rx_keep(flow_core_t *core, flow_ring_t *ring,
                                flow_psn_t psn, void *handle)
{
    flow_ring_keep(ring, psn, handle);
    ++core->counters.held;
}

/* Out of line part of flow_rx_early: the flow holds nothing yet. 0: the core
 * has to grow first. */
int flow_rx_early_first(flow_core_t *core, flow_rx_t *rx, flow_psn_t psn,
                        void *handle);

/* The second most frequent packet, as reordering is ordinary on this network:
 * early. 1: the core has handle. 0: nothing was done. */
static inline int flow_rx_early(flow_core_t *core, flow_rx_t *rx,
                                uint64_t word, flow_src_t src, void *handle)
{
    flow_psn_t psn = flow_wire_psn(word);
    uint64_t other = (word & FLOW_WIRE_EXPECT_MASK) ^ rx->expect;
    flow_ring_t *ring;

    if ((other & (FLOW_WIRE_PSN_ONE - 1)) || (src != rx->src) ||
        (flow_psn_diff(psn, flow_wire_psn(rx->expect)) <= 0) ||
        (flow_psn_diff(psn, rx->limit) >= 0) ||
        (rx->flags & FLOW_RXF_FINAL)) {
        return 0;
    }
    if (flow_unlikely(rx->ring == 0)) {
        return flow_rx_early_first(core, rx, psn, handle);
    }
    ring = flow_core_ring(core, rx->ring);
    if (flow_ring_holds(ring, psn)) {
        return 0;
    }

    flow_rx_keep(core, ring, psn, handle);
    return 1;
}

/*
 * The way of nearly all packets: the next one of an open flow, or an early one.
 * flow_rx_accept begins with it; a caller that polls in batches calls it by
 * itself, and then flow_rx_accept_slow for the packets that it leaves:
 *   DELIVER, FILL: *word is the header: message id in FLOW_WIRE_AM_MASK, token
 *                  by flow_wire_token; the payload is at FLOW_SHORT_HDR
 *   HOLD:          the core has handle; only if may_hold
 *   OTHER:         nothing was done, call flow_rx_accept_slow
 */
static inline __attribute__((always_inline)) flow_rx_verdict_t
flow_rx_short(flow_core_t *core, const void *pkt, size_t len, void *handle,
              int may_hold, flow_src_t src, uint64_t *word)
{
    uint32_t index;
    flow_rx_t *rx;

    if (flow_unlikely(len < FLOW_SHORT_HDR)) {
        return FLOW_RX_OTHER;
    }
    *word = flow_wire_load64(pkt);
    index = flow_rx_index_of(*word);
    if (flow_unlikely(index >= core->rx_count)) {
        return FLOW_RX_OTHER;
    }
    rx = flow_core_rx(core, index);
    if (flow_unlikely(!flow_rx_fits(rx, *word, src))) {
        return (may_hold && flow_rx_early(core, rx, *word, src, handle)) ?
                       FLOW_RX_HOLD : FLOW_RX_OTHER;
    }

    if (flow_unlikely(rx->ring != 0)) { /* the grant may take it away */
        flow_rx_take(core, rx);
        return FLOW_RX_FILL;
    }
    flow_rx_take(core, rx);
    return FLOW_RX_DELIVER;
}

/*
 * Classify one received packet of len bytes at pkt. handle (not NULL) is the
 * caller's name of the buffer; the core returns it by flow_rx_next or by
 * FLOW_EVENT_RX_RELEASE when the verdict is HOLD, and forgets it otherwise. The
 * caller must find pkt from the handle (flow_wire_am_id and flow_wire_hdr_len
 * parse it again). Nothing is assumed of the bytes.
 */
static inline flow_rx_verdict_t
flow_rx_accept(flow_core_t *core, const void *pkt, size_t len, void *handle,
               flow_src_t src, flow_rx_out_t *out)
{
    flow_rx_verdict_t verdict;
    uint64_t word;

    verdict = flow_rx_short(core, pkt, len, handle, 1, src, &word);
    if (verdict == FLOW_RX_OTHER) {
        return flow_rx_accept_slow(core, pkt, len, handle, src, out);
    }
    if (flow_unlikely(verdict == FLOW_RX_HOLD)) {
        return FLOW_RX_HOLD;
    }
    out->token  = flow_wire_token(word);
    out->offset = FLOW_SHORT_HDR;
    out->am_id  = word & FLOW_WIRE_AM_MASK;
    out->more   = verdict == FLOW_RX_FILL;
    return FLOW_RX_DELIVER;
}

/*
 * The same for a thread that must not deliver (UD: the one that acknowledges):
 * data in order is held, too, with out.more set and the flow's token in out, so
 * that progress drains it later. DELIVER is not returned.
 */
flow_rx_verdict_t flow_rx_accept_held(flow_core_t *core, const void *pkt,
                                      size_t len, void *handle, flow_src_t src,
                                      flow_rx_out_t *out);

/*
 * Held packets of the flow that are in order now, at most max (1 to
 * FLOW_WINDOW_MAX), into handles; their number. The flow may have gone
 * meanwhile: then 0, its packets come as FLOW_EVENT_RX_RELEASE. Handles that
 * were handed out are the caller's, even if the flow ends.
 */
unsigned flow_rx_run(flow_core_t *core, uint32_t token, void **handles,
                     unsigned max);

/*
 * Receiving flows that failed so far, and whether the flow of this token did:
 * packets of it that the caller has are for nobody any more. A handler may have
 * that effect, so a caller that runs several looks between them. token: of
 * flow_rx_accept.
 */
static inline uint64_t flow_rx_failures(const flow_core_t *core)
{
    return core->counters.failed_flows;
}

static inline int flow_rx_has_failed(const flow_core_t *core, uint32_t token)
{
    const flow_rx_t *rx = flow_core_rx(core, token & (FLOW_INDEX_MAX - 1));

    return (rx->state == FLOW_RX_FAILED) &&
           (flow_wire_token(rx->expect) == token);
}

/* The next of them, or NULL. */
static inline void *flow_rx_next(flow_core_t *core, uint32_t token)
{
    void *handle;

    return (flow_rx_run(core, token, &handle, 1) != 0) ? handle : NULL;
}

#ifdef __cplusplus
}
#endif

#endif
