/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ucp_gpu: messages between host and device memory of two processes, both ways
 * at the same time, every byte checked, and every byte around them. The
 * contents are written and read by the program's own copies; those that UCX
 * made beside are counted as staged.
 */
#include "device.h"
#include "test/apps/args.h"
#include "test/apps/fill.h"
#include "test/apps/node.h"
#include "test/apps/watchdog.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define GPU_GUARD  4096 /* bytes around a buffer that must stay */
#define GPU_POISON 0x5a

#define GPU_DESCRIPTORS 4 /* that may come and go while a test runs */

/* A buffer of either kind of memory, its guards, and a copy of all of it. */
typedef struct buffer {
    int     device, mapped;
    size_t  length, room, offset;
    uint8_t *base;  /* `room` bytes there */
    uint8_t *data;  /* base + offset */
    uint8_t *shadow;
} buffer_t;

/* The program: what was asked for, and what it has seen. */
typedef struct gpu {
    node_t       node;
    const char   *tests, *memory;
    size_t       min, max;
    unsigned     iters, reuse, device;
    uint64_t     seed;
    int          endless, cpu_copy, whole, mapped;
    uint64_t     messages, bytes;
    gpu_copied_t own; /* that this program copied itself */
    int          broken; /* the endpoint failed: expected with --endless */
} gpu_t;

static int gpu_fail(const char *what, ucs_status_t status)
{
    fprintf(stderr, "FAIL: %s: %s\n", what, ucs_status_string(status));
    return -1;
}

/* Copies with the driver, and takes note of it. */
static int own_copy(gpu_t *gpu, void *dst, const void *src, size_t size,
                    int device, int to_device)
{
    if (!device) {
        memcpy(dst, src, size);
        return 0;
    }
    *(to_device ? &gpu->own.htod : &gpu->own.dtoh) += size;
    return gpu_memcpy(dst, src, size);
}

/* The buffer begins at any byte of its memory. */
static int buffer_open(gpu_t *gpu, buffer_t *buf, int device, size_t length,
                       uint64_t salt)
{
    memset(buf, 0, sizeof(*buf));
    buf->device = device;
    buf->length = length;
    buf->offset = GPU_GUARD + ((salt % 3) ? fill_mix(salt) % 4096 : 0);
    buf->room   = buf->offset + length + GPU_GUARD;
    if (gpu->whole) {
        buf->room = (buf->room + 4095) & ~(size_t)4095;
    }
    buf->mapped = device && gpu->mapped;
    buf->base   = buf->mapped ? gpu_malloc_mapped(buf->room, gpu->device) :
                  device      ? gpu_malloc(buf->room) : malloc(buf->room);
    buf->shadow = malloc(buf->room);
    if ((buf->base == NULL) || (buf->shadow == NULL)) {
        return -1;
    }
    buf->data = buf->base + buf->offset;
    memset(buf->shadow, GPU_POISON, buf->room);
    return own_copy(gpu, buf->base, buf->shadow, buf->room, device, 1);
}

static int buffer_close(buffer_t *buf)
{
    int ret = 0;

    if (buf->mapped) {
        ret = gpu_free_mapped(buf->base, buf->room);
    } else if (buf->device) {
        ret = gpu_free(buf->base);
    } else {
        free(buf->base);
    }
    free(buf->shadow);
    return ret;
}

static int buffer_fill(gpu_t *gpu, buffer_t *buf, uint64_t key)
{
    fill_bytes(buf->shadow + buf->offset, buf->length, key, 0);
    return own_copy(gpu, buf->data, buf->shadow + buf->offset, buf->length,
                    buf->device, 1);
}

static int buffer_check(gpu_t *gpu, buffer_t *buf, uint64_t key)
{
    size_t end = buf->offset + buf->length, i;
    ptrdiff_t at;

    if (own_copy(gpu, buf->shadow, buf->base, buf->room, buf->device, 0)) {
        return -1;
    }
    at = fill_diff(buf->shadow + buf->offset, buf->length, key, 0);
    if (at >= 0) {
        fprintf(stderr, "FAIL: %zu bytes in %s memory: wrong at %td\n",
                buf->length, buf->device ? "device" : "host", at);
        return -1;
    }
    for (i = 0; i < buf->room; ++i) {
        if (((i < buf->offset) || (i >= end)) &&
            (buf->shadow[i] != GPU_POISON)) {
            fprintf(stderr, "FAIL: %zu bytes: byte %td beside them changed\n",
                    buf->length, (ptrdiff_t)(i - buf->offset));
            return -1;
        }
    }
    return 0;
}

