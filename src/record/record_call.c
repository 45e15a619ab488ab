/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each call: its arguments are written, the core is called, its answers are
 * written, and then the whole counts. A replay does the same with a recorder of
 * its own, and compares the bytes.
 */
#define RECORD_CALL_NAMES_OFF
#include "record_call.h"

#include <flow/image.h>

#include <string.h>

/* A number at a place; the place behind it. */
static inline uint8_t *record_put_number(uint8_t *at, uint64_t number)
{
    while (number >= 0x80) {
        *at++ = (uint8_t)(number | 0x80);
        number >>= 7;
    }
    *at++ = (uint8_t)number;
    return at;
}

static inline void record_write_number(record_t *record, uint64_t number)
{
    record->pos = record_put_number(record->pos, number);
}

static inline uint64_t record_write_sign(uint64_t difference)
{
    return (difference << 1) ^ (0 - (difference >> 63));
}

/* From the value before, which it replaces. */
static inline uint64_t record_step(uint64_t *last, uint64_t value)
{
    uint64_t step = record_write_sign(value - *last);

    *last = value;
    return step;
}

static inline void record_write_time(record_t *record, flow_time_t time)
{
    record_write_number(record, record_step(&record->base.time, time));
}

/* 0: none. */
static inline uint8_t *
record_put_name(uint8_t *at, uint64_t *last, uint64_t name)
{
    return record_put_number(at, (name == 0) ? 0 : record_step(last, name) + 1);
}

static inline void record_write_handle(record_t *record, const void *handle)
{
    record->pos = record_put_name(record->pos, &record->base.handle,
                                  (uintptr_t)handle);
}

static inline uint8_t *
record_put_op(record_t *record, uint8_t *at, const flow_op_t *op)
{
    uint64_t name = (uintptr_t)op;

    if (record->replays && (op != NULL)) {
        name = ((const record_replayed_op_t*)op)->id;
    }
    return record_put_name(at, &record->base.op, name);
}

static inline void record_write_word(record_t *record, uint64_t word)
{
    memcpy(record->pos, &word, sizeof(word));
    record->pos += sizeof(word);
}

static inline void
record_write_bytes(record_t *record, const void *bytes, size_t length)
{
    record_write_number(record, length);
    memcpy(record->pos, bytes, length);
    record->pos += length;
}

/* A header of FLOW_SHORT_HDR bytes, as bytes. */
static inline uint8_t *record_put_header(uint8_t *at, uint64_t word)
{
    *at = FLOW_SHORT_HDR;
    flow_wire_store64(at + 1, word);
    return at + 1 + FLOW_SHORT_HDR;
}

/* As PUT_TX and PUT_PEER write them. */
static inline uint64_t record_tx(const flow_tx_t *tx)
{
    return (tx != NULL) ? flow_tx_index(tx) : 0;
}

static inline uint64_t record_peer(const flow_peer_t *peer)
{
    return (peer != NULL) ? flow_image_peer_number(peer) : 0;
}

static inline void record_write_end(record_t *record)
{
    ++record->calls;
    if (record->segment != NULL) {
        __atomic_store_n(&record->segment->used,
                         (uint64_t)(record->pos - (uint8_t*)record->segment),
                         __ATOMIC_RELEASE);
    }
}

static void record_state(record_t *record)
{
    *record->pos++ = RECORD_STATE;
    record_write_word(record, flow_trace_hash(record->core));
    record_write_end(record);
}

static void record_time(record_t *record)
{
    *record->pos++ = RECORD_TIMER_NOW;
    record_write_time(record, record->late);
    record_write_end(record);
    record->late = 0;
}

/* Records between those of calls. A time that is late has room: the segment had
 * some when it was told. */
static void record_between(record_t *record)
{
    if (record->replays) {
        return;
    }
    if (record->late != 0) {
        record_time(record);
    }
    if (record->pos >= record->end) {
        record_file_turn(record);
    }
    if (record->calls % RECORD_STATE_EVERY == 0) {
        record_state(record);
    }
}

/* The recorder of a core that has one, with room for a call at its pos. */
static inline record_t *record_begin_none(const flow_core_t *core)
{
    record_t *record = flow_core_user(core);

    if (flow_unlikely((record->calls % RECORD_STATE_EVERY == 0) ||
                      (record->late != 0) || (record->pos >= record->end))) {
        record_between(record);
    }
    return record;
}

static inline __attribute__((always_inline)) record_t *
record_begin(const flow_core_t *core, record_kind_t kind)
{
    record_t *record = record_begin_none(core);

    *record->pos++ = (uint8_t)kind;
    return record;
}

static inline __attribute__((always_inline)) record_t *
record_begin_tx(const flow_core_t *core, record_kind_t kind,
                const flow_tx_t *tx)
{
    record_t *record = record_begin_none(core);
    uint8_t  *at     = record->pos;

    *at++       = (uint8_t)kind;
    record->pos = record_put_number(at, flow_tx_index(tx));
    return record;
}

void record_call_state(flow_core_t *core)
{
    record_state(flow_core_user(core));
}

