/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A received packet, from its completion to UCP's callback. The functions stand
 * in the order in which that happens:
 *
 *   base_rx_batch, base_rx_direct  a batch of completions
 *   base_rx_one                    the next message of a flow, nearly all: up
 *   base_rx_in_turn                the same of a flow that holds later ones
 *   base_rx_unusual                every other packet: the core classifies it
 *   base_rx_deliver                a message goes up
 *   base_rx_drain                  and the early ones behind it
 *
 * Below them are packets that wait: for memory, and for a time when callbacks
 * may run.
 */
#include "base_rx.h"
#include "base_fail.h"
#include "base_flow.h"
#include "base_trace.h"

#include <errno.h>

typedef enum base_rx_way {
    BASE_RX_VERBS, BASE_RX_DIRECT, BASE_RX_RECORDED /* by verbs */
} base_rx_way_t;

static inline __attribute__((always_inline)) void
base_rx_one(base_iface_t *iface, flow_core_t *core, base_rxbuf_t *rxbuf,
            uint32_t length, flow_src_t src, int may_hold, base_rx_way_t way);
static void base_rx_in_turn(base_iface_t *iface, uint64_t word,
                            base_rxbuf_t *rxbuf, uint32_t length);
static void base_rx_unusual(base_iface_t *iface, base_rxbuf_t *rxbuf,
                            uint32_t length, flow_src_t src);
static void base_rx_classify(base_iface_t *iface, base_rxbuf_t *rxbuf,
                             flow_src_t src);
static inline __attribute__((always_inline)) void
base_rx_deliver(base_iface_t *iface, base_rxbuf_t *rxbuf, unsigned am_id,
                unsigned offset);
static void base_rx_deliver_long(base_iface_t *iface, base_rxbuf_t *rxbuf,
                                 unsigned am_id, unsigned offset);
static inline __attribute__((always_inline)) int
base_rx_hand_up(base_iface_t *iface, base_rxbuf_t *rxbuf, uint8_t *packet,
                uint64_t am_id, unsigned offset, unsigned length, int may_keep);
static void base_rx_drain(base_iface_t *iface, uint32_t token);
static void base_rx_drain_later(base_iface_t *iface, uint32_t token);
static void
base_rx_wait(base_iface_t *iface, base_rxbuf_t *rxbuf, flow_src_t src);

/* By number and address handle, as the core compares it. */
static inline flow_src_t base_wc_src(const efa_wc_t *wc)
{
    return flow_src(efa_wc_ah(wc), efa_wc_qpn(wc));
}

static inline void base_rx_refill(base_iface_t *iface)
{
    if (base_rxq_is_low(&iface->rxq) &&
        (base_rxq_fill(&iface->rxq) != UCS_OK)) {
        base_fail_iface(iface, "posting receives", EIO);
    }
}

/* Completions of libefa's, at least one. */
static inline __attribute__((always_inline)) void
base_rx_verbs(base_iface_t *iface, const efa_wc_t *wc, const efa_wc_t *end,
              base_rx_way_t way)
{
    flow_core_t *core     = iface->core;
    int          may_hold = !base_rxq_is_short(&iface->rxq);

    iface->received += end - wc; /* as nearly all will be */
    do {
        if (__builtin_expect(efa_wc_is_usual(wc), 1)) {
            base_rx_one(iface, core, efa_wc_user(wc), efa_wc_length(wc),
                        base_wc_src(wc), may_hold, way);
        } else {
            --iface->received;
            base_rx_completion(iface, wc);
        }
    } while (++wc < end);
}

/* Where packets are logged, recorded, or counted by UCX. */
static __attribute__((noinline)) void
base_rx_traced(base_iface_t *iface, const efa_wc_t *wc, const efa_wc_t *end)
{
    if (iface->recorder != NULL) {
        base_flow_clock(iface); /* a replay tells how long each waits */
    }
    if (iface->traced == BASE_TRACED_RECORD) {
        base_rx_verbs(iface, wc, end, BASE_RX_RECORDED);
        return;
    }
    for (; wc < end; ++wc) {
        base_rx_completion(iface, wc);
    }
}