static int op_failed(const op_t *op)
{
    return (op != NULL) && op->done && (op->status != UCS_OK);
}

/* Until both are done, or one has failed: the other's peer may then wait for
 * what will not come. */
static int wait_both(gpu_t *gpu, op_t *a, op_t *b, const char *what)
{
    while ((!a->done || ((b != NULL) && !b->done)) && !op_failed(a) &&
           !op_failed(b)) {
        node_progress(&gpu->node);
    }
    if (op_failed(a) || op_failed(b)) {
        return gpu_fail(what, op_failed(a) ? a->status : b->status);
    }
    (void)op_wait(&gpu->node, a);
    if (b != NULL) {
        (void)op_wait(&gpu->node, b);
    }
    return 0;
}

static int run_tag(gpu_t *gpu, buffer_t *tx, buffer_t *rx)
{
    op_t out = {0}, in = {0};
    ucp_request_param_t param;

    param = op_param_tag_recv(&in);
    op_started(&in, ucp_tag_recv_nbx(gpu->node.worker, rx->data, rx->length, 1,
                                     -1ul, &param));
    param = op_param_send(&out);
    op_started(&out, ucp_tag_send_nbx(gpu->node.ep, tx->data, tx->length, 1,
                                      &param));
    return wait_both(gpu, &out, &in, "tag");
}

/* An active message that came: fetched to where the test says. */
static struct {
    buffer_t *rx;
    op_t     op;
    int      came;
    gpu_t    *gpu;
} am_in;

static ucs_status_t on_am(void *arg, const void *header, size_t header_length,
                          void *data, size_t length,
                          const ucp_am_recv_param_t *attr)
{
    ucp_request_param_t param = op_param_am_recv(&am_in.op);

    (void)header;
    (void)header_length;
    am_in.came = 1;
    if (attr->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) {
        op_started(&am_in.op, ucp_am_recv_data_nbx(am_in.gpu->node.worker,
                                                   data, am_in.rx->data,
                                                   length, &param));
        return UCS_INPROGRESS;
    }
    (void)arg;
    am_in.op.status = own_copy(am_in.gpu, am_in.rx->data, data, length,
                               am_in.rx->device, 1) ? UCS_ERR_IO_ERROR :
                                                      UCS_OK;
    am_in.op.done = 1;
    return UCS_OK;
}

static int run_am(gpu_t *gpu, buffer_t *tx, buffer_t *rx)
{
    ucp_am_handler_param_t handler = {
        .field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID |
                      UCP_AM_HANDLER_PARAM_FIELD_CB,
        .id         = 1,
        .cb         = on_am
    };
    op_t out = {0};
    ucp_request_param_t param;

    memset(&am_in, 0, sizeof(am_in));
    am_in.rx  = rx;
    am_in.gpu = gpu;
    if (ucp_worker_set_am_recv_handler(gpu->node.worker, &handler) != UCS_OK) {
        return -1;
    }
    if (node_barrier(&gpu->node)) {
        return -1;
    }
    param = op_param_send(&out);
    op_started(&out, ucp_am_send_nbx(gpu->node.ep, 1, NULL, 0, tx->data,
                                     tx->length, &param));
    while (!am_in.came) {
        node_progress(&gpu->node);
    }
    return wait_both(gpu, &out, &am_in.op, "am");
}

/* Put into the peer's `rx`, or get from the peer's `tx`. */
static int run_rma(gpu_t *gpu, buffer_t *tx, buffer_t *rx, int get)
{
    buffer_t *open = get ? tx : rx;
    op_t op        = {0};
    ucp_request_param_t param;
    region_t peer;
    ucs_status_t status;
    int ret;

    if (node_region_open(&gpu->node, open->base, open->room, open->data,
                         &peer)) {
        return -1;
    }
    param = op_param_send(&op);
    if (get) {
        op_started(&op, ucp_get_nbx(gpu->node.ep, rx->data, rx->length,
                                    peer.remote, peer.rkey, &param));
    } else {
        op_started(&op, ucp_put_nbx(gpu->node.ep, tx->data, tx->length,
                                    peer.remote, peer.rkey, &param));
    }
    ret    = wait_both(gpu, &op, NULL, get ? "get" : "put");
    status = node_flush(&gpu->node);
    if ((status != UCS_OK) && (ret == 0)) {
        ret = gpu_fail("flush", status);
    }
    ret = node_barrier(&gpu->node) || ret;
    ret = node_region_close(&gpu->node, &peer) || ret;
    return ret ? -1 : 0;
}

