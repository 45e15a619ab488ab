/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of a call, as record_format.h has them, for record_call.c alone. */
#ifndef RECORD_WRITE_H_
#define RECORD_WRITE_H_

#include "record_file.h"

#include <flow/image.h>

#include <string.h>

/* The same at a place; the place behind it. */
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

static inline void record_write_src(record_t *record, flow_src_t src)
{
    record_write_number(record, record_step(&record->base.src, src));
}

/* 0: none. */
static inline void
record_write_name(record_t *record, uint64_t *last, uint64_t name)
{
    if (name == 0) {
        record_write_number(record, 0);
    } else {
        record_write_number(record, record_step(last, name) + 1);
    }
}

static inline void record_write_handle(record_t *record, const void *handle)
{
    record_write_name(record, &record->base.handle, (uintptr_t)handle);
}

static inline void record_write_op(record_t *record, const flow_op_t *op)
{
    uint64_t name = (uintptr_t)op;

    if (record->replays && (op != NULL)) {
        name = ((const record_replayed_op_t*)op)->id;
    }
    record_write_name(record, &record->base.op, name);
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

static inline void record_write_tx(record_t *record, const flow_tx_t *tx)
{
    record_write_number(record, (tx != NULL) ? flow_tx_index(tx) : 0);
}

static inline void record_write_peer(record_t *record, const flow_peer_t *peer)
{
    record_write_number(record,
                        (peer != NULL) ? flow_image_peer_number(peer) : 0);
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

#endif
