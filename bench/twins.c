/* SPDX-License-Identifier: BSD-3-Clause */
/* UCP's operations in one process with two workers that talk over the device, so
 * that both ends are in a figure, and the emulated device with them.
 *
 * usage: efasim run -- srdrun twins [COUNT CASE... | ROUNDS blocks]  with UCX_TLS=srd;
 *        directly: efasim run --no-strict-batch -- ...    and UCX_EFA_DIRECT=y
 *
 * A case is OPERATION:SIZE:WINDOW[:ENDPOINTS[:ORDER]]. OPERATION: tag, am (a
 * ping-pong where WINDOW is 1), rpc (a tag message that the other end answers by one),
 * put (each waits for a flush where WINDOW is 1), get. ORDER is which endpoint is next,
 * a row of TWINS_ORDERS.
 *
 * Without arguments CPU time: it reads cases from standard input, a line each, and
 * answers each by a line: the case, nanoseconds for one (the least of eight parts), how
 * many in a part; at the end by the bytes of all. It sleeps meanwhile, so that several
 * can be asked in turn.
 *
 * With them what callgrind counts, phase by phase (bench/run/studies.py reads it), and
 * it prints of each its name and the number of operations: an empty progress, a flush,
 * and COUNT of each case; or of many blocks, puts by a list and by calls, and gets
 * (UCX 1.22 and newer). */
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
    TWINS_FEW     = 8, /* busy endpoints; messages of a burst */
    TWINS_REGISTER = 32, /* operations until what they use is registered */
    TWINS_PLACES  = 8,
    TWINS_PARTS   = 8,
    TWINS_AM      = 1, /* of active messages */
    TWINS_TAG     = 5,

    /* Memory begins at a page of this size, and is of such pages if the system
     * has some: else how many it has differs from run to run, and with it what
     * copying costs. */
    TWINS_HUGE    = 2 << 20
};

static ucp_context_h      context;
static unsigned long      received, aside; /* are complete */
static unsigned long      arrived;           /* active messages */
static unsigned long long payload;
static const double       part_seconds = 0.0008; /* at least */

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

static void twin_worker(ucp_worker_h *worker)
{
    bench_check(ucp_open_worker(context, UCS_THREAD_MODE_SINGLE, worker),
                "worker");
}

static void twins_workers(void)
{
    const char  *direct    = getenv("UCX_EFA_DIRECT");
    int          is_direct = (direct != NULL) && !strcmp(direct, "y");
    ucp_worker_h trial;

    if (is_direct) {
        twin_worker(&trial); /* for the trial that the direct path takes */
        bench_device_is_eager(1);
    }
    twin_worker(&twins[0].worker);
    twin_worker(&twins[1].worker);
    if (is_direct) {
        bench_device_is_eager(0);
        ucp_worker_destroy(trial);
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
    void           *packed;

    bench_check(ucp_worker_get_address(to->worker, &address, &length),
                "address");
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    params.address    = address;
    bench_check(ucp_ep_create(from->worker, &params, &from->eps[i]),
                "endpoint");
    ucp_worker_release_address(to->worker, address);
    bench_check(ucp_rkey_pack(context, to->memh, &packed, &length), "pack");
    bench_check(ucp_ep_rkey_unpack(from->eps[i], packed, &from->rkeys[i]),
                "unpack");
    ucp_rkey_buffer_release(packed);
}

/* As often to the first as to the next two, the next four, and each such group. */
static unsigned long twins_grouped(unsigned long drawn)
{
    unsigned      groups = 64 - __builtin_clzl(now.endpoints);
    unsigned long many   = 1ul << drawn % groups;

    return many - 1 + drawn / groups % many;
}

/* Orders: their names, and which endpoint the number-th message goes to, but for
 * whole turns. Hot: nine of ten to two. */
#define TWINS_ORDERS(_order) \
    _order(random, drawn) \
    _order(turn, number) \
    _order(bursts, number / TWINS_FEW) \
    _order(few, number % TWINS_FEW) \
    _order(hot, (drawn % 10 != 0) ? drawn / 10 % 2 : drawn / 10) \
    _order(zipf, twins_grouped(drawn))
#define TWINS_ORDER_NEXT(_name, _next) \
    static unsigned long twins_##_name(unsigned long number, \
                                       unsigned long drawn) \
    { \
        return _next; \
    }
#define TWINS_ORDER_ROW(_name, _next) {#_name, twins_##_name},

TWINS_ORDERS(TWINS_ORDER_NEXT)

static const twins_order_t twins_orders[] = {TWINS_ORDERS(TWINS_ORDER_ROW)};

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

/* A flush, or the answer of a request. */
static void twins_aside(void *request, ucs_status_t status, void *arg)
{
    twins_ended(request, status, &aside);
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

static void twins_post_receive(twin_t *to, size_t offset,
                               ucp_tag_recv_nbx_callback_t ended,
                               unsigned long number)
{
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                        UCP_OP_ATTR_FIELD_USER_DATA |
                        UCP_OP_ATTR_FLAG_NO_IMM_CMPL,
        .cb.recv      = ended,
        .user_data    = (void*)number
    };

    twins_started(ucp_tag_recv_nbx(to->worker, to->memory + offset, now.size,
                                   TWINS_TAG, UINT64_MAX, &param), &received);
}