#define PUT(_number) at = record_put_number(at, _number);
#define PUT_PLAIN(_bytes, _length) \
    memcpy(at, _bytes, _length); \
    at += (_length);
#define PUT_BYTES(_bytes, _length) PUT(_length) PUT_PLAIN(_bytes, _length)
#define PUT_WORD(_word) flow_wire_store64(at, _word); at += sizeof(uint64_t);
#define PUT_TX(_tx)     PUT(record_tx(_tx))
#define PUT_PEER(_peer) PUT(record_peer(_peer))
#define PUT_OP(_op)     at = record_put_op(record, at, _op);
#define PUT_SENT        PUT_OP(op) PUT(flow_tx_index(op->tx)) PUT(op->psn)
#define PUT_TIME        PUT(record_step(&record->base.time, time))
#define PUT_HANDLE(_handle) \
    at = record_put_name(at, &record->base.handle, (uintptr_t)(_handle));
#define PUT_HANDLES(_handles, _count) \
    for (unsigned i = 0; i < (_count); ++i) { \
        PUT_HANDLE((_handles)[i]) \
    }
#define PUT_EVENT \
    PUT((unsigned)answer) PUT(answer ? event->type : 0) \
    PUT(answer ? event->why : 0) PUT_TX(answer ? event->tx : NULL) \
    PUT_WORD(answer ? (uintptr_t)event->cookie : 0) \
    PUT_PEER(answer ? event->peer : NULL) \
    PUT_HANDLE(answer ? event->handle : NULL)
#define RECORD_PUT(_param, _name, _put, _replayed) _put

