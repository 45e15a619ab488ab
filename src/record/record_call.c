/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each call: its arguments are written, the core is called, its answers are
 * written, and then the whole counts. A replay does the same with a recorder of
 * its own, and compares the bytes.
 */
#define RECORD_CALL_NAMES_OFF
#include "record_call.h"
#include "record_begin.h"

#include <string.h>

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

void record_between(record_t *record)
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

static record_t *
record_begin_op(const flow_core_t *core, record_kind_t kind,
                const flow_op_t *op)
{
    record_t *record = record_begin(core, kind);

    record_write_op(record, op);
    record_write_tx(record, op->tx);
    return record;
}

static record_t *
record_begin_peer(const flow_core_t *core, record_kind_t kind,
                  const flow_peer_t *peer)
{
    record_t *record = record_begin(core, kind);

    record_write_peer(record, peer);
    return record;
}

static record_t *record_begin_time(const flow_core_t *core, record_kind_t kind,
                                   flow_time_t time)
{
    record_t *record = record_begin(core, kind);

    record_write_time(record, time);
    return record;
}

/* An answer, and no more. */
static int record_end_number(record_t *record, int number)
{
    record_write_number(record, (unsigned)number);
    record_write_end(record);
    return number;
}

void record_call_state(flow_core_t *core)
{
    record_state(flow_core_user(core));
}