/* A request is answered over the endpoint of its number. */
static void twins_requested(void *request, ucs_status_t status,
                            const ucp_tag_recv_info_t *info, void *arg)
{
    ucp_request_param_t param = twins_param;

    bench_check(status, now.operation);
    ucp_request_free(request);
    param.cb.send = twins_aside;
    twins_started(ucp_tag_send_nbx(twins[1].eps[(unsigned long)arg],
                                   twins[1].memory, now.size, TWINS_TAG,
                                   &param), &aside);
}

static int twins_is_message(void)
{
    return strchr("tar", now.operation[0]) != NULL;
}

static void twins_post_to(int side, unsigned long number)
{
    ucp_ep_h   ep     = twins[side].eps[number];
    size_t     offset = twins_offset(posted++);
    twin_t    *from   = &twins[side], *to = &twins[!side];
    char      *memory = from->memory + offset;
    uint64_t   remote = (uint64_t)to->memory + offset;
    ucp_rkey_h rkey   = from->rkeys[number];
    void      *request;

    bench_clock_passes(); /* here, and at the other end */
    bench_clock_passes();
    if (now.operation[0] == 'a') {
        request = ucp_am_send_nbx(ep, TWINS_AM, NULL, 0, memory, now.size,
                                  &twins_param);
    } else if (now.operation[0] == 'p') {
        request = ucp_put_nbx(ep, memory, now.size, remote, rkey, &twins_param);
    } else if (now.operation[0] == 'g') {
        request = ucp_get_nbx(ep, memory, now.size, remote, rkey, &twins_param);
    } else {
        if (now.operation[0] == 'r') {
            twins_post_receive(from, offset, twins_received, 0);
            twins_post_receive(to, offset, twins_requested, number);
        } else {
            twins_post_receive(to, offset, twins_received, 0);
        }
        request = ucp_tag_send_nbx(ep, memory, now.size, TWINS_TAG,
                                   &twins_param);
    }
    twins_started(request, &sent);
}

/* The next operation, from one side to the other. */
static void twins_post(int side)
{
    static uint64_t      state = 1; /* the same draws in each run */
    static unsigned long number, last;

    if (side == 0) { /* else the answer of a ping-pong, over the same one */
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        last  = now.order->next(number++, state >> 33) % now.endpoints;
    }
    twins_post_to(side, last);
}

void twins_wait(unsigned long target)
{
    while ((sent < target) || (twins_is_message() && (received < target))) {
        twins_progress();
    }
}

void twins_connect(void)
{
    static unsigned long connected = 0;
    const twins_case_t   asked     = now;
    int                  side, ping;

    strcpy(now.operation, "tag");
    posted = sent = received = 0;
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
    now = asked;
}

void twins_flush(void)
{
    ucp_request_param_t param = twins_param;

    param.cb.send = twins_aside;
    aside         = 0;
    twins_started(ucp_ep_flush_nbx(twins[0].eps[0], &param), &aside);
    while (aside == 0) {
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

double twins_once(unsigned long count)
{
    int    pings = strchr("ta", now.operation[0]) && (now.window == 1);
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
    double        least, took;
    unsigned      part;

    twins_connect();
    twins_once(TWINS_REGISTER);
    while (((least = twins_once(count)) < part_seconds) ||
           (count < 4 * now.endpoints)) {
        count *= 2;
    }
    for (part = 1; part < TWINS_PARTS; ++part) {
        took  = twins_once(count);
        least = (took < least) ? took : least;
    }
    printf("%.1f %lu\n", least * 1e9 / count, count);
}

void twins_case(const char *line)
{
    char     order[8] = "random";
    unsigned i;

    memset(&now, 0, sizeof(now));
    now.endpoints = 1;
    if ((sscanf(line, "%3[a-z]:%lu:%lu:%lu:%7[a-z]", now.operation, &now.size,
                &now.window, &now.endpoints, order) >= 3) && (now.size >= 1) &&
        (now.size <= TWINS_LARGEST) && (now.window >= 1) &&
        (now.window <= TWINS_WINDOW) && (now.endpoints >= 1) &&
        (now.endpoints <= ((now.operation[0] == 'p') ? 1 : TWINS_EPS))) {
        for (i = 0; i < sizeof(twins_orders) / sizeof(*twins_orders); ++i) {
            if (!strcmp(order, twins_orders[i].name)) {
                now.order = &twins_orders[i];
            }
        }
    }
    bench_check((now.order != NULL) ? UCS_OK : UCS_ERR_INVALID_PARAM, line);
}

int main(int argc, char **argv)
{
    ucp_am_handler_param_t param;
    char                   line[64];
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
    if (argc > 2) {
        twins_count(strtoul(argv[1], NULL, 10), argv + 2);
        return 0;
    }
    while (scanf("%63s", line) == 1) {
        twins_case(line);
        printf("%s ", line);
        twins_measure();
        fflush(stdout);
    }
    printf("payload %llu\n", payload);
    return 0;
}
