/* SPDX-License-Identifier: BSD-3-Clause */
#include "serve.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ST_FAR_BYTES (2 * ST_MEM_BYTES)
#define SERVE_POLL   64 /* completions that are looked at together */

typedef struct serve_command {
    const char *name;
    void      (*run)(st_serve_t *serve, const char *words);
} serve_command_t;

void st_serve_gid_print(const uint8_t gid[16], char text[33])
{
    unsigned i;

    for (i = 0; i < 16; ++i) {
        snprintf(text + 2 * i, 3, "%02x", gid[i]);
    }
}

int st_serve_gid_parse(const char *text, uint8_t gid[16])
{
    unsigned i, byte;

    if (strspn(text, "0123456789abcdef") < 32) {
        return -1;
    }
    for (i = 0; i < 16; ++i) {
        if (sscanf(text + 2 * i, "%2x", &byte) != 1) {
            return -1;
        }
        gid[i] = byte;
    }
    return 0;
}

static uint8_t serve_pattern(uint32_t number, size_t at)
{
    return (uint8_t)(number * 7 + at) | 1; /* never 0 */
}

void st_serve_message(uint8_t *bytes, size_t length, uint32_t number)
{
    uint64_t head = number;
    size_t at;

    memset(bytes, 1, length);
    memcpy(bytes, &head, (length < ST_HEAD) ? length : ST_HEAD);
    for (at = ST_HEAD; at < length; ++at) {
        bytes[at] = serve_pattern(number, at);
    }
}

int st_serve_open(st_serve_t *serve, const efa_device_t *device)
{
    memset(serve, 0, sizeof(*serve));
    serve->device = device;
    return st_qp_mem_open(&serve->mem, device, ST_FAR_BYTES);
}

/* There is one handle for the requester, which echoes use, too. */
static void serve_ah_close(st_serve_t *serve)
{
    serve->echo.ah = NULL;
    if (serve->known != NULL) {
        serve->device->verbs->destroy_ah(serve->known);
        serve->known = NULL;
    }
}

void st_serve_close(st_serve_t *serve)
{
    if (serve->mem.mr != NULL) {
        st_qp_close(&serve->qp);
        serve_ah_close(serve);
        st_qp_mem_close(&serve->mem, serve->device);
    }
}

static int serve_post(st_serve_t *serve, unsigned slot)
{
    st_piece_t piece = {&serve->mem, slot * serve->slot, serve->slot};

    return st_qp_recv(&serve->qp, &piece, slot);
}

/* Whether it came before or late, and every byte of it. */
static void serve_note(st_serve_t *serve, uint8_t *bytes, size_t length)
{
    unsigned late, bucket = 0;
    uint64_t number = 0;
    size_t at;

    ++serve->count;
    if (length <= ST_HEAD) {
        return;
    }
    memcpy(&number, bytes, sizeof(number));
    number %= ST_SEQ_MAX;
    for (at = ST_HEAD; at < length; ++at) {
        if (bytes[at] != serve_pattern(number, at)) {
            ++serve->bad;
            break;
        }
    }
    serve->twice        += serve->seen[number];
    serve->seen[number]  = 1;
    late = (number < serve->highest) ? serve->highest - (unsigned)number : 0;
    if (number > serve->highest) {
        serve->highest = number;
    }
    if (late > serve->most) {
        serve->most = late;
    }
    for (; late > 0; late /= 2) {
        ++bucket;
    }
    ++serve->bucket[(bucket < ST_BUCKETS) ? bucket : ST_BUCKETS - 1];
    bytes[length - 1] = 0; /* of the next one nothing is there before */
}