/* 76 instructions (bench_receive, libefa), without libefa's. */
unsigned base_rx_batch(base_iface_t *iface, const efa_wc_t *wc, int count)
{
    const efa_wc_t *end = wc + count;

    if (__builtin_expect(count < 0, 0)) {
        base_fail_iface(iface, "polling for receives", -count);
        return 0;
    }
    iface->rxq.posted -= count;
    if (__builtin_expect(iface->traced, 0)) {
        base_rx_traced(iface, wc, end);
    } else {
        base_rx_verbs(iface, wc, end, BASE_RX_VERBS);
    }
    base_rx_refill(iface);
    return count;
}

/* Each packet's buffer goes to the list of free ones. */
__attribute__((noinline)) unsigned base_rx_poll(base_iface_t *iface)
{
    efa_wc_t wc[BASE_POLL_BATCH];
    int      polled = efa_poll_rx(&iface->qp, BASE_POLL_BATCH, wc);

    return (polled != 0) ? base_rx_batch(iface, wc, polled) : 0;
}

/* 81 instructions (bench_receive, direct). */
unsigned base_rx_direct(base_iface_t *iface)
{
    efa_direct_cq_t    *cq    = &iface->qp.direct.rx;
    flow_core_t        *core  = iface->core;
    unsigned            left  = BASE_POLL_BATCH, count;
    const efa_io_cqe_t *cqe;
    base_rxbuf_t       *rxbuf;
    uint32_t            id;
    int                 may_hold;

    if (__builtin_expect(iface->rxq.posted > iface->rxq.target, 0)) {
        return base_rx_poll(iface); /* base_rxq_cover: not all go back */
    }
    may_hold = iface->rxq.posted > BASE_RXQ_RESERVE + BASE_POLL_BATCH;
    do {
        id = efa_direct_next(cq);
        if (!efa_direct_is_usual(cq, id)) {
            break;
        }
        rxbuf = efa_direct_user(cq, id);
        cqe   = efa_direct_take(cq);
        --iface->rxq.posted;
        base_rx_one(iface, core, rxbuf, cqe->length, cqe->src, may_hold,
                    BASE_RX_DIRECT);
    } while (--left > 0);

    count = BASE_POLL_BATCH - left;
    if (count > 0) {
        iface->received += count;
        efa_direct_taken(cq, count);
        base_rx_refill(iface);
    }
    return count;
}

void base_rx_completion(base_iface_t *iface, const efa_wc_t *wc)
{
    base_rxbuf_t *rxbuf = efa_wc_user(wc);

    if (__builtin_expect(efa_wc_is_usual(wc), 1)) {
        base_rx_unusual(iface, rxbuf, efa_wc_length(wc), base_wc_src(wc));
        return;
    }
    base_rxq_put(&iface->rxq, rxbuf);
    if (efa_wc_is_ok(wc)) {
        flow_drop_count(iface->core, FLOW_DROP_IMMEDIATE);
    } else if (efa_wc_status(wc) == EFA_STATUS_FLUSHED) {
        base_fail_iface(iface, "receiving", ENODEV);
    }
}

/* One packet, and for nearly all no call but that of the message's handler.
 * may_hold is 0 when so few buffers are posted that an early packet may have to
 * leave its own (base_rxq_is_scarce). The caller counted it as received. */