#define RECORD_DEFINE(_kind, _name) \
    void record_call_##_name(flow_core_t *core, flow_tx_t *tx) \
    { \
        record_t *record = record_begin_tx(core, RECORD_##_kind, tx); \
        \
        flow_##_name(core, tx); \
        record_write_end(record); \
    }
RECORD_CALLS_OF_TX(RECORD_DEFINE)
#undef RECORD_DEFINE

#define RECORD_DEFINE(_kind, _name) \
    void record_call_##_name(flow_core_t *core, flow_peer_t *peer) \
    { \
        record_t *record = record_begin_peer(core, RECORD_##_kind, peer); \
        \
        flow_##_name(core, peer); \
        record_write_end(record); \
    }
RECORD_CALLS_OF_PEER(RECORD_DEFINE)
#undef RECORD_DEFINE

#define RECORD_DEFINE(_kind, _name, _type, _number) \
    void record_call_##_name(flow_core_t *core, flow_tx_t *tx, _type number) \
    { \
        record_t *record = record_begin_tx(core, RECORD_##_kind, tx); \
        \
        record_write_number(record, _number); \
        flow_##_name(core, tx, number); \
        record_write_end(record); \
    }
RECORD_CALLS_OF_TX_AND_NUMBER(RECORD_DEFINE)
#undef RECORD_DEFINE

#define RECORD_DEFINE(_kind, _name, _type, _number) \
    void record_call_##_name(flow_core_t *core, _type number) \
    { \
        record_t *record = record_begin_number(core, RECORD_##_kind, _number); \
        \
        flow_##_name(core, number); \
        record_write_end(record); \
    }
RECORD_CALLS_OF_NUMBER(RECORD_DEFINE)
#undef RECORD_DEFINE

/* ------------------------------------------------------------- sending */

flow_status_t record_call_tx_open(flow_core_t *core, const flow_addr_t *peer,
                                  void *cookie, flow_tx_t **tx_p)
{
    record_t     *record = record_begin(core, RECORD_TX_OPEN);
    flow_tx_t    *tx     = NULL;
    flow_status_t status;

    memcpy(record->pos, peer->gid, sizeof(peer->gid));
    record->pos += sizeof(peer->gid);
    record_write_word(record, peer->incarnation);
    record_write_number(record, peer->qpn);
    record_write_number(record, peer->qkey);
    record_write_word(record, (uintptr_t)cookie);
    status = flow_tx_open(core, peer, cookie, &tx);
    record_write_number(record, status);
    record_write_tx(record, (status == FLOW_OK) ? tx : NULL);
    record_write_end(record);
    if (status == FLOW_OK) {
        *tx_p = tx;
    }
    return status;
}

int record_call_tx_ready_slow(flow_core_t *core, flow_tx_t *tx)
{
    record_t *record = record_begin_tx(core, RECORD_TX_READY, tx);

    return record_end_number(record, flow_tx_ready_slow(core, tx));
}

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

void record_call_tx_rnr(flow_core_t *core, flow_op_t *op, flow_time_t now)
{
    record_t *record = record_begin_op(core, RECORD_TX_RNR, op);

    record_write_number(record, op->psn);
    record_write_time(record, now);
    flow_tx_rnr(core, op, now);
    record_write_end(record);
}

flow_op_t *record_call_tx_repost_next(flow_core_t *core, flow_time_t now,
                                      int *fail)
{
    record_t  *record = record_begin_time(core, RECORD_TX_REPOST_NEXT, now);
    flow_op_t *op     = flow_tx_repost_next(core, now, fail);

    record_write_op(record, op);
    record_end_number(record, (op != NULL) && *fail);
    return op;
}

void record_call_tx_repost_return(flow_core_t *core, flow_op_t *op)
{
    record_t *record = record_begin(core, RECORD_TX_REPOST_RETURN);

    record_write_op(record, op);
    flow_tx_repost_return(core, op);
    record_write_end(record);
}

void record_call_tx_pause(flow_core_t *core, flow_tx_t *tx, unsigned reasons)
{
    record_t *record;

    if (flow_core_user(core) == NULL) {
        flow_tx_pause(tx, reasons);
        return;
    }
    record = record_begin_tx(core, RECORD_TX_PAUSE, tx);
    record_write_number(record, reasons);
    flow_tx_pause(tx, reasons);
    record_write_end(record);
}

int record_call_tx_rma_ready(flow_core_t *core, flow_tx_t *tx)
{
    record_t *record = record_begin_tx(core, RECORD_TX_RMA_READY, tx);

    return record_end_number(record, flow_tx_rma_ready(core, tx));
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
    record_write_op(record, op);
    record_header(record, tx, packet);
    flow_resend_commit(core, tx, op);
    record_write_end(record);
}

void record_call_resend_sent(flow_core_t *core, flow_op_t *op, int failed)
{
    record_t *record = record_begin_op(core, RECORD_RESEND_SENT, op);

    record_write_number(record, op->psn);
    record_write_number(record, op->flags);
    record_write_number(record, failed != 0);
    flow_resend_sent(core, op, failed);
    record_write_end(record);
}

flow_op_t *record_call_resend_release_next(flow_core_t *core, int *fail)
{
    record_t  *record = record_begin(core, RECORD_RESEND_RELEASE);
    flow_op_t *op     = flow_resend_release_next(core, fail);

    record_write_op(record, op);
    record_end_number(record, (op != NULL) && *fail);
    return op;
}

void record_call_resend_header(const flow_core_t *core, const flow_op_t *op,
                               void *buf)
{
    record_t *record = record_begin_op(core, RECORD_RESEND_HEADER, op);
    unsigned  length = flow_wire_hdr_len(buf);

    record_write_bytes(record, buf, length);
    flow_resend_header(core, op, buf);
    record_write_bytes(record, buf, length);
    record_write_end(record);
}

/* -------------------------------------------------------------- control */

int record_call_ctl_next(flow_core_t *core, flow_time_t now, flow_ctl_t *ctl)
{
    record_t *record = record_begin_time(core, RECORD_CTL_NEXT, now);
    int       found  = flow_ctl_next(core, now, ctl);

    record_write_number(record, (unsigned)found);
    record_write_peer(record, found ? ctl->peer : NULL);
    record_write_word(record, found ? ctl->cookie : 0);
    record_write_bytes(record, ctl->data, found ? ctl->len : 0);
    record_write_end(record);
    return found;
}

void record_call_ctl_unsent(flow_core_t *core, uint64_t cookie)
{
    record_t *record = record_begin(core, RECORD_CTL_UNSENT);

    record_write_word(record, cookie);
    flow_ctl_unsent(core, cookie);
    record_write_end(record);
}

void record_call_ctl_done(flow_core_t *core, uint64_t cookie,
                          flow_send_status_t status, flow_time_t now)
{
    record_t *record = record_begin(core, RECORD_CTL_DONE);

    record_write_word(record, cookie);
    record_write_number(record, status);
    record_write_time(record, now);
    flow_ctl_done(core, cookie, status, now);
    record_write_end(record);
}

static int record_event(record_t *record, int found, const flow_event_t *event)
{
    record_write_number(record, (unsigned)found);
    record_write_number(record, found ? event->type : 0);
    record_write_number(record, found ? event->why : 0);
    record_write_tx(record, found ? event->tx : NULL);
    record_write_word(record, found ? (uintptr_t)event->cookie : 0);
    record_write_peer(record, found ? event->peer : NULL);
    record_write_handle(record, found ? event->handle : NULL);
    record_write_end(record);
    return found;
}

int record_call_event_next(flow_core_t *core, flow_event_t *event)
{
    record_t *record = record_begin(core, RECORD_EVENT_NEXT);

    return record_event(record, flow_event_next(core, event), event);
}

int record_call_event_peer_next(flow_core_t *core, flow_event_t *event)
{
    record_t *record = record_begin(core, RECORD_EVENT_PEER_NEXT);

    return record_event(record, flow_event_peer_next(core, event), event);
}

/* --------------------------------------- time, buffers, peers, memory */

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
    record = record_begin_time(core, RECORD_TIMER_NOW, now);
    flow_timer_set_now(core, now);
    record_write_end(record);
}

void record_call_timer_run(flow_core_t *core, flow_time_t now)
{
    record_t *record = record_begin_time(core, RECORD_TIMER_RUN, now);

    flow_timer_run(core, now);
    record_write_end(record);
}

void record_call_peer_set_cookie(flow_core_t *core, flow_peer_t *peer,
                                 void *cookie)
{
    record_t *record;

    if (flow_core_user(core) == NULL) {
        flow_peer_set_cookie(peer, cookie);
        return;
    }
    record = record_begin_peer(core, RECORD_PEER_COOKIE, peer);
    record_write_word(record, (uintptr_t)cookie);
    flow_peer_set_cookie(peer, cookie);
    record_write_end(record);
}

void record_call_peer_set_ah(flow_core_t *core, flow_peer_t *peer, uint16_t ah,
                             flow_rma_t rma)
{
    record_t *record = record_begin_peer(core, RECORD_PEER_AH, peer);

    record_write_number(record, ah);
    record_write_number(record, rma);
    flow_peer_set_ah(core, peer, ah, rma);
    record_write_end(record);
}

void record_call_peer_age(flow_core_t *core, uint32_t taken, uint32_t posted)
{
    record_t *record = record_begin_number(core, RECORD_PEER_AGE, taken);

    record_write_number(record, posted);
    flow_peer_age(core, taken, posted);
    record_write_end(record);
}

void *record_call_pool_grow(flow_core_t *core, flow_pool_t pool, void *mem)
{
    record_t *record = record_begin_number(core, RECORD_POOL_GROW, pool);
    void     *former = flow_pool_grow(core, pool, mem);

    record_write_end(record);
    return former;
}