unsigned st_serve_progress(st_serve_t *serve)
{
    struct ibv_wc wc[SERVE_POLL];
    st_piece_t piece;
    int i, count;

    if (serve->qp.qp == NULL) {
        return 0;
    }
    (void)serve->qp.qp->context->ops.poll_cq(serve->qp.send_cq, SERVE_POLL,
                                             wc);
    count = serve->qp.qp->context->ops.poll_cq(serve->qp.recv_cq, SERVE_POLL,
                                               wc);
    for (i = 0; i < count; ++i) {
        if ((wc[i].status != IBV_WC_SUCCESS) ||
            (wc[i].wr_id >= serve->slots)) {
            continue;
        }
        piece = (st_piece_t){&serve->mem, wc[i].wr_id * serve->slot,
                             wc[i].byte_len};
        serve_note(serve, serve->mem.base + piece.at, piece.length);
        if (serve->echo.ah != NULL) {
            (void)st_qp_send(&serve->qp, &serve->echo, &piece, 0, 0);
        }
        if (serve->again) {
            (void)serve_post(serve, wc[i].wr_id);
        }
    }
    return (count > 0) ? (unsigned)count : 0;
}

static void __attribute__((format(printf, 2, 3)))
serve_say(st_serve_t *serve, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    vsnprintf(serve->answer, serve->room, format, ap);
    va_end(ap);
}

static void serve_hello(st_serve_t *serve, const char *words)
{
    char gid[33];

    (void)words;
    st_serve_gid_print(serve->device->gid.raw, gid);
    serve_say(serve, "ok %d %s %u %zu", ST_VERSION, gid,
              serve->device->caps, serve->device->max_msg);
}

static void serve_forget_counts(st_serve_t *serve)
{
    serve->count = serve->twice = serve->bad = serve->most = serve->highest = 0;
    memset(serve->bucket, 0, sizeof(serve->bucket));
    memset(serve->seen, 0, sizeof(serve->seen));
}

static void serve_open_qp(st_serve_t *serve, const char *words)
{
    unsigned depth, receives, bytes, qkey, rnr, i;
    st_qp_params_t params = {0};
    int err;

    if ((sscanf(words, "%u %u %u %u %u", &depth, &receives, &bytes, &qkey,
                &rnr) != 5) ||
        (depth < 1) || (depth > 4096) || (receives > depth) || (bytes < 1) ||
        (bytes > 65536) || ((size_t)depth * bytes > ST_MEM_BYTES) ||
        (rnr > 7)) {
        serve_say(serve, "error a bad queue pair");
        return;
    }
    st_qp_close(&serve->qp);
    serve->echo.ah = NULL;
    serve_forget_counts(serve);
    memset(serve->mem.base, 0, ST_MEM_BYTES);
    params.receives  = depth;
    params.sends     = 256;
    params.qkey      = qkey;
    params.rnr_retry = rnr;
    serve->depth     = depth;
    serve->slots     = depth;
    serve->slot      = bytes;
    serve->next      = receives;
    serve->again     = 1;
    err = st_qp_open(&serve->qp, serve->device, serve->mem.pd, &params);
    for (i = 0; (err == 0) && (i < receives); ++i) {
        err = serve_post(serve, i);
    }
    if (err != 0) {
        st_qp_close(&serve->qp);
        serve_say(serve, "error %s", strerror(err));
        return;
    }
    serve_say(serve, "ok %u %llu %u", serve->qp.qp->qp_num,
              (unsigned long long)(uintptr_t)serve->mem.base + ST_MEM_BYTES,
              serve->mem.mr->rkey);
}

static void serve_again(st_serve_t *serve, const char *words)
{
    serve->again = (words[0] == '1');
}

static void serve_more(st_serve_t *serve, const char *words)
{
    unsigned more, err = 0;

    if ((serve->qp.qp == NULL) || (sscanf(words, "%u", &more) != 1) ||
        (more > serve->depth)) {
        serve_say(serve, "error no queue pair, or a bad number");
        return;
    }
    while ((more-- > 0) && (err == 0)) {
        err = serve_post(serve, serve->next++ % serve->slots);
    }
    serve_say(serve, err ? "error %s" : "ok", strerror(err));
}