static inline __attribute__((always_inline)) void
base_rx_one(base_iface_t *iface, flow_core_t *core, base_rxbuf_t *rxbuf,
            uint32_t length, flow_src_t src, int may_hold, base_rx_way_t way)
{
    uint8_t          *packet = base_rxbuf_memory(rxbuf); /* no prefix */
    flow_rx_verdict_t verdict;
    uint64_t          word = 0;

    verdict = (way == BASE_RX_RECORDED) ?
                      record_call_rx_short(core, packet, length, rxbuf,
                                           may_hold, src, &word) :
                      flow_rx_short(core, packet, length, rxbuf, may_hold, src,
                                    &word);
    if (__builtin_expect(verdict == FLOW_RX_HOLD, 0)) {
        --iface->received;
        rxbuf->length = length;
        base_rxq_hold(&iface->rxq, rxbuf);
        return;
    }
    if (__builtin_expect(verdict != FLOW_RX_DELIVER, 0)) {
        --iface->received;
        if (verdict == FLOW_RX_FILL) {
            base_rx_in_turn(iface, word, rxbuf, length);
        } else {
            base_rx_unusual(iface, rxbuf, length, src);
        }
        return;
    }

    if (__builtin_expect(base_rx_hand_up(iface, rxbuf, packet,
                                         word & FLOW_WIRE_AM_MASK,
                                         FLOW_SHORT_HDR,
                                         length - FLOW_SHORT_HDR,
                                         base_rxq_may_keep(&iface->rxq)),
                         0)) {
        base_rxq_keep(&iface->rxq);
    } else if (way == BASE_RX_DIRECT) {
        base_rxq_write(&iface->rxq, &iface->qp, rxbuf);
    } else {
        base_rxq_put_own(&iface->rxq, rxbuf);
    }
}

/* The next message of a flow that holds early ones. */
static __attribute__((noinline)) void
base_rx_in_turn(base_iface_t *iface, uint64_t word, base_rxbuf_t *rxbuf,
                uint32_t length)
{
    rxbuf->length = length;
    base_rx_deliver(iface, rxbuf, word & FLOW_WIRE_AM_MASK, FLOW_SHORT_HDR);
    base_rx_drain(iface, flow_wire_token(word));
}

/* Bytes of a packet, without those that the device put ahead of it. */
static inline uint32_t
base_rx_length(const base_iface_t *iface, uint32_t length)
{
    size_t prefix = iface->rxq.layout.prefix;

    return (length > prefix) ? length - prefix : 0;
}

/* A packet that only the core can classify: with a long header, of another
 * sender, beyond the limit, of control. `length`: with those that the device
 * put ahead. */
static __attribute__((noinline)) void
base_rx_unusual(base_iface_t *iface, base_rxbuf_t *rxbuf, uint32_t length,
                flow_src_t src)
{
    rxbuf->length = base_rx_length(iface, length);
    base_trace_rx(iface, rxbuf->packet, rxbuf->length, flow_src_qpn(src));
    if (__builtin_expect(base_rxq_is_scarce(&iface->rxq), 0)) {
        rxbuf = base_rxq_detach(&iface->rxq, rxbuf);
    }
    if (__builtin_expect(flow_src_ah(src) == FLOW_AH_UNKNOWN, 0)) {
        base_rx_tell(iface);
    }
    base_rx_classify(iface, rxbuf, src);
}

void base_rx_tell(base_iface_t *iface)
{
    const base_rxq_t *rxq = &iface->rxq;

    if (iface->waits.first == NULL) { /* else some are older than all these */
        flow_peer_age(iface->core, rxq->ever - rxq->posted - BASE_POLL_BATCH,
                      rxq->ever);
    }
}

/* The core's word. Quietly: it has messages in order, too, and hands them out
 * later. */
static inline flow_rx_verdict_t
base_rx_verdict(base_iface_t *iface, base_rxbuf_t *rxbuf, flow_src_t src,
                flow_rx_out_t *out)
{
    return iface->is_quiet ?
                   flow_rx_accept_held(iface->core, rxbuf->packet,
                                       rxbuf->length, rxbuf, src, out) :
                   flow_rx_accept_slow(iface->core, rxbuf->packet,
                                       rxbuf->length, rxbuf, src, out);
}

