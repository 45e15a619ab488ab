/* SPDX-License-Identifier: BSD-3-Clause */
#include "record_packet.h"

#include <flow/ctl_wire.h>
#include <flow/wire.h>

#include <stdio.h>

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
