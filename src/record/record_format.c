/* SPDX-License-Identifier: BSD-3-Clause */
#include "record_format.h"

#include <flow/ctl_wire.h>
#include <flow/wire.h>

#include <stdio.h>
#include <string.h>

static const char *const record_packet_names[FLOW_CTL_TYPE_LAST] = {
    [FLOW_CTL_HELLO]   = "hello",
    [FLOW_CTL_ANSWER]  = "answer",
    [FLOW_CTL_LIMIT]   = "limit",
    [FLOW_CTL_WHO]     = "who are you",
    [FLOW_CTL_WANT]    = "want",
    [FLOW_CTL_RESET]   = "reset",
    [FLOW_CTL_PING]    = "ping",
    [FLOW_CTL_GOODBYE] = "goodbye",
    [FLOW_CTL_ACK]     = "ack",
    [FLOW_CTL_PARTED]  = "parted"
};

/* Messages, and goodbye, which has their header. */
static void record_packet_data(char *line, size_t size, const uint8_t *packet,
                               uint64_t word, size_t length)
{
    unsigned header = flow_wire_word_len(word);
    char     what[16], rest[80], limit[24] = "";

    snprintf(what, sizeof(what), (word & FLOW_WIRE_CTL) ? "goodbye" : "am %u",
             (unsigned)(word & FLOW_WIRE_AM_MASK));
    if (word & FLOW_WIRE_LIMIT) {
        snprintf(limit, sizeof(limit), ", limit %u",
                 (unsigned)flow_wire_limit(word));
    }
    snprintf(rest, sizeof(rest), ", token %06x%s",
             (unsigned)flow_wire_token(word), limit);
    if (flow_wire_is_long(word) && (length >= FLOW_LONG_HDR)) {
        snprintf(rest, sizeof(rest), ", from %016llx endpoint %u to %016llx",
                 (unsigned long long)flow_wire_load_names(packet).from,
                 flow_wire_load_names(packet).ep,
                 (unsigned long long)flow_wire_load_names(packet).to);
    }
    snprintf(line, size, "%s psn %u, %zu bytes%s", what,
             (unsigned)flow_wire_psn(word),
             (length > header) ? length - header : 0, rest);
}

static void record_packet_ctl(char *line, size_t size, const uint8_t *packet,
                           unsigned type, size_t length)
{
    const char *name = (type < FLOW_CTL_TYPE_LAST) ? record_packet_names[type] :
                                                     NULL;
    char        limit[24] = "";
    flow_ctl_msg_t msg = {0};

    if ((name == NULL) || (length < FLOW_CTL_BASE_LEN)) {
        snprintf(line, size, "control packet of unknown type %u, %zu bytes",
                 type, length);
        return;
    }
    flow_ctl_decode_base(packet, &msg);
    if ((type == FLOW_CTL_ANSWER) || (type == FLOW_CTL_LIMIT) ||
        (type == FLOW_CTL_WANT) || (type == FLOW_CTL_ACK)) {
        snprintf(limit, sizeof(limit), " %u,", msg.limit);
    }
    snprintf(line, size, "%s,%s endpoint %u, from %016llx to %016llx", name,
             limit, msg.ep, (unsigned long long)msg.src,
             (unsigned long long)msg.dst);
}

void record_packet_text(char *line, size_t size, const void *packet,
                       size_t length)
{
    uint64_t word;
    unsigned type;

    if (length < FLOW_SHORT_HDR) {
        snprintf(line, size, "packet of %zu bytes, too short for a header",
                 length);
        return;
    }
    word = flow_wire_load64(packet);
    type = word & FLOW_WIRE_AM_MASK;
    if ((word & FLOW_WIRE_CTL) && (type != FLOW_CTL_GOODBYE)) {
        record_packet_ctl(line, size, packet, type, length);
    } else {
        record_packet_data(line, size, packet, word, length);
    }
}

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