/* Decides the fate of a packet of rxbuf->length bytes. */
static __attribute__((noinline)) void
base_rx_classify(base_iface_t *iface, base_rxbuf_t *rxbuf, flow_src_t src)
{
    flow_rx_verdict_t verdict;
    flow_rx_out_t     out;

    out.more = 0;
    verdict  = base_rx_verdict(iface, rxbuf, src, &out);
    if (__builtin_expect(verdict == FLOW_RX_NO_MEMORY, 0) &&
        (base_flow_grow(iface) == UCS_OK)) {
        verdict = base_rx_verdict(iface, rxbuf, src, &out);
    }

    switch (verdict) {
    case FLOW_RX_DELIVER:
        base_rx_deliver_long(iface, rxbuf, out.am_id, out.offset);
        break;
    case FLOW_RX_HOLD:
        base_rxq_hold(&iface->rxq, rxbuf);
        break;
    case FLOW_RX_NO_MEMORY:
        base_rx_wait(iface, rxbuf, src);
        return;
    default:
        base_rxq_put(&iface->rxq, rxbuf);
        break;
    }
    if (__builtin_expect(out.more, 0)) {
        base_rx_drain_later(iface, out.token);
    }
}

static __attribute__((noinline)) void
base_rx_count(base_iface_t *iface, size_t length)
{
    ucx_iface_count(&iface->super.super, UCX_IFACE_RX_AM, 1);
    ucx_iface_count(&iface->super.super, UCX_IFACE_RX_AM_BYTES, length);
}

static inline __attribute__((always_inline)) void
base_rx_deliver(base_iface_t *iface, base_rxbuf_t *rxbuf, unsigned am_id,
                unsigned offset)
{
    ++iface->received;
    if (__builtin_expect(iface->traced & BASE_TRACED_COUNT, 0)) {
        base_rx_count(iface, rxbuf->length - offset);
    }
    if (base_rx_hand_up(iface, rxbuf, rxbuf->packet, am_id, offset,
                        rxbuf->length - offset,
                        base_rxq_may_keep(&iface->rxq) && !rxbuf->detached &&
                                base_rxq_fits(&iface->rxq, offset))) {
        base_rxq_keep(&iface->rxq);
    } else {
        base_rxq_put(&iface->rxq, rxbuf);
    }
}

/* The same, for any header. */
static __attribute__((noinline)) void
base_rx_deliver_long(base_iface_t *iface, base_rxbuf_t *rxbuf, unsigned am_id,
                     unsigned offset)
{
    base_rx_deliver(iface, rxbuf, am_id, offset);
}

/*
 * Hands one message up, which began `offset` bytes ago. UCP may keep the buffer
 * where a replacement is at hand, otherwise it copies. It may not keep copies
 * of ours, as nothing bounds them, nor a buffer that the header's length leaves
 * unaligned for a descriptor. Returns whether it keeps it.
 */
static inline __attribute__((always_inline)) int
base_rx_hand_up(base_iface_t *iface, base_rxbuf_t *rxbuf, uint8_t *packet,
                uint64_t am_id, unsigned offset, unsigned length, int may_keep)
{
    unsigned flags = 0;

    if (__builtin_expect(may_keep, 1)) {
        flags = UCT_CB_PARAM_FLAG_DESC;
        if (__builtin_expect((offset != FLOW_SHORT_HDR) ||
                                     iface->rxq.overwrites,
                             0)) {
            base_rxq_make_desc(&iface->rxq, rxbuf, offset);
        }
    }
    return ucx_iface_invoke_am(&iface->super, am_id, packet + offset, length,
                               flags) == UCS_INPROGRESS;
}

