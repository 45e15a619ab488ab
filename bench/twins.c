/* SPDX-License-Identifier: BSD-3-Clause */
/* UCP's operations in one process with two workers that talk over the device, so
 * that both ends are in a figure, and the emulated device with them.
 *
 * usage: efasim run -- srdrun twins [ROUNDS [blocks|peers]]   with UCX_TLS=srd; directly:
 *        efasim run --no-strict-batch -- ...            and UCX_EFA_DIRECT=y
 *
 * Without arguments CPU time: it reads cases from standard input, a line each:
 * OPERATION:SIZE:WINDOW[:ENDPOINTS]. OPERATION: tag, am (a ping-pong where WINDOW is
 * 1), put (each waits for a flush then), get. Each message goes to one of the
 * endpoints, at random. It answers each case by a line: the case,
 * nanoseconds for one (the least of some parts of 8 milliseconds), how many in a
 * part; at the end by the bytes of all. It sleeps meanwhile: several of
 * it can be asked in turn.
 *
 * With ROUNDS what callgrind counts, phase by phase (bench/run/studies.py reads it),
 * and it prints of each its name and the number of operations. blocks: many
 * blocks, puts by a list and by calls, and gets, and nothing else (UCX 1.22 and
 * newer). */
#define _GNU_SOURCE
#include "twins.h"
#include "clock.h"

#include "apps/ucp_open.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum {
    TWINS_LARGEST = 4 << 20,
    TWINS_WINDOW  = 512,
    TWINS_EPS     = 8192,
    TWINS_REGISTER = 32, /* operations until what they use is registered */
    TWINS_PLACES  = 8,
    TWINS_PARTS   = 5,
    TWINS_AM      = 1, /* of active messages */
    TWINS_TAG     = 5,

    /* Memory begins at a page of this size, and is of such pages if the system
     * has some: else how many it has differs from run to run, and with it what
     * copying costs. */
    TWINS_HUGE    = 2 << 20
};

static ucp_context_h      context;
static unsigned long      received, flushed; /* are complete */
static unsigned long      arrived;           /* active messages */
static unsigned long long payload;
static const double       case_seconds = 0.008;

twin_t        twins[2];
twins_case_t  now;
unsigned long posted, sent;

unsigned twin_progress(twin_t *twin)
{
    bench_device_works();
    return ucp_worker_progress(twin->worker);
}

static unsigned twins_progress(void)
{
    unsigned count = twin_progress(&twins[1]);

    return count + twin_progress(&twins[0]);
}

static void twin_worker(twin_t *twin)
{
    bench_check(ucp_open_worker(context, UCS_THREAD_MODE_SINGLE,
                                &twin->worker), "worker");
}

static void twins_workers(void)
{
    const char *direct    = getenv("UCX_EFA_DIRECT");
    int         is_direct = (direct != NULL) && !strcmp(direct, "y");
    twin_t      trial;

    if (is_direct) {
        twin_worker(&trial); /* for the trial that the direct path takes */
        bench_device_is_eager(1);
    }
    twin_worker(&twins[0]);
    twin_worker(&twins[1]);
    if (is_direct) {
        bench_device_is_eager(0);
        ucp_worker_destroy(trial.worker);
    }
}

static void twin_memory(twin_t *twin)
{
    const size_t        length = TWINS_PLACES * TWINS_LARGEST;
    ucp_mem_map_params_t map   = {0};

    if (posix_memalign((void**)&twin->memory, TWINS_HUGE, length)) {
        bench_check(UCS_ERR_NO_MEMORY, "memory");
    }
    (void)madvise(twin->memory, length, MADV_HUGEPAGE); /* or not */
    memset(twin->memory, 1, length);
    map.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
                     UCP_MEM_MAP_PARAM_FIELD_LENGTH;
    map.address    = twin->memory;
    map.length     = length;
    bench_check(ucp_mem_map(context, &map, &twin->memh), "map");
}

static void twin_ep(twin_t *from, twin_t *to, unsigned long i)
{
    ucp_ep_params_t params = {0};
    ucp_address_t  *address;
    size_t          length;

    bench_check(ucp_worker_get_address(to->worker, &address, &length),
                "address");
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    params.address    = address;
    bench_check(ucp_ep_create(from->worker, &params, &from->eps[i]),
                "endpoint");
    ucp_worker_release_address(to->worker, address);
}

