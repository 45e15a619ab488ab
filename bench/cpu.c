/* SPDX-License-Identifier: BSD-3-Clause */
/* CPU time of UCP's operations: one process with two workers that talk over srd,
 * so both ends are in a figure, and the emulated device with them.
 *
 * usage: efasim run -- srdrun cpu      with UCX_TLS=srd; directly:
 *        efasim run --no-strict-batch -- ...       and UCX_EFA_DIRECT=y
 * Reads cases from standard input, a line each: OPERATION:SIZE:WINDOW.
 * OPERATION: tag, am (a ping-pong where WINDOW is 1), put (each waits for a flush
 * then), get. Answers each by a line: the case, nanoseconds for one (the least of
 * some parts of CPU_MS milliseconds, 10), how many in a part; at the end by the
 * bytes of all. It sleeps meanwhile: several of it can be asked in turn. */
#define _GNU_SOURCE
#include "twins.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    CPU_LARGEST = 4 << 20,
    CPU_WINDOW  = 32,
    CPU_PLACES  = 8,
    CPU_PARTS   = 5,
    CPU_ID      = 1, /* of active messages */
    CPU_TAG     = 5
};

typedef struct cpu_case {
    char          operation[4];
    unsigned long size, window;
} cpu_case_t;

static cpu_case_t         now; /* the one that is measured */
static twin_t             twins[2];
static unsigned long      sent, received, flushed; /* that are complete */
static unsigned long      arrived;                 /* active messages */
static unsigned long long payload;
static double             case_seconds = 0.01;

static double cpu_used(void)
{
    struct timespec used;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return used.tv_sec + used.tv_nsec * 1e-9;
}

/* arg: the counter of those that are complete. */
static void cpu_done(void *request, ucs_status_t status, void *arg)
{
    twins_done(request, status, arg);
}

static void cpu_received(void *request, ucs_status_t status,
                         const ucp_tag_recv_info_t *info, void *arg)
{
    (void)info;
    (void)arg;
    cpu_done(request, status, &received);
}

static void cpu_am_received(void *request, ucs_status_t status, size_t length,
                            void *arg)
{
    (void)length;
    cpu_received(request, status, NULL, arg);
}

static const ucp_request_param_t cpu_param = {
    .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                    UCP_OP_ATTR_FIELD_USER_DATA,
    .cb.send      = cpu_done,
    .user_data    = &sent
};

/* Where the number-th operation's data are at either side. The device copies 256 KB
 * of each in turn: with few places a core's cache would hold what it copies, and
 * with one for each what others leave in the last cache would decide. */
static size_t cpu_offset(unsigned long number)
{
    unsigned long places = (now.window < CPU_PLACES) ? now.window : CPU_PLACES;

    return number % places * ((now.size + 4095) & ~4095ul);
}

/* Nobody reads the data of messages that come by copying. */
static ucs_status_t cpu_am(void *arg, const void *header, size_t header_length,
                           void *data, size_t length,
                           const ucp_am_recv_param_t *info)
{
    twin_t             *twin  = arg;
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                        UCP_OP_ATTR_FLAG_NO_IMM_CMPL,
        .cb.recv_am   = cpu_am_received
    };

    (void)header;
    (void)header_length;
    if (!(info->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV)) {
        ++received;
        return UCS_OK;
    }
    twins_started(ucp_am_recv_data_nbx(twin->worker, data,
                                     twin->memory + cpu_offset(arrived++),
                                     length, &param), &received, "receive");
    return UCS_INPROGRESS;
}

static void cpu_post_receive(twin_t *to, size_t offset, size_t size)
{
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                        UCP_OP_ATTR_FLAG_NO_IMM_CMPL,
        .cb.recv      = cpu_received
    };

    twins_started(ucp_tag_recv_nbx(to->worker, to->memory + offset, size, CPU_TAG,
                                 UINT64_MAX, &param), &received, "receive");
}

static int cpu_is_message(void)
{
    return (now.operation[0] == 't') || (now.operation[0] == 'a');
}

