/* SPDX-License-Identifier: BSD-3-Clause */
#include "text.h"

#include <record/record_format.h>

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#define TEXT_NAME(_names, _number) \
    text_name(_names, sizeof(_names) / sizeof(_names[0]), _number)

static const char *const text_verdicts[] = {
    [FLOW_RX_DELIVER]   = "delivered",
    [FLOW_RX_HOLD]      = "held",
    [FLOW_RX_CONTROL]   = "taken",
    [FLOW_RX_DROP]      = "dropped",
    [FLOW_RX_NO_MEMORY] = "no memory"
};

static const char *const text_sends[] = {
    [FLOW_SEND_OK]       = "delivered",
    [FLOW_SEND_RNR]      = "receiver not ready",
    [FLOW_SEND_LOST]     = "no answer",
    [FLOW_SEND_DEAD]     = "queue pair gone",
    [FLOW_SEND_ERROR]    = "our own error",
    [FLOW_SEND_GIVEN_UP] = "given up"
};

static const char *const text_events[] = {
    [FLOW_EVENT_TX_READY]        = "may send again",
    [FLOW_EVENT_TX_OPEN]         = "answered",
    [FLOW_EVENT_TX_RMA]          = "RMA answered",
    [FLOW_EVENT_TX_FAILED]       = "failed",
    [FLOW_EVENT_TX_GONE]         = "gone",
    [FLOW_EVENT_PEER_INTRODUCED] = "peer introduced",
    [FLOW_EVENT_PEER_WANTS_RMA]  = "peer wants RMA",
    [FLOW_EVENT_PEER_GONE]       = "peer gone",
    [FLOW_EVENT_RX_RELEASE]      = "held packet released",
    [FLOW_EVENT_RX_SCARCE]       = "receive buffers are scarce"
};

static const char *const text_ends[] = {
    [FLOW_END_NONE]     = "well",
    [FLOW_END_ERROR]    = "our own error",
    [FLOW_END_RESET]    = "reset by its receiver",
    [FLOW_END_PAIR]     = "its pair was lost",
    [FLOW_END_LOST]     = "no answer",
    [FLOW_END_DEAD]     = "peer dead",
    [FLOW_END_GIVEN_UP] = "given up"
};

static const char *const text_opens[] = {
    [FLOW_OK]          = "open",
    [FLOW_NO_MEMORY]   = "no memory",
    [FLOW_NO_RESOURCE] = "refused",
    [FLOW_LINGERING]   = "too many linger"
};

static const char *
text_name(const char *const *names, size_t count, uint64_t number)
{
    return ((number < count) && (names[number] != NULL)) ? names[number] : "?";
}

const char *text_end(uint64_t why)
{
    return TEXT_NAME(text_ends, why);
}

void text_addr(char *line, size_t size, const flow_addr_t *addr)
{
    char gid[INET6_ADDRSTRLEN];

    inet_ntop(AF_INET6, addr->gid, gid, sizeof(gid));
    snprintf(line, size, "%s QPN %u", gid, addr->qpn);
}

void text_packet(char *line, size_t size, const uint8_t *packet, size_t kept,
                 size_t length)
{
    uint8_t whole[FLOW_CTL_MAX] = {0};

    memcpy(whole, packet, (kept < sizeof(whole)) ? kept : sizeof(whole));
    record_packet_text(line, size, whole, length);
}

/* A packet that was received, or control that goes. */
static void text_string(FILE *out, const record_call_t *call, size_t length)
{
    char packet[192];

    text_packet(packet, sizeof(packet), call->bytes[0].at,
                call->bytes[0].length, length);
    fprintf(out, " %s", packet);
}