static void twin_connect(twin_t *from, twin_t *to)
{
    size_t length;
    void  *packed;

    from->eps = calloc(TWINS_EPS, sizeof(*from->eps));
    if (from->eps == NULL) {
        bench_check(UCS_ERR_NO_MEMORY, "endpoints");
    }
    twin_ep(from, to, 0);
    bench_check(ucp_rkey_pack(context, to->memh, &packed, &length), "pack");
    bench_check(ucp_ep_rkey_unpack(from->eps[0], packed, &from->rkey),
                "unpack");
    ucp_rkey_buffer_release(packed);
}

/* The next message's: the same order in each run. */
static unsigned long twins_some_ep(void)
{
    static uint64_t state = 1;

    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (state >> 33) % now.endpoints;
}

void twins_started(void *request, unsigned long *complete)
{
    if (request == NULL) {
        ++*complete;
    } else if (UCS_PTR_IS_ERR(request)) {
        bench_check(UCS_PTR_STATUS(request), now.operation);
    }
}

static void twins_ended(void *request, ucs_status_t status,
                        unsigned long *complete)
{
    bench_check(status, now.operation);
    ++*complete;
    ucp_request_free(request);
}

static void twins_sent(void *request, ucs_status_t status, void *arg)
{
    twins_ended(request, status, &sent);
}

static void twins_flushed(void *request, ucs_status_t status, void *arg)
{
    twins_ended(request, status, &flushed);
}

static void twins_received(void *request, ucs_status_t status,
                           const ucp_tag_recv_info_t *info, void *arg)
{
    twins_ended(request, status, &received);
}

static void twins_am_received(void *request, ucs_status_t status,
                              size_t length, void *arg)
{
    twins_received(request, status, NULL, arg);
}

const ucp_request_param_t twins_param = {
    .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK,
    .cb.send      = twins_sent
};

/* Where the number-th operation's data are at either side. The device copies 256 KB
 * of each in turn: with few places a core's cache would hold what it copies, and
 * with one for each what others leave in the last cache would decide. */
static size_t twins_offset(unsigned long number)
{
    unsigned long places = (now.window < TWINS_PLACES) ? now.window :
                                                         TWINS_PLACES;

    return number % places * ((now.size + 4095) & ~4095ul);
}

/* Nobody reads the data of messages that come by copying. */
static ucs_status_t twins_am(void *arg, const void *header,
                             size_t header_length, void *data, size_t length,
                             const ucp_am_recv_param_t *info)
{
    twin_t             *twin  = arg;
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                        UCP_OP_ATTR_FLAG_NO_IMM_CMPL,
        .cb.recv_am   = twins_am_received
    };

    if (!(info->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV)) {
        ++received;
        return UCS_OK;
    }
    twins_started(ucp_am_recv_data_nbx(twin->worker, data,
                                       twin->memory + twins_offset(arrived++),
                                       length, &param), &received);
    return UCS_INPROGRESS;
}

static void twins_post_receive(twin_t *to, size_t offset)
{
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                        UCP_OP_ATTR_FLAG_NO_IMM_CMPL,
        .cb.recv      = twins_received
    };

    twins_started(ucp_tag_recv_nbx(to->worker, to->memory + offset, now.size,
                                   TWINS_TAG, UINT64_MAX, &param), &received);
}

static int twins_is_message(void)
{
    return (now.operation[0] == 't') || (now.operation[0] == 'a');
}

static void twins_post_to(int side, unsigned long number)
{
    ucp_ep_h ep     = twins[side].eps[number];
    size_t   offset = twins_offset(posted++);
    twin_t  *from   = &twins[side], *to = &twins[!side];
    char    *memory = from->memory + offset;
    uint64_t remote = (uint64_t)to->memory + offset;
    void    *request;

    bench_clock_passes(); /* here, and at the other end */
    bench_clock_passes();
    if (now.operation[0] == 't') {
        twins_post_receive(to, offset);
        request = ucp_tag_send_nbx(ep, memory, now.size, TWINS_TAG,
                                   &twins_param);
    } else if (now.operation[0] == 'a') {
        request = ucp_am_send_nbx(ep, TWINS_AM, NULL, 0, memory, now.size,
                                  &twins_param);
    } else if (now.operation[0] == 'p') {
        request = ucp_put_nbx(ep, memory, now.size, remote, from->rkey,
                              &twins_param);
    } else {
        request = ucp_get_nbx(ep, memory, now.size, remote, from->rkey,
                              &twins_param);
    }
    twins_started(request, &sent);
}

