/* SPDX-License-Identifier: BSD-3-Clause */
#include "chrome.h"
#include "text.h"

#include <command/options.h>
#include <files/output.h>
#include <flow/image.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/* Rows: flows have their own numbers. No row is 0, which Perfetto takes for the
 * first thread. */
enum { CHROME_ROW_CTL = FLOW_INDEX_MAX };

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
            "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%u,\"tid\":%u,"
            "\"args\":{\"name\":\"",
            chrome->pid, row);
    chrome_name(chrome, name);
    fputs("\"}}", chrome->out);
}

static void chrome_instant(chrome_t *chrome, uint32_t row, const char *name)
{
    chrome_comma(chrome);
    fprintf(chrome->out,
            "{\"ph\":\"i\",\"s\":\"t\",\"pid\":%u,\"tid\":%u,\"ts\":%.3f,"
            "\"name\":\"",
            chrome->pid, row, chrome_us(chrome->time));
    chrome_name(chrome, name);
    fputs("\"}", chrome->out);
}

int chrome_open(chrome_t *chrome, const char *path,
                const record_head_t *head, uint64_t first_time)
{
    const record_names_t *names = &head->names;
    char                  name[160];

    memset(chrome, 0, sizeof(*chrome));
    chrome->pid     = (names->pid != 0) ? names->pid : 1;
    chrome->time    = first_time;
    chrome->stalled = calloc(FLOW_INDEX_MAX, sizeof(*chrome->stalled));
    chrome->named   = calloc(FLOW_INDEX_MAX, sizeof(*chrome->named));
    chrome->out     = ((chrome->stalled != NULL) && (chrome->named != NULL)) ?
                              output_file(path, O_TRUNC) : NULL;
    if (chrome->out == NULL) {
        options_error("cannot write %s: %s", path, output_error(errno));
        free(chrome->stalled);
        free(chrome->named);
        return -1;
    }
    snprintf(name, sizeof(name), "%.31s%s%.15s of %.63s, %.31s QPN %u",
             names->program, (names->rank[0] != '\0') ? " rank " : "",
             names->rank, names->host,
             (names->device[0] != '\0') ? names->device : "no device",
             names->qpn);
    fputs("{\"traceEvents\":[", chrome->out);
    chrome_comma(chrome);
    fprintf(chrome->out,
            "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%u,"
            "\"args\":{\"name\":\"",
            chrome->pid);
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
                "{\"ph\":\"X\",\"pid\":%u,\"tid\":%u,\"ts\":%.3f,\"dur\":%.3f,"
                "\"name\":\"stalled\"}",
                chrome->pid, flow, chrome_us(since),
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
                "{\"ph\":\"C\",\"pid\":%u,\"ts\":%.3f,\"name\":\"flow %u\","
                "\"args\":{\"out\":%u,\"allowed\":%u}}",
                chrome->pid, chrome_us(chrome->time), flow,
                flow_tx_outstanding(tx),
                (uint16_t)(flow_tx_last_limit(tx) - flow_tx_psn(tx)));
    }
}

/* Writes "TEXT GID QPN", of the peer of a call's sending flow. */
static void chrome_peer(char *name, size_t size, const char *text,
                        const run_t *run, const record_call_t *call)
{
    const flow_tx_t *tx   = flow_image_tx(run->core, call->tx);
    flow_addr_t      addr = call->addr;
    char             peer[64];

    if ((call->kind != RECORD_TX_OPEN) && (tx != NULL)) {
        addr = flow_peer_addr(run->core, flow_tx_peer(run->core, tx));
    }
    text_addr(peer, sizeof(peer), &addr);
    snprintf(name, size, "%s %s", text, peer);
}

/* A flow that is seen for the first time was opened by this call, or by one
 * before the first that the recording has. */
static void chrome_name_flow(chrome_t *chrome, const run_t *run,
                             const record_call_t *call)
{
    char name[96];

    if ((call->tx != 0) && !chrome->named[call->tx]) {
        chrome_peer(name, sizeof(name), "to", run, call);
        chrome_row(chrome, call->tx, name);
        chrome->named[call->tx] = 1;
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
    char name[96];

    if (call->time != 0) {
        chrome->time = call->time;
    }
    if (call->tx >= FLOW_INDEX_MAX) {
        return;
    }
    if (call->kind == RECORD_TX_OPEN) {
        if (call->tx == 0) {
            return; /* it failed */
        }
        chrome->named[call->tx] = 0; /* the index had another flow */
    }
    chrome_name_flow(chrome, run, call);
    switch (call->kind) {
    case RECORD_TX_OPEN:
        chrome_peer(name, sizeof(name), "opened, to", run, call);
        chrome_instant(chrome, call->tx, name);
        break;
    case RECORD_TX_CLOSE:
        chrome_instant(chrome, call->tx, "closed");
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
    uint32_t flow;
    int      failed;

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
    free(chrome->named);
    if (failed) {
        options_error("cannot write all of %s: %s; make room, or name another "
                      "file", path, strerror(errno));
        output_remove(path); /* half of it is no use */
        return -1;
    }
    return 0;
}