/* The number-th operation, from one side to the other. */
static void cpu_post(unsigned long number, int side)
{
    size_t   offset = cpu_offset(number);
    twin_t  *from   = &twins[side], *to = &twins[!side];
    char    *memory = from->memory + offset;
    uint64_t remote = (uint64_t)to->memory + offset;
    void    *request;

    if (now.operation[0] == 't') {
        cpu_post_receive(to, offset, now.size);
        request = ucp_tag_send_nbx(from->ep, memory, now.size, CPU_TAG,
                                   &cpu_param);
    } else if (now.operation[0] == 'a') {
        request = ucp_am_send_nbx(from->ep, CPU_ID, NULL, 0, memory, now.size,
                                  &cpu_param);
    } else if (now.operation[0] == 'p') {
        request = ucp_put_nbx(from->ep, memory, now.size, remote, from->rkey,
                              &cpu_param);
    } else {
        request = ucp_get_nbx(from->ep, memory, now.size, remote, from->rkey,
                              &cpu_param);
    }
    twins_started(request, &sent, "operation");
}

static void cpu_progress(void)
{
    twin_progress(&twins[1]);
    twin_progress(&twins[0]);
}

/* Until so many are complete at both ends. */
static void cpu_wait(unsigned long target)
{
    while ((sent < target) || (cpu_is_message() && (received < target))) {
        cpu_progress();
    }
}

static void cpu_flush(void)
{
    ucp_request_param_t param = cpu_param;

    param.user_data = &flushed;
    flushed = 0;
    twins_started(ucp_ep_flush_nbx(twins[0].ep, &param), &flushed, "flush");
    while (flushed == 0) {
        cpu_progress();
    }
}

/* Seconds of all. A put is at its target when a flush is complete. */
static double cpu_once(unsigned long count)
{
    int           pings = cpu_is_message() && (now.window == 1);
    int           puts  = now.operation[0] == 'p';
    double        start = cpu_used();
    unsigned long i;

    sent = received = arrived = 0;
    for (i = 0; i < count; ++i) {
        if (i >= now.window) {
            cpu_wait(i + 1 - now.window);
        }
        cpu_post(i, pings && (i & 1));
        if (puts && (now.window == 1)) {
            cpu_flush();
        }
    }
    cpu_wait(count);
    if (puts) {
        cpu_flush();
    }
    payload += (unsigned long long)count * now.size;
    return cpu_used() - start;
}

static void cpu_measure(void)
{
    unsigned long count = now.window;
    double        least, took, spent;

    cpu_once(CPU_WINDOW); /* registrations */
    while (((least = cpu_once(count)) < case_seconds / CPU_PARTS / 2) &&
           (count < 1ul << 22)) {
        count *= 2;
    }
    for (spent = least; spent < case_seconds; spent += took) {
        took  = cpu_once(count);
        least = (took < least) ? took : least;
    }
    printf("%.1f %lu\n", least * 1e9 / count, count);
}

static void cpu_handler(twin_t *twin)
{
    ucp_am_handler_param_t param;

    param.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID |
                       UCP_AM_HANDLER_PARAM_FIELD_CB |
                       UCP_AM_HANDLER_PARAM_FIELD_ARG;
    param.id         = CPU_ID;
    param.cb         = cpu_am;
    param.arg        = twin;
    twins_check(ucp_worker_set_am_recv_handler(twin->worker, &param),
                "handler");
}

/* Returns 0 at the end of input. */
static int cpu_next(void)
{
    char line[64];

    if (scanf("%63s", line) < 1) {
        return 0;
    }
    if ((sscanf(line, "%3[a-z]:%lu:%lu", now.operation, &now.size,
                &now.window) < 3) || (now.size < 1) ||
        (now.size > CPU_LARGEST) || (now.window < 1) ||
        (now.window > CPU_WINDOW)) {
        twins_check(UCS_ERR_INVALID_PARAM, line);
    }
    printf("%s ", line);
    return 1;
}

int main(void)
{
    const char *milliseconds = getenv("CPU_MS");

    if (milliseconds != NULL) {
        case_seconds = atof(milliseconds) / 1000;
    }
    twins_open(UCP_FEATURE_TAG | UCP_FEATURE_AM | UCP_FEATURE_RMA,
               CPU_PLACES * CPU_LARGEST, &twins[0], &twins[1]);
    cpu_handler(&twins[0]);
    cpu_handler(&twins[1]);
    while (cpu_next()) {
        cpu_measure();
        fflush(stdout);
    }
    printf("payload %llu\n", payload);
    return 0;
}