/* A packet that goes: data carry no length here. */
static void text_header(FILE *out, const record_call_t *call, unsigned i)
{
    char        packet[192];
    const char *bytes;

    text_packet(packet, sizeof(packet), call->bytes[i].at,
                call->bytes[i].length, call->bytes[i].length);
    bytes = strstr(packet, ", 0 bytes");
    fprintf(out, " %.*s%s",
            (bytes != NULL) ? (int)(bytes - packet) : (int)sizeof(packet),
            packet, (bytes != NULL) ? bytes + strlen(", 0 bytes") : "");
}

static void text_accept(FILE *out, const record_call_t *call)
{
    uint64_t verdict = call->number[1] & 7;

    text_string(out, call, call->length);
    fprintf(out, ", from QPN %u handle %u: %s",
            flow_src_qpn((flow_src_t)call->number[0]),
            flow_src_ah((flow_src_t)call->number[0]),
            TEXT_NAME(text_verdicts, verdict));
    if (verdict == FLOW_RX_DROP) {
        fprintf(out, " (%s)",
                flow_drop_name((flow_drop_t)(call->number[2] >> 1)));
    } else if (call->number[2] & 1) {
        fprintf(out, ", and those behind it");
    }
}

static void text_event(FILE *out, const record_call_t *call)
{
    if (call->number[0] == 0) {
        fprintf(out, " none");
        return;
    }
    fprintf(out, " %s", TEXT_NAME(text_events, call->number[1]));
    if (call->number[1] == FLOW_EVENT_TX_FAILED) {
        fprintf(out, " (%s)", text_end(call->number[2]));
    }
}

/* The rest of a call, in words or as numbers. */
static void text_numbers(FILE *out, const record_call_t *call)
{
    unsigned i;

    switch (call->kind) {
    case RECORD_TX_OPEN:
        fprintf(out, " to QPN %u: %s", call->addr.qpn,
                TEXT_NAME(text_opens, call->number[0]));
        break;
    case RECORD_TX_COMMIT:
    case RECORD_RESEND_COMMIT:
        text_header(out, call, 0);
        if (call->bytes[1].length > 0) {
            fprintf(out, ", but right is");
            text_header(out, call, 1);
        }
        break;
    case RECORD_RESEND_HEADER:
        text_header(out, call, 1);
        break;
    case RECORD_RX_ACCEPT:
    case RECORD_RX_ACCEPT_HELD:
    case RECORD_RX_SHORT:
        text_accept(out, call);
        break;
    case RECORD_CTL_NEXT:
        if (call->number[0] == 0) {
            fprintf(out, " none");
        } else {
            text_string(out, call, call->bytes[0].length);
        }
        break;
    case RECORD_CTL_DONE:
    case RECORD_TX_FAIL:
        fprintf(out, " %s", TEXT_NAME(text_sends, call->number[0]));
        break;
    case RECORD_EVENT_NEXT:
    case RECORD_EVENT_PEER_NEXT:
        text_event(out, call);
        break;
    case RECORD_TX_READY:
        fprintf(out, " %s", call->number[0] ? "yes" : "no");
        break;
    case RECORD_STATE:
        fprintf(out, " %016llx", (unsigned long long)call->word[0]);
        break;
    default:
        for (i = 0; i < call->numbers; ++i) {
            fprintf(out, " %llu", (unsigned long long)call->number[i]);
        }
    }
}

void text_call(FILE *out, const record_call_t *call)
{
    unsigned i;

    fputs(record_format_name(call->kind), out);
    if (call->tx != 0) {
        fprintf(out, " flow %u", call->tx);
    }
    if (call->peer != 0) {
        fprintf(out, " peer %u", call->peer);
    }
    if (call->op != 0) {
        fprintf(out, " op %llx", (unsigned long long)call->op);
    }
    text_numbers(out, call);
    for (i = 0; i < call->handles; ++i) {
        fprintf(out, "%s%llx", (i == 0) ? " buffers " : ",",
                (unsigned long long)call->handle[i]);
    }
    if (call->time != 0) {
        fprintf(out, " at %.3f us", (double)call->time / 1e3);
    }
}