void twins_post(int side)
{
    twins_post_to(side, twins_some_ep());
}

void twins_wait(unsigned long target)
{
    while ((sent < target) || (twins_is_message() && (received < target))) {
        twins_progress();
    }
}

void twins_connect(void)
{
    static unsigned long connected = 1;
    int                  side, ping;

    for (; connected < now.endpoints; ++connected) {
        twin_ep(&twins[0], &twins[1], connected);
        twin_ep(&twins[1], &twins[0], connected);
        for (ping = 0; ping < 4; ++ping) {
            for (side = 0; side < 2; ++side) {
                twins_post_to(side, connected);
                twins_wait(posted);
            }
        }
    }
}

void twins_flush(void)
{
    ucp_request_param_t param = twins_param;

    param.cb.send = twins_flushed;
    flushed       = 0;
    twins_started(ucp_ep_flush_nbx(twins[0].eps[0], &param), &flushed);
    while (flushed == 0) {
        twins_progress();
    }
}

void twins_settle(void)
{
    unsigned idle = 0;

    twins_wait(posted);
    while (idle < 100) {
        idle = (twins_progress() == 0) ? idle + 1 : 0;
    }
    posted = sent = received = arrived = 0;
}

static double twins_cpu(void)
{
    struct timespec used;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return used.tv_sec + used.tv_nsec * 1e-9;
}

/* Seconds of all. A put is at its target when a flush is complete. */
static double twins_once(unsigned long count)
{
    int    pings = twins_is_message() && (now.window == 1);
    int    puts  = now.operation[0] == 'p';
    double start = twins_cpu();

    posted = sent = received = arrived = 0;
    while (posted < count) {
        if (posted >= now.window) {
            twins_wait(posted + 1 - now.window);
        }
        twins_post(pings && (posted & 1));
        if (puts && (now.window == 1)) {
            twins_flush();
        }
    }
    twins_wait(count);
    if (puts) {
        twins_flush();
    }
    payload += (unsigned long long)count * now.size;
    return twins_cpu() - start;
}

static void twins_measure(void)
{
    unsigned long count = now.window;
    double        least, took, spent;

    twins_connect();
    twins_once(TWINS_REGISTER);
    while (((least = twins_once(count)) < case_seconds / TWINS_PARTS / 2) &&
           (count < 1ul << 22)) {
        count *= 2;
    }
    for (spent = least; spent < case_seconds; spent += took) {
        took  = twins_once(count);
        least = (took < least) ? took : least;
    }
    printf("%.1f %lu\n", least * 1e9 / count, count);
}

/* Returns 0 at the end of input. */
static int twins_next(void)
{
    char line[64];

    if (scanf("%63s", line) < 1) {
        return 0;
    }
    now.endpoints = 1;
    if ((sscanf(line, "%3[a-z]:%lu:%lu:%lu", now.operation, &now.size,
                &now.window, &now.endpoints) < 3) || (now.size < 1) ||
        (now.size > TWINS_LARGEST) || (now.window < 1) ||
        (now.window > TWINS_WINDOW) || (now.endpoints < 1) ||
        (now.endpoints > (twins_is_message() ? TWINS_EPS : 1))) {
        bench_check(UCS_ERR_INVALID_PARAM, line);
    }
    printf("%s ", line);
    return 1;
}

int main(int argc, char **argv)
{
    ucp_am_handler_param_t param;
    int                    i;

    bench_check(ucp_open(UCP_FEATURE_TAG | UCP_FEATURE_AM | UCP_FEATURE_RMA,
                         &context), "context");
    twins_workers();
    param.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID |
                       UCP_AM_HANDLER_PARAM_FIELD_CB |
                       UCP_AM_HANDLER_PARAM_FIELD_ARG;
    param.id         = TWINS_AM;
    param.cb         = twins_am;
    for (i = 0; i < 2; ++i) {
        twin_memory(&twins[i]);
        param.arg = &twins[i];
        bench_check(ucp_worker_set_am_recv_handler(twins[i].worker, &param),
                    "handler");
    }
    twin_connect(&twins[0], &twins[1]);
    twin_connect(&twins[1], &twins[0]);
    if (argc > 1) {
        twins_count(strtoul(argv[1], NULL, 10), (argc > 2) ? argv[2] : "");
        return 0;
    }
    while (twins_next()) {
        twins_measure();
        fflush(stdout);
    }
    printf("payload %llu\n", payload);
    return 0;
}
