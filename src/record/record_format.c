/* SPDX-License-Identifier: BSD-3-Clause */
#include "record_format.h"

#include <string.h>

/* Numbers of the core that recordings have. */
_Static_assert((FLOW_SEND_OK == 0) && (FLOW_SEND_RNR == 1) &&
                       (FLOW_SEND_LOST == 2) && (FLOW_SEND_DEAD == 3) &&
                       (FLOW_SEND_ERROR == 4) && (FLOW_SEND_GIVEN_UP == 5),
               "FLOW_SEND_*: raise RECORD_VERSION; run_call.c, text.c; "
               "each if on one of them, in src/flow, src/uct and test");
_Static_assert((FLOW_PAUSE_PENDING == 1) && (FLOW_PAUSE_FENCE == 2) &&
                       (FLOW_PAUSE_USER == 4) && (FLOW_PAUSE_END == 9),
               "FLOW_PAUSE_*: raise RECORD_VERSION; watch.c");

typedef struct record_schema {
    const char *name, *fields;
} record_schema_t;

static const record_schema_t record_schema[RECORD_KINDS] = {
#define RECORD_KIND(_kind, _name, _fields) [RECORD_##_kind] = {_name, _fields},
    RECORD_CALLS(RECORD_KIND)
#undef RECORD_KIND
};

const char *record_format_name(record_kind_t kind)
{
    return record_schema[kind].name;
}

const char *record_format_fields(record_kind_t kind)
{
    return record_schema[kind].fields;
}

static int record_read_number(const uint8_t **at, const uint8_t *end,
                              uint64_t *number)
{
    unsigned shift;

    *number = 0;
    for (shift = 0; (*at < end) && (shift < 64); shift += 7) {
        *number |= (uint64_t)(**at & 0x7f) << shift;
        if (!(*(*at)++ & 0x80)) {
            return 1;
        }
    }
    return 0;
}

/* A difference to *value, which it becomes. */
static int record_read_next(const uint8_t **at, const uint8_t *end,
                            uint64_t *value)
{
    uint64_t number;

    if (!record_read_number(at, end, &number)) {
        return 0;
    }
    *value += (number >> 1) ^ (0 - (number & 1));
    return 1;
}

/* The same for things that the caller named by a pointer; 0: none, and *last
 * stays. */
static int record_read_name(const uint8_t **at, const uint8_t *end,
                            uint64_t *last, uint64_t *name)
{
    uint64_t number;

    if (!record_read_number(at, end, &number)) {
        return 0;
    }
    *name = 0;
    if (number != 0) {
        --number;
        *last += (number >> 1) ^ (0 - (number & 1));
        *name  = *last;
    }
    return 1;
}

static int record_read_index(const uint8_t **at, const uint8_t *end,
                             uint32_t *index)
{
    uint64_t number;

    if (!record_read_number(at, end, &number) || (number > UINT32_MAX)) {
        return 0;
    }
    *index = (uint32_t)number;
    return 1;
}

static int record_read_bytes(const uint8_t **at, const uint8_t *end,
                             void *bytes, size_t size)
{
    if ((size_t)(end - *at) < size) {
        return 0;
    }
    memcpy(bytes, *at, size);
    *at += size;
    return 1;
}

static int record_read_addr(const uint8_t **at, const uint8_t *end,
                            flow_addr_t *addr)
{
    return record_read_bytes(at, end, addr->gid, sizeof(addr->gid)) &&
           record_read_bytes(at, end, &addr->incarnation,
                             sizeof(addr->incarnation)) &&
           record_read_index(at, end, &addr->qpn) &&
           record_read_index(at, end, &addr->qkey);
}

static int record_read_handles(const uint8_t **at, const uint8_t *end,
                               record_base_t *base, record_call_t *call)
{
    uint32_t count;

    if (!record_read_index(at, end, &count) || (count > RECORD_HANDLES_MAX)) {
        return 0;
    }
    for (call->handles = 0; call->handles < count; ++call->handles) {
        if (!record_read_name(at, end, &base->handle,
                              &call->handle[call->handles])) {
            return 0;
        }
    }
    return 1;
}

/* Where the next number, word and byte string of the call go. */
typedef struct record_filled {
    unsigned number, word, bytes;
} record_filled_t;

static int record_read_string(const uint8_t **at, const uint8_t *end,
                              record_call_t *call, record_filled_t *filled)
{
    uint32_t length;

    if (!record_read_index(at, end, &length) || (length > FLOW_CTL_MAX) ||
        ((size_t)(end - *at) < length)) {
        return 0;
    }
    call->bytes[filled->bytes].at       = *at;
    call->bytes[filled->bytes++].length = length;
    *at += length;
    return 1;
}

static int record_read_field(char field, const uint8_t **at,
                             const uint8_t *end, record_base_t *base,
                             record_call_t *call, record_filled_t *filled)
{
    switch (field) {
    case 't':
        return record_read_index(at, end, &call->tx);
    case 'p':
        return record_read_index(at, end, &call->peer);
    case 'l':
        return record_read_index(at, end, &call->length);
    case 'n':
        return record_read_number(at, end, &call->number[filled->number++]);
    case 's':
        if (!record_read_next(at, end, &base->src)) {
            return 0;
        }
        call->number[filled->number++] = base->src;
        return 1;
    case 'c':
        return record_read_bytes(at, end, &call->word[filled->word++],
                                 sizeof(call->word[0]));
    case 'T':
        call->time = 0;
        if (!record_read_next(at, end, &base->time)) {
            return 0;
        }
        call->time = base->time;
        return 1;
    case 'o':
        return record_read_name(at, end, &base->op, &call->op);
    case 'h':
        return record_read_name(at, end, &base->handle, &call->handle[0]);
    case 'H':
        return record_read_handles(at, end, base, call);
    case 'b':
        return record_read_string(at, end, call, filled);
    case 'A':
        return record_read_addr(at, end, &call->addr);
    default: /* the blank */
        return 1;
    }
}

int record_format_read(const uint8_t **at, const uint8_t *end,
                       record_base_t *base, record_call_t *call)
{
    record_filled_t filled = {0, 0, 0};
    const uint8_t  *next   = *at;
    const char     *field;

    if ((next >= end) || (*next == RECORD_NONE) || (*next >= RECORD_KINDS)) {
        return 0;
    }
    memset(call, 0, sizeof(*call));
    call->kind = (record_kind_t)*next++;
    for (field = record_schema[call->kind].fields; *field != '\0'; ++field) {
        if (!record_read_field(*field, &next, end, base, call, &filled)) {
            return 0;
        }
    }
    call->numbers = filled.number;
    *at           = next;
    return 1;
}
