/* SPDX-License-Identifier: BSD-3-Clause */
#include "chrome.h"
#include "text.h"

#include <flow/image.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Rows: flows have their own numbers. */
enum { CHROME_ROW_CTL = 0 };

static double chrome_us(uint64_t ns)
{
    return (double)ns / 1e3;
}

static void chrome_comma(chrome_t *chrome)
{
    fputs((chrome->written++ > 0) ? ",\n" : "\n", chrome->out);
}

/* A name stands between quotes, so other characters are replaced. */
static void chrome_name(chrome_t *chrome, const char *name)
{
    for (; *name != '\0'; ++name) {
        fputc(((*name < ' ') || (*name > '~') || (*name == '"') ||
               (*name == '\\')) ? '?' : *name,
              chrome->out);
    }
}

static void chrome_row(chrome_t *chrome, uint32_t row, const char *name)
{
    chrome_comma(chrome);
    fprintf(chrome->out,
            "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":%u,"
            "\"args\":{\"name\":\"",
            row);
    chrome_name(chrome, name);
    fputs("\"}}", chrome->out);
}

static void chrome_instant(chrome_t *chrome, uint32_t row, const char *name)
{
    chrome_comma(chrome);
    fprintf(chrome->out,
            "{\"ph\":\"i\",\"s\":\"t\",\"pid\":1,\"tid\":%u,\"ts\":%.3f,"
            "\"name\":\"",
            row, chrome_us(chrome->time));
    chrome_name(chrome, name);
    fputs("\"}", chrome->out);
}

int chrome_open(chrome_t *chrome, const char *path, const record_head_t *head)
{
    char name[160];

    memset(chrome, 0, sizeof(*chrome));
    chrome->stalled = calloc(FLOW_INDEX_MAX, sizeof(*chrome->stalled));
    chrome->out     = (chrome->stalled != NULL) ? fopen(path, "w") : NULL;
    if (chrome->out == NULL) {
        fprintf(stderr, "srd_replay: cannot write %s: %s\n", path,
                strerror(errno));
        free(chrome->stalled);
        return -1;
    }
    snprintf(name, sizeof(name), "%.31s of %.63s, %.31s", head->names.program,
             head->names.host, head->names.device);
    fputs("{\"traceEvents\":[", chrome->out);
    chrome_comma(chrome);
    fputs("{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,"
          "\"args\":{\"name\":\"",
          chrome->out);
    chrome_name(chrome, name);
    fputs("\"}}", chrome->out);
    chrome_row(chrome, CHROME_ROW_CTL, "control packets");
    return 0;
}

static void chrome_stall_ends(chrome_t *chrome, uint32_t flow)
{
    uint64_t since = chrome->stalled[flow];

    if (since != 0) {
        chrome_comma(chrome);
        fprintf(chrome->out,
                "{\"ph\":\"X\",\"pid\":1,\"tid\":%u,\"ts\":%.3f,\"dur\":%.3f,"
                "\"name\":\"stalled\"}",
                flow, chrome_us(since),
                (chrome->time > since) ? chrome_us(chrome->time - since) : 0.0);
        chrome->stalled[flow] = 0;
    }
}

/* How much a flow may send, and has out. */
static void chrome_window(chrome_t *chrome, const run_t *run, uint32_t flow)
{
    const flow_tx_t *tx = flow_image_tx(run->core, flow);

    if (tx != NULL) {
        chrome_comma(chrome);
        fprintf(chrome->out,
                "{\"ph\":\"C\",\"pid\":1,\"ts\":%.3f,\"name\":\"flow %u\","
                "\"args\":{\"out\":%u,\"allowed\":%u}}",
                chrome_us(chrome->time), flow, flow_tx_outstanding(tx),
                (uint16_t)(flow_tx_last_limit(tx) - flow_tx_psn(tx)));
    }
}

static void chrome_open_flow(chrome_t *chrome, const record_call_t *call)
{
    char name[64];

    if (call->tx != 0) {
        snprintf(name, sizeof(name), "flow %u to QPN %u", call->tx,
                 call->addr.qpn);
        chrome_row(chrome, call->tx, name);
    }
}

/* A packet of control came or goes. */
static void chrome_packet(chrome_t *chrome, const record_call_t *call,
                          const char *direction, size_t length)
{
    char text[192], name[224];

    text_packet(text, sizeof(text), call->bytes[0].at, call->bytes[0].length,
                length);
    snprintf(name, sizeof(name), "%s %s", direction, text);
    chrome_instant(chrome, CHROME_ROW_CTL, name);
}

static void chrome_event(chrome_t *chrome, const record_call_t *call)
{
    char name[64];

    if (call->number[0] && (call->tx != 0)) {
        if (call->number[1] == FLOW_EVENT_TX_READY) {
            chrome_stall_ends(chrome, call->tx);
        } else if (call->number[1] == FLOW_EVENT_TX_FAILED) {
            snprintf(name, sizeof(name), "failed: %s",
                     text_end(call->number[2]));
            chrome_instant(chrome, call->tx, name);
        }
    }
}

void chrome_call(chrome_t *chrome, const run_t *run,
                 const record_call_t *call, const uint8_t *packet)
{
    if (call->time != 0) {
        chrome->time = call->time;
    }
    if (call->tx >= FLOW_INDEX_MAX) {
        return;
    }
    switch (call->kind) {
    case RECORD_TX_OPEN:
        chrome_open_flow(chrome, call);
        break;
    case RECORD_TX_READY:
        if (!call->number[0] && (chrome->stalled[call->tx] == 0)) {
            chrome->stalled[call->tx] = chrome->time;
        }
        break;
    case RECORD_TX_COMMIT:
    case RECORD_RESEND_COMMIT:
        chrome_stall_ends(chrome, call->tx);
        chrome_window(chrome, run, call->tx);
        break;
    case RECORD_TX_RNR:
        chrome_instant(chrome, call->tx, "receiver not ready");
        break;
    case RECORD_RESEND_HEADER:
        chrome_instant(chrome, call->tx, "sent again");
        break;
    case RECORD_CTL_NEXT:
        if (call->number[0]) {
            chrome_packet(chrome, call, "sent:", call->bytes[0].length);
        }
        break;
    case RECORD_EVENT_NEXT:
        chrome_event(chrome, call);
        break;
    default:
        if ((packet != NULL) && (call->length > 0) &&
            (packet[0] & FLOW_WIRE_CTL)) {
            chrome_packet(chrome, call, "came:", call->length);
        }
        break;
    }
}

int chrome_close(chrome_t *chrome, const char *path)
{
    struct stat info;
    uint32_t    flow;
    int         failed;

    if (chrome->out == NULL) {
        return 0;
    }
    for (flow = 1; flow < FLOW_INDEX_MAX; ++flow) {
        chrome_stall_ends(chrome, flow);
    }
    fputs("\n]}\n", chrome->out);
    failed  = ferror(chrome->out);
    failed |= fclose(chrome->out);
    free(chrome->stalled);
    if (failed) {
        fprintf(stderr, "srd_replay: cannot write all of %s: %s; make room, "
                "or name another file\n", path, strerror(errno));
        if ((stat(path, &info) == 0) && S_ISREG(info.st_mode)) {
            unlink(path); /* half of it is no use */
        }
        return -1;
    }
    return 0;
}