static void serve_know(st_serve_t *serve, const char *words)
{
    uint8_t gid[16];

    if (st_serve_gid_parse(words, gid) != 0) {
        serve_say(serve, "error a bad address");
        return;
    }
    if (serve->known == NULL) {
        serve->known = efa_ah_make(serve->device, serve->mem.pd, gid);
    }
    serve_say(serve, serve->known ? "ok" : "error no handle");
}

static void serve_forget(st_serve_t *serve, const char *words)
{
    (void)words;
    serve_ah_close(serve);
}

static void serve_echo(st_serve_t *serve, const char *words)
{
    serve->echo.ah = NULL;
    if (words[0] == '-') {
        return;
    }
    serve_know(serve, words);
    if (!strcmp(serve->answer, "ok") &&
        (sscanf(words + 32, " %u %u", &serve->echo.qpn, &serve->echo.qkey) ==
         2)) {
        serve->echo.ah = serve->known;
    }
}

/* BYTE LENGTH, within the memory for RDMA. 0, or -1. */
static int serve_span(const char *words, unsigned *byte, size_t *length)
{
    return ((sscanf(words, "%u %zu", byte, length) == 2) && (*byte < 256) &&
            (*length <= ST_MEM_BYTES)) ? 0 : -1;
}

static void serve_fill(st_serve_t *serve, const char *words)
{
    unsigned byte;
    size_t length;

    if (serve_span(words, &byte, &length) != 0) {
        serve_say(serve, "error a bad length");
        return;
    }
    memset(serve->mem.base + ST_MEM_BYTES, byte, length);
}

static void serve_look(st_serve_t *serve, const char *words)
{
    const volatile uint8_t *at = serve->mem.base + ST_MEM_BYTES;
    size_t length, i, wrong = 0;
    unsigned byte;

    if ((serve_span(words, &byte, &length) != 0) || (length == 0)) {
        serve_say(serve, "error a bad length");
        return;
    }
    for (i = length; i-- > 0;) {
        wrong += (at[i] != byte);
    }
    serve_say(serve, "ok %zu %d", wrong, at[length - 1] != byte);
}

static void serve_arrived(st_serve_t *serve, const char *words)
{
    unsigned i;

    (void)words;
    serve_say(serve, "ok %u %u %u %u", serve->count, serve->twice,
              serve->bad, serve->most);
    for (i = 0; i < ST_BUCKETS; ++i) {
        size_t used = strlen(serve->answer);

        snprintf(serve->answer + used, serve->room - used, " %u",
                 serve->bucket[i]);
    }
}

static void serve_close_qp(st_serve_t *serve, const char *words)
{
    (void)words;
    st_qp_close(&serve->qp);
}

static void serve_die(st_serve_t *serve, const char *words)
{
    (void)words;
    if (serve->may_die) {
        raise(SIGKILL);
    }
    serve_say(serve, "error not here");
}

static const serve_command_t serve_commands[] = {
    {"hello", serve_hello},    {"open", serve_open_qp},
    {"again", serve_again},    {"post", serve_more},
    {"know", serve_know},      {"forget", serve_forget},
    {"echo", serve_echo},      {"fill", serve_fill},
    {"look", serve_look},      {"arrived", serve_arrived},
    {"close", serve_close_qp}, {"die", serve_die},
};

void st_serve_line(st_serve_t *serve, const char *line, char *answer,
                   size_t size)
{
    size_t length = strcspn(line, " ");
    unsigned i;

    for (i = 0; i < sizeof(serve_commands) / sizeof(serve_commands[0]); ++i) {
        if ((strlen(serve_commands[i].name) == length) &&
            !strncmp(line, serve_commands[i].name, length)) {
            line += length + strspn(line + length, " ");
            serve->answer = answer;
            serve->room   = size;
            serve_say(serve, "ok");
            serve_commands[i].run(serve, line);
            return;
        }
    }
    snprintf(answer, size, "error not known");
}
