/* SPDX-License-Identifier: BSD-3-Clause */
#include "chrome.h"
#include "text.h"

#include <files/output.h>
#include <flow/image.h>

#include <stdio.h>
#include <string.h>

/* Rows: flows have their own numbers. No row is 0, which Perfetto takes for the
 * first thread. */
enum { CHROME_ROW_CTL = FLOW_INDEX_MAX };

/* An event, up to json_end_object. Row 0: it is in none; time: ns. */
static json_t *chrome_event(chrome_t *chrome, const char *kind, uint32_t row,
                            const char *name, uint64_t time)
{
    json_object(&chrome->json, NULL);
    json_text(&chrome->json, "ph", kind);
    json_text(&chrome->json, "name", name);
    json_count(&chrome->json, "pid", chrome->pid);
    if (row != 0) {
        json_count(&chrome->json, "tid", row);
    }
    if (kind[0] != 'M') {
        json_number(&chrome->json, "ts", (double)time / 1e3);
    }
    return &chrome->json;
}

static void chrome_name(chrome_t *chrome, const char *what, uint32_t row,
                        const char *name)
{
    json_t *json = chrome_event(chrome, "M", row, what, 0);

    json_object(json, "args");
    json_text(json, "name", name);
    json_end_object(json);
    json_end_object(json);
}

static void chrome_instant(chrome_t *chrome, const watch_t *watch, uint32_t row,
                           const char *name)
{
    json_t *json = chrome_event(chrome, "i", row, name, watch->last);

    json_text(json, "s", "t");
    json_end_object(json);
}

int chrome_open(chrome_t *chrome, const char *path,
                const record_names_t *names)
{
    char name[192];

    chrome->pid = (names->pid != 0) ? names->pid : 1;
    if (json_open(&chrome->json, "trace", path) != 0) {
        return -1;
    }
    snprintf(name, sizeof(name), "%.31s%s%.15s of %.63s, %.31s QPN %u",
             names->program, (names->rank[0] != '\0') ? " rank " : "",
             names->rank, names->host,
             (names->device[0] != '\0') ? names->device : "no device",
             names->qpn);
    json_array(&chrome->json, "traceEvents");
    chrome_name(chrome, "process_name", 0, name);
    chrome_name(chrome, "thread_name", CHROME_ROW_CTL, "control packets");
    return 0;
}

static void chrome_stall_ends(chrome_t *chrome, const watch_t *watch,
                              uint32_t row)
{
    const watch_flow_t *flow = &watch->flows[row];
    json_t             *json;

    if (flow->blocked_call != 0) {
        json = chrome_event(chrome, "X", row, "stalled", flow->blocked);
        json_number(json, "dur", (watch->last > flow->blocked) ?
                    (double)(watch->last - flow->blocked) / 1e3 : 0);
        json_end_object(json);
    }
}

/* How much a flow may send, and has out. */
static void chrome_window(chrome_t *chrome, const run_t *run,
                          const watch_t *watch, uint32_t flow)
{
    const flow_tx_t *tx = flow_image_tx(run->core, flow);
    char             name[32];
    json_t          *json;

    if (tx != NULL) {
        snprintf(name, sizeof(name), "flow %u", flow);
        json = chrome_event(chrome, "C", 0, name, watch->last);
        json_object(json, "args");
        json_count(json, "out", flow_tx_outstanding(tx));
        json_count(json, "allowed", (uint16_t)(flow_tx_last_limit(tx) -
                                               flow_tx_psn(tx)));
        json_end_object(json);
        json_end_object(json);
    }
}

/* A flow that is seen for the first time was opened by this call, or by one
 * before the first that the recording has. */
static void chrome_flow(chrome_t *chrome, const run_t *run, watch_t *watch,
                        const record_call_t *call)
{
    watch_flow_t    *flow = &watch->flows[call->tx];
    const flow_tx_t *tx   = flow_image_tx(run->core, call->tx);
    int              open = call->kind == RECORD_TX_OPEN;
    flow_addr_t      addr = call->addr;
    char             peer[64], name[96];

    if ((call->tx == 0) || (flow->named && !open)) {
        return;
    }
    if (!open && (tx != NULL)) {
        addr = flow_peer_addr(run->core, flow_tx_peer(run->core, tx));
    }
    text_addr(peer, sizeof(peer), &addr);
    snprintf(name, sizeof(name), "opened, to %s", peer);
    chrome_name(chrome, "thread_name", call->tx, name + strlen("opened, "));
    if (open) {
        chrome_stall_ends(chrome, watch, call->tx);
        chrome_instant(chrome, watch, call->tx, name);
    }
    flow->named = 1;
}

/* A packet of control came or goes. */
static void chrome_packet(chrome_t *chrome, const watch_t *watch,
                          const record_call_t *call, const char *direction,
                          size_t length)
{
    char text[192], name[224];

    text_packet(text, sizeof(text), call->bytes[0].at, call->bytes[0].length,
                length);
    snprintf(name, sizeof(name), "%s %s", direction, text);
    chrome_instant(chrome, watch, CHROME_ROW_CTL, name);
}

void chrome_call(chrome_t *chrome, const run_t *run, watch_t *watch,
                 const record_call_t *call, const uint8_t *packet)
{
    char name[64];

    if ((chrome->json.out == NULL) || (call->tx >= FLOW_INDEX_MAX)) {
        return;
    }
    chrome_flow(chrome, run, watch, call);
    if (watch_frees(call)) {
        chrome_stall_ends(chrome, watch, call->tx);
    }
    switch (call->kind) {
    case RECORD_TX_CLOSE:
        chrome_instant(chrome, watch, call->tx, "closed");
        break;
    case RECORD_TX_COMMIT:
    case RECORD_RESEND_COMMIT:
        chrome_window(chrome, run, watch, call->tx);
        break;
    case RECORD_TX_RNR:
        chrome_instant(chrome, watch, call->tx, "receiver not ready");
        break;
    case RECORD_RESEND_HEADER:
        chrome_instant(chrome, watch, call->tx, "sent again");
        break;
    case RECORD_CTL_NEXT:
        if (call->number[0]) {
            chrome_packet(chrome, watch, call, "sent:", call->bytes[0].length);
        }
        break;
    case RECORD_EVENT_NEXT:
        if (call->number[0] && (call->tx != 0) &&
            (call->number[1] == FLOW_EVENT_TX_FAILED)) {
            snprintf(name, sizeof(name), "failed: %s",
                     text_end(call->number[2]));
            chrome_instant(chrome, watch, call->tx, name);
        }
        break;
    default:
        if ((packet != NULL) && (call->length > 0) &&
            (packet[0] & FLOW_WIRE_CTL)) {
            chrome_packet(chrome, watch, call, "came:", call->length);
        }
        break;
    }
}

int chrome_close(chrome_t *chrome, const watch_t *watch, const char *path)
{
    uint32_t flow;

    for (flow = 1; flow < FLOW_INDEX_MAX; ++flow) {
        chrome_stall_ends(chrome, watch, flow);
    }
    json_end_array(&chrome->json);
    if (json_close(&chrome->json) != 0) {
        output_remove(path); /* half of it is no use */
        return -1;
    }
    return 0;
}