/* Early packets whose turn has come. */
static __attribute__((noinline)) void
base_rx_drain(base_iface_t *iface, uint32_t token)
{
    void         *held[BASE_POLL_BATCH];
    base_rxbuf_t *rxbuf;
    unsigned      count, i, offset;
    uint64_t      failed = flow_rx_failures(iface->core);

    do {
        count = flow_rx_run(iface->core, token, held, BASE_POLL_BATCH);
        for (i = 0; i < count; ++i) {
            rxbuf = held[i];
            base_rxq_unhold(&iface->rxq, rxbuf);
            if (__builtin_expect(flow_rx_failures(iface->core) != failed, 0) &&
                flow_rx_has_failed(iface->core, token)) {
                base_rxq_put(&iface->rxq, rxbuf);
                continue;
            }
            offset = flow_wire_hdr_len(rxbuf->packet);
            if (__builtin_expect(offset == FLOW_SHORT_HDR, 1)) {
                base_rx_deliver(iface, rxbuf, flow_wire_am_id(rxbuf->packet),
                                FLOW_SHORT_HDR);
            } else {
                base_rx_deliver_long(iface, rxbuf,
                                     flow_wire_am_id(rxbuf->packet), offset);
            }
        }
    } while (count == BASE_POLL_BATCH);
}

/* --------------------------------------- waiting: for memory, for a turn */

/* No memory for a flow's records: the packet waits in its buffer. */
static __attribute__((noinline)) void
base_rx_wait(base_iface_t *iface, base_rxbuf_t *rxbuf, flow_src_t src)
{
    if (iface->waits.first == NULL) {
        iface->waits.tail = &iface->waits.first;
        host_warn(iface->super.host,
                  "%s: out of memory for peers: their messages wait until "
                  "there is some; fewer processes need less ('srd_info "
                  "--plan')",
                  base_iface_md(iface)->device->name);
    }
    rxbuf->src         = src;
    rxbuf->wait_next   = NULL;
    *iface->waits.tail = rxbuf;
    iface->waits.tail  = &rxbuf->wait_next;
    iface->todo       |= BASE_TODO_MEMORY;
    base_rxq_hold(&iface->rxq, rxbuf);
}

unsigned base_rx_retry(base_iface_t *iface)
{
    base_rxbuf_t *rxbuf = iface->waits.first, *next;
    unsigned      count = 0;

    if (base_flow_grow(iface) != UCS_OK) {
        return 0;
    }
    iface->todo &= ~BASE_TODO_MEMORY;
    iface->waits.first = NULL;
    for (; rxbuf != NULL; rxbuf = next) {
        next = rxbuf->wait_next;
        base_rxq_unhold(&iface->rxq, rxbuf);
        base_rx_classify(iface, rxbuf, rxbuf->src);
        ++count;
    }
    if (base_rxq_fill(&iface->rxq) != UCS_OK) { /* it may have run empty */
        base_fail_iface(iface, "posting receives", EIO);
    }
    return count;
}

/* Messages of the flow are in order and wait: now is their turn, or later. */
static void base_rx_drain_later(base_iface_t *iface, uint32_t token)
{
    if (!iface->is_quiet) {
        base_rx_drain(iface, token);
    } else if ((iface->waits.later_count == 0) ||
               (iface->waits.later[iface->waits.later_count - 1] != token)) {
        iface->waits.later[iface->waits.later_count++] = token;
        iface->todo |= BASE_TODO_LATER;
    }
}

unsigned base_rx_take_later(base_iface_t *iface)
{
    unsigned count;

    iface->todo &= ~BASE_TODO_LATER;
    for (count = 0; count < iface->waits.later_count; ++count) {
        base_rx_drain(iface, iface->waits.later[count]); /* as they came */
    }
    iface->waits.later_count = 0;
    return count;
}

void base_rx_drop_later(base_iface_t *iface)
{
    base_rx_waits_t *waits = &iface->waits;
    void            *held;

    while (waits->later_count > 0) {
        held = flow_rx_next(iface->core, waits->later[waits->later_count - 1]);
        if (held == NULL) {
            --waits->later_count;
        } else {
            base_rxq_put(&iface->rxq, held);
        }
    }
}