static int run_test(gpu_t *gpu, const char *test, buffer_t *tx, buffer_t *rx)
{
    return !strcmp(test, "tag") ? run_tag(gpu, tx, rx) :
           !strcmp(test, "am")  ? run_am(gpu, tx, rx) :
                                  run_rma(gpu, tx, rx, !strcmp(test, "get"));
}

static uint64_t gpu_key(const gpu_t *gpu, const char *test, size_t length,
                        unsigned index, int from_client)
{
    return fill_key(gpu->seed + from_client, fill_mix(length) ^ test[0],
                    index);
}

/* One message each way. */
static int one_message(gpu_t *gpu, const char *test, size_t length,
                       unsigned index)
{
    int client = gpu->node.client, ret;
    buffer_t tx, rx;

    watchdog_kick("%s, %s, %zu bytes", test, gpu->memory, length);
    if (buffer_open(gpu, &tx, gpu->memory[0] == 'd', length,
                    gpu->seed + 2 * index) ||
        buffer_open(gpu, &rx, gpu->memory[1] == 'd', length,
                    gpu->seed + 2 * index + 1 + client) ||
        buffer_fill(gpu, &tx, gpu_key(gpu, test, length, index, client)) ||
        node_barrier(&gpu->node)) {
        return -1;
    }
    ret = run_test(gpu, test, &tx, &rx);
    if ((ret == 0) && gpu->cpu_copy) {
        memcpy(rx.shadow, rx.base, rx.room); /* what nobody may do */
    }
    if ((ret == 0) &&
        (buffer_check(gpu, &rx, gpu_key(gpu, test, length, index, !client)) ||
         node_barrier(&gpu->node))) {
        ret = -1;
    }
    if ((ret == 0) && (buffer_close(&tx) || buffer_close(&rx))) {
        ret = -1;
    }
    ++gpu->messages;
    gpu->bytes += length;
    return ret;
}

static const size_t gpu_sizes[] = {
    1, 2, 7, 8, 31, 63, 64, 80, 81, 255, 1000, 4095, 4096, 4097, 8191, 8928,
    9000, 16384, 65535, 65536, 65537, 131071, 262144, 1000001, 1048576,
    2097153, 4194304, 16777216, 33554433, 268435456, 1073741824
};

static int one_test(gpu_t *gpu, const char *test)
{
    uint64_t rand = fill_key(gpu->seed, test[0], 7), bytes = gpu->bytes;
    gpu_copied_t before, after;
    unsigned i, index = 0;
    uint64_t messages = gpu->messages;
    gpu_copied_t own = gpu->own;
    size_t length;

    gpu_copied(&before);
    for (i = 0; i < sizeof(gpu_sizes) / sizeof(gpu_sizes[0]); ++i) {
        if ((gpu_sizes[i] >= gpu->min) && (gpu_sizes[i] <= gpu->max) &&
            one_message(gpu, test, gpu_sizes[i], ++index)) {
            return -1;
        }
    }
    for (i = 0; i < gpu->iters; ++i) {
        length = gpu->min + fill_rand(&rand) % (gpu->max - gpu->min + 1);
        if (one_message(gpu, test, length, ++index)) {
            return -1;
        }
    }
    printf("%-4s %s %6llu messages %12llu bytes", test, gpu->memory,
           (unsigned long long)(gpu->messages - messages),
           (unsigned long long)(gpu->bytes - bytes));
    if (gpu_copied(&after)) {
        printf(" staged %llu",
               (unsigned long long)(after.htod - before.htod + after.dtoh -
                                    before.dtoh + after.dtod - before.dtod -
                                    (gpu->own.htod - own.htod) -
                                    (gpu->own.dtoh - own.dtoh)));
    }
    printf("\n");
    fflush(stdout);
    return 0;
}

/* Descriptors that this process has open; a leak of one for each transfer must
 * not go unseen. */
