/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of a call, as record_format.h has them, for record_call.c alone. */
#ifndef RECORD_WRITE_H_
#define RECORD_WRITE_H_

#include "record_file.h"

#include <flow/image.h>

#include <string.h>

static inline void record_write_number(record_t *record, uint64_t number)
{
    while (number >= 0x80) {
        *record->pos++ = (uint8_t)(number | 0x80);
        number >>= 7;
    }
    *record->pos++ = (uint8_t)number;
}

static inline uint64_t record_write_sign(uint64_t difference)
{
    return (difference << 1) ^ (0 - (difference >> 63));
}

static inline void record_write_time(record_t *record, flow_time_t time)
{
    record_write_number(record, record_write_sign(time - record->base.time));
    record->base.time = time;
}

/* 0: none. */
static inline void
record_write_name(record_t *record, uint64_t *last, uint64_t name)
{
    if (name == 0) {
        record_write_number(record, 0);
    } else {
        record_write_number(record, record_write_sign(name - *last) + 1);
        *last = name;
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

static inline void record_write_tx(record_t *record, const flow_tx_t *tx)
{
    record_write_number(record, (tx != NULL) ? flow_image_tx_number(tx) : 0);
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