#define RECORD_DEFINE(_kind, _name, _a, _b, _c) \
    void record_call_##_name(flow_core_t *core RECORD_ARG_##_a(RECORD_PARAM) \
                             RECORD_ARG_##_b(RECORD_PARAM) \
                             RECORD_ARG_##_c(RECORD_PARAM)) \
    { \
        record_t *record = record_begin_none(core); \
        uint8_t  *at     = record->pos; \
        \
        PUT(RECORD_##_kind) \
        RECORD_ARG_##_a(RECORD_PUT) RECORD_ARG_##_b(RECORD_PUT) \
        RECORD_ARG_##_c(RECORD_PUT) \
        record->pos = at; \
        flow_##_name(core RECORD_ARG_##_a(RECORD_PASS) \
                     RECORD_ARG_##_b(RECORD_PASS) \
                     RECORD_ARG_##_c(RECORD_PASS)); \
        record_write_end(record); \
    }
RECORD_ROWS(RECORD_DEFINE)
#undef RECORD_DEFINE

#define RECORD_DEFINE(_kind, _type, _name, _params, _args, _puts, _answers) \
    _type record_call_##_name _params \
    { \
        record_t *record = record_begin_none(core); \
        uint8_t  *at     = record->pos; \
        _type     answer; \
        \
        PUT(RECORD_##_kind) \
        _puts \
        answer = flow_##_name _args; \
        _answers \
        record->pos = at; \
        record_write_end(record); \
        return answer; \
    }
RECORD_ANSWERED(RECORD_DEFINE)
#undef RECORD_DEFINE

/* ------------------------------------------------------------- sending */

/* The header that is posted; and, where that is another one, the right one. */
static void record_header_any(record_t *record, const flow_tx_t *tx,
                              const void *packet)
{
    uint8_t  header[FLOW_LONG_HDR];
    unsigned length = flow_tx_header(record->core, tx,
                                     flow_wire_am_id(packet), header);

    record_write_bytes(record, packet, length);
    record_write_bytes(record, header,
                 (memcmp(header, packet, length) != 0) ? length : 0);
}

static inline void record_header(record_t *record, const flow_tx_t *tx,
                                 const void *packet)
{
    uint64_t right = flow_tx_word(tx, flow_wire_am_id(packet));

    if (flow_unlikely((flow_tx_header_len(tx) != FLOW_SHORT_HDR) ||
                      (memcmp(packet, &right, sizeof(right)) != 0))) {
        record_header_any(record, tx, packet);
        return;
    }
    record->pos = record_put_number(record_put_header(record->pos,
                                                      flow_wire_load64(packet)),
                                    0);
}

flow_psn_t record_call_tx_commit(flow_core_t *core, flow_tx_t *tx,
                                 const void *packet)
{
    record_t  *record;
    flow_psn_t psn;

    if (flow_core_user(core) == NULL) {
        return flow_tx_commit(tx);
    }
    record = record_begin_tx(core, RECORD_TX_COMMIT, tx);
    record_header(record, tx, packet);
    psn = flow_tx_commit(tx);
    record_write_end(record);
    return psn;
}

/* ---------------------------------------------------- sending again (UD) */

void record_call_resend_commit(flow_core_t *core, flow_tx_t *tx, flow_op_t *op,
                               const void *packet)
{
    record_t *record;

    if (flow_core_user(core) == NULL) {
        flow_resend_commit(core, tx, op);
        return;
    }
    record = record_begin_tx(core, RECORD_RESEND_COMMIT, tx);
    record->pos = record_put_op(record, record->pos, op);
    record_header(record, tx, packet);
    flow_resend_commit(core, tx, op);
    record_write_end(record);
}

void record_call_resend_header(const flow_core_t *core, const flow_op_t *op,
                               void *buf)
{
    record_t *record = record_begin(core, RECORD_RESEND_HEADER);
    unsigned  length = flow_wire_hdr_len(buf);

    record->pos = record_put_op(record, record->pos, op);
    record_write_number(record, record_tx(op->tx));
    record_write_bytes(record, buf, length);
    flow_resend_header(core, op, buf);
    record_write_bytes(record, buf, length);
    record_write_end(record);
}

/* ---------------------------------------------------------------- time */

/* A caller that waits tells the time again and again. The last one counts, and
 * one in RECORD_LATE_MAX. */
void record_call_timer_set_now(flow_core_t *core, flow_time_t now)
{
    record_t *record = flow_core_user(core);

    if (!record->replays) {
        if ((now - record->base.time >= RECORD_LATE_MAX) ||
            (record->pos >= record->end)) {
            record_between(record);
            if (flow_core_user(core) == NULL) { /* it stopped */
                flow_timer_set_now(core, now);
                return;
            }
        }
        if ((now - record->base.time < RECORD_LATE_MAX) &&
            (record->pos < record->end)) {
            record->late = now;
            flow_timer_set_now(core, now);
            return;
        }
    }
    record = record_begin(core, RECORD_TIMER_NOW);
    record_write_time(record, now);
    flow_timer_set_now(core, now);
    record_write_end(record);
}

/* ------------------------------------------------------- received packets */

static inline unsigned record_verdict(flow_rx_verdict_t verdict,
                                      unsigned am_id, unsigned offset)
{
    return (unsigned)verdict | (am_id << 3) | (offset << 8);
}

/* Verdict, message id and offset in one number, in the other the flow that is
 * to be drained (odd), or why it is dropped (even). */
static flow_rx_verdict_t
record_accept(record_t *record, const void *pkt, size_t len, void *handle,
              flow_src_t src, flow_rx_out_t *out,
              __typeof__(flow_rx_accept_slow) *accept)
{
    flow_rx_out_t     said = {.token = 0};
    flow_rx_verdict_t verdict;

    record_write_bytes(record, pkt, record_format_packet(pkt, len));
    record_write_number(record, len);
    record_write_handle(record, handle);
    record_write_number(record, record_step(&record->base.src, src));
    verdict = accept(record->core, pkt, len, handle, src, &said);
    record_write_number(record, record_verdict(verdict, said.am_id,
                                               said.offset));
    record_write_number(record, said.more ? ((uint64_t)said.token << 1) | 1 :
                                            (uint64_t)said.reason << 1);
    record_write_end(record);
    if (verdict != FLOW_RX_NO_MEMORY) {
        *out = said;
    }
    return verdict;
}

#define RECORD_DEFINE(_kind, _name) \
    flow_rx_verdict_t \
    record_call_##_name(flow_core_t *core, const void *pkt, size_t len, \
                        void *handle, flow_src_t src, flow_rx_out_t *out) \
    { \
        return record_accept(record_begin(core, RECORD_##_kind), pkt, len, \
                             handle, src, out, flow_##_name); \
    }
RECORD_DEFINE(RX_ACCEPT, rx_accept_slow)
RECORD_DEFINE(RX_ACCEPT_HELD, rx_accept_held)
#undef RECORD_DEFINE

/* Nothing is written where the core leaves the packet. */
flow_rx_verdict_t
record_call_rx_short(flow_core_t *core, const void *pkt, size_t len,
                     void *handle, int may_hold, flow_src_t src, uint64_t *word)
{
    record_t         *record;
    flow_rx_verdict_t verdict;
    uint8_t          *at;

    if (flow_core_user(core) == NULL) { /* it stopped */
        return flow_rx_short(core, pkt, len, handle, may_hold, src, word);
    }
    record  = record_begin_none(core);
    verdict = flow_rx_short(core, pkt, len, handle, may_hold, src, word);
    if (flow_unlikely(verdict == FLOW_RX_OTHER)) {
        return verdict;
    }
    at    = record->pos;
    *at++ = RECORD_RX_SHORT;
    at = record_put_header(at, *word);
    at = record_put_number(at, len);
    at = record_put_number(at, record_step(&record->base.handle,
                                           (uintptr_t)handle) + 1);
    at = record_put_number(at, record_step(&record->base.src, src));
    if (flow_unlikely(verdict == FLOW_RX_HOLD)) {
        at = record_put_number(at, FLOW_RX_HOLD);
    } else {
        at = record_put_number(at, record_verdict(FLOW_RX_DELIVER,
                                                  *word & FLOW_WIRE_AM_MASK,
                                                  FLOW_SHORT_HDR));
    }
    record->pos = record_put_number(at, (verdict == FLOW_RX_FILL) ?
                                        (flow_wire_token(*word) << 1) | 1 : 0);
    record_write_end(record);
    return verdict;
}