static int open_descriptors(void)
{
    DIR *dir  = opendir("/proc/self/fd");
    int count = 0;

    while ((dir != NULL) && (readdir(dir) != NULL)) {
        ++count;
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return count;
}

static int descriptors_same(int before)
{
    int now = open_descriptors();

    printf("descriptors %d then, %d now\n", before, now);
    if (now > before + GPU_DESCRIPTORS) {
        fprintf(stderr, "FAIL: %d descriptors more are open\n", now - before);
        return -1;
    }
    return 0;
}

/* Frees and allocates again: where the same address comes back, it is other
 * memory. Memory that an earlier registration still reaches must not be
 * taken. */
static int reuse_test(gpu_t *gpu)
{
    size_t length      = (gpu->max > 4194304) ? 4194304 : gpu->max;
    const void *first  = NULL;
    unsigned round, same = 0;
    int descriptors      = 0;
    buffer_t tx, rx;
    uint64_t key;
    int client = gpu->node.client;

    for (round = 0; round < gpu->reuse; ++round) {
        watchdog_kick("reuse, round %u", round);
        if (round == gpu->reuse / 10) { /* all that stays has been opened */
            descriptors = open_descriptors();
        }
        key = fill_key(gpu->seed, 77, round);
        if (buffer_open(gpu, &tx, 1, length, 0) ||
            buffer_open(gpu, &rx, 1, length, 0) ||
            buffer_fill(gpu, &tx, key + client) || node_barrier(&gpu->node) ||
            run_tag(gpu, &tx, &rx) || buffer_check(gpu, &rx, key + !client)) {
            return -1;
        }
        first = (first == NULL) ? tx.base : first;
        same += (tx.base == first);
        if (node_barrier(&gpu->node) || buffer_close(&tx) ||
            buffer_close(&rx)) {
            return -1;
        }
        gpu->bytes += length;
    }
    printf("reuse   %6u rounds, %u at one address\n", gpu->reuse, same);
    return descriptors_same(descriptors);
}

static void on_victim_error(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    gpu_t *gpu = arg;

    (void)ep;
    if (!gpu->broken) {
        printf("the endpoint failed: %s\n", ucs_status_string(status));
    }
    gpu->broken = 1;
}

/* One side sends device memory without end until it is killed; the other one
 * must hear of it, and give its operations back. */
static int endless_test(gpu_t *gpu)
{
    ucp_request_param_t param;
    buffer_t tx, rx;
    op_t in, out;

    if (buffer_open(gpu, &tx, 1, gpu->max, 0) ||
        buffer_open(gpu, &rx, 1, gpu->max, 0)) {
        return -1;
    }
    while (!gpu->broken) {
        watchdog_kick("endless");
        memset(&in, 0, sizeof(in));
        memset(&out, 0, sizeof(out));
        param = op_param_tag_recv(&in);
        op_started(&in, ucp_tag_recv_nbx(gpu->node.worker, rx.data, rx.length,
                                         1, -1ul, &param));
        param = op_param_send(&out);
        op_started(&out, ucp_tag_send_nbx(gpu->node.ep, tx.data, tx.length, 1,
                                          &param));
        while (!out.done || (!in.done && !gpu->broken)) {
            node_progress(&gpu->node);
        }
        if (!in.done) {
            ucp_request_cancel(gpu->node.worker, in.request);
        }
        (void)op_wait(&gpu->node, &out);
        (void)op_wait(&gpu->node, &in);
        if (++gpu->messages == 3) {
            printf("under way\n");
            fflush(stdout);
        }
        gpu->bytes += gpu->max;
    }
    /* the memory is free: nothing writes there any more */
    (void)node_ep_close(&gpu->node, UCP_EP_CLOSE_FLAG_FORCE);
    if (buffer_close(&tx) || buffer_close(&rx)) {
        return -1;
    }
    ucp_worker_destroy(gpu->node.worker);
    ucp_cleanup(gpu->node.ctx);
    printf("ok survived %llu messages %llu bytes\n",
           (unsigned long long)gpu->messages, (unsigned long long)gpu->bytes);
    return 0;
}

static const char *const gpu_tests[] = {"tag", "am", "put", "get"};

#define GPU_TESTS    (sizeof(gpu_tests) / sizeof(gpu_tests[0]))
#define GPU_SIZE_MAX (1ull << 36) /* of --min and --max */

static int all_tests(gpu_t *gpu)
{
    unsigned i, ran = 0;

    for (i = 0; i < GPU_TESTS; ++i) {
        if (arg_list_has(gpu->tests, gpu_tests[i])) {
            if (one_test(gpu, gpu_tests[i])) {
                return -1;
            }
            ++ran;
        }
    }
    if ((gpu->reuse > 0) && reuse_test(gpu)) {
        return -1;
    }
    return ((ran > 0) || (gpu->reuse > 0)) ? 0 : -1;
}

static const char gpu_usage[] =
    "usage: ucp_gpu [OPTIONS]          (server)\n"
    "       ucp_gpu --client [OPTIONS] (client; same options)\n"
    "  --port N        loopback port for addresses and barriers [23456]\n"
    "  --device N      GPU of this process [0]\n"
    "  --memory AB     memory of the sender and of the receiver, h or d [dd]\n"
    "  --tests A,B     of tag, am, put, get [all]; none with --reuse\n"
    "  --min N, --max N  sizes [1, 4194304]\n"
    "  --iters N       random sizes after the fixed list [20]\n"
    "  --reuse N       then so many rounds of free, allocate and send [0]\n"
    "  --peer-err      endpoints in error mode peer\n"
    "  --endless       sends until the other one is killed, and survives that\n"
    "  --cpu-copy      reads a received buffer with the CPU, which must die\n"
    "  --mapped        device memory that the program maps (cuMemMap)\n"
    "  --whole-pages   device memory is allocated in whole pages\n"
    "  --seed N [1]\n";

/* A name that is no test would be one that nobody runs. */
static void gpu_options_check(const gpu_t *gpu)
{
    size_t known = 0;
    unsigned i;

    for (i = 0; i < GPU_TESTS; ++i) {
        if (arg_list_has(gpu->tests, gpu_tests[i])) {
            known += strlen(gpu_tests[i]) + 1;
        }
    }
    if ((strlen(gpu->memory) != 2) || (strspn(gpu->memory, "hd") != 2)) {
        fprintf(stderr, "--memory: '%s' is not one of hh, hd, dh, dd\n",
                gpu->memory);
    } else if ((known != strlen(gpu->tests) + 1) &&
               strcmp(gpu->tests, "none")) {
        fprintf(stderr, "--tests: '%s' is not none, and no list of tag, am, "
                "put, get\n", gpu->tests);
    } else if (gpu->min > gpu->max) {
        fprintf(stderr, "--min: %zu is more than --max, %zu\n", gpu->min,
                gpu->max);
    } else {
        return;
    }
    exit(2);
}

int main(int argc, char **argv)
{
    static gpu_t gpu     = {.tests = "tag,am,put,get", .memory = "dd",
                            .min = 1, .max = 4194304, .iters = 20, .seed = 1};
    node_params_t params = {.port = 23456};
    const arg_t args[]   = {
        ARG_FLAG("client", params.client),
        ARG_NUMBER("port", params.port, 1, 65535),
        ARG_NUMBER("device", gpu.device, 0, 63),
        ARG_TEXT("memory", gpu.memory),
        ARG_TEXT("tests", gpu.tests),
        ARG_NUMBER("min", gpu.min, 1, GPU_SIZE_MAX),
        ARG_NUMBER("max", gpu.max, 1, GPU_SIZE_MAX),
        ARG_NUMBER("iters", gpu.iters, 0, 100000),
        ARG_NUMBER("reuse", gpu.reuse, 0, 1000000),
        ARG_FLAG("peer-err", params.peer_err),
        ARG_FLAG("endless", gpu.endless),
        ARG_FLAG("cpu-copy", gpu.cpu_copy),
        ARG_FLAG("mapped", gpu.mapped),
        ARG_FLAG("whole-pages", gpu.whole),
        ARG_NUMBER("seed", gpu.seed, 0, UINT64_MAX),
        {.name = NULL}
    };

    arg_parse(argc, argv, gpu_usage, args);
    gpu_options_check(&gpu);
    if (gpu.endless) {
        params.peer_err = 1;
        params.err_cb   = on_victim_error;
        params.err_arg  = &gpu;
    }
    if (gpu_open(gpu.device) || node_open(&gpu.node, &params)) {
        return 1;
    }
    if (gpu.endless) {
        return endless_test(&gpu) ? 1 : 0;
    }
    if (all_tests(&gpu) || node_close(&gpu.node)) {
        return 1;
    }
    printf("ok %llu messages %llu bytes\n", (unsigned long long)gpu.messages,
           (unsigned long long)gpu.bytes);
    return 0;
}
