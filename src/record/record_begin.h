/* SPDX-License-Identifier: BSD-3-Clause */
/* How a call's record begins, for record_call.c and record_call_rx.c. */
#ifndef RECORD_BEGIN_H_
#define RECORD_BEGIN_H_

#include "record_write.h"

/* Records between those of calls. A time that is late has room: the segment had
 * some when it was told. */
void record_between(record_t *record);

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

static inline record_t *
record_begin_number(const flow_core_t *core, record_kind_t kind,
                    uint64_t number)
{
    record_t *record = record_begin(core, kind);

    record_write_number(record, number);
    return record;
}

#endif
