/* SPDX-License-Identifier: BSD-3-Clause */
/* The cost of an operation on each floor: UCP, UCT, transport, verbs. One
 * process with two workers that talk over srd; callgrind counts each phase
 * alone (bench/run/studies.py reads it).
 *
 * usage: efasim run -- srdrun floors [ROUNDS [blocks]]   with UCX_TLS=srd;
 *        efasim run --no-strict-batch -- ...             and UCX_EFA_DIRECT=y
 * blocks: many blocks, puts by a list and by calls, and gets, and nothing else
 * (UCX 1.22 and newer).
 * Prints: phase, operations. */
#include "twins.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_TOGGLE_COLLECT
#define CALLGRIND_DUMP_STATS_AT(name)
#endif

enum {
    FLOORS_BATCH  = 16,
    FLOORS_LARGE  = 4096,
    FLOORS_BLOCKS = 1024, /* as a transfer of a key-value cache has */
    FLOORS_TAG    = 5
};

static twin_t        a, b;
static unsigned long started, finished;

/* A phase ends: callgrind writes what it counted, and forgets it. */
#define FLOORS_REPORT(_name, _count) \
    do { \
        CALLGRIND_DUMP_STATS_AT(_name); \
        printf("%s %u\n", _name, (unsigned)(_count)); \
    } while (0)

static void floors_done(void *request, ucs_status_t status, void *arg)
{
    (void)arg;
    twins_done(request, status, &finished);
}

static void floors_received(void *request, ucs_status_t status,
                            const ucp_tag_recv_info_t *info, void *arg)
{
    (void)info;
    floors_done(request, status, arg);
}

static void floors_started(void *request, const char *what)
{
    ++started;
    twins_started(request, &finished, what);
}

static unsigned floors_progress(void)
{
    return twin_progress(&a) + twin_progress(&b);
}

static void floors_settle(void)
{
    unsigned idle = 0;

    while ((finished < started) || (idle < 100)) {
        idle = (floors_progress() == 0) ? idle + 1 : 0;
    }
}

static void floors_wait(void)
{
    while (finished < started) {
        floors_progress();
    }
}

static const ucp_request_param_t floors_param = {
    .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK,
    .cb.send      = floors_done
};

static void floors_get(size_t size)
{
    floors_started(ucp_get_nbx(a.ep, a.memory, size, (uint64_t)b.memory,
                               a.rkey, &floors_param),
                   "get");
}

static void floors_put(size_t size)
{
    floors_started(ucp_put_nbx(a.ep, a.memory, size, (uint64_t)b.memory,
                               a.rkey, &floors_param),
                   "put");
}

static void floors_flush(void)
{
    floors_started(ucp_ep_flush_nbx(a.ep, &floors_param), "flush");
}

/*
 * Lists as UCX declares them from 1.22 on, for headers of before (ucp.h of
 * 1.23: ucp_dt_local_sgl_t, ucp_dt_remote_sgl_t, and the members of
 * ucp_request_param_t behind memh).
 */
enum {
    SGL_LOCAL        = 7,     /* fields: buffers, lengths, handles */
    SGL_REMOTE       = 7,     /* fields: addresses, lengths, keys */
    SGL_DATATYPE     = 4,     /* UCP_DATATYPE_SGL */
    SGL_PARAM_FIELDS = 7 << 9 /* the remote's datatype, list and count */
};

typedef struct sgl_local {
    uint64_t        fields;
    void *const     *buffers;
    const size_t    *lengths;
    const ucp_mem_h *memhs;
    const size_t    *counts, *strides;
} sgl_local_t;

typedef struct sgl_remote {
    uint64_t         fields;
    const uint64_t   *addresses;
    const size_t     *lengths;
    const ucp_rkey_h *rkeys;
} sgl_remote_t;

typedef struct sgl_param {
    char           head[offsetof(ucp_request_param_t, memh) +
                        sizeof(ucp_mem_h)];
    ucp_datatype_t datatype;
    const void     *remote;
    size_t         count;
} sgl_param_t;

static struct {
    void       *buffers[FLOORS_BLOCKS];
    uint64_t   addresses[FLOORS_BLOCKS];
    size_t     lengths[FLOORS_BLOCKS];
    ucp_mem_h  memhs[FLOORS_BLOCKS];
    ucp_rkey_h rkeys[FLOORS_BLOCKS];
} blocks;

/* Blocks at all places of the memory, in an order that is none of theirs. */
static void floors_blocks_fill(void)
{
    unsigned i, at;

    for (i = 0; i < FLOORS_BLOCKS; ++i) {
        at                  = (i * 389) % FLOORS_BLOCKS;
        blocks.buffers[i]   = a.memory + i * FLOORS_LARGE;
        blocks.addresses[i] = (uint64_t)b.memory + at * FLOORS_LARGE;
        blocks.lengths[i]   = FLOORS_LARGE;
        blocks.memhs[i]     = a.memh;
        blocks.rkeys[i]     = a.rkey;
    }
}

static void floors_blocks_list(int is_get)
{
    sgl_local_t local   = {SGL_LOCAL, blocks.buffers, blocks.lengths,
                           blocks.memhs, NULL, NULL};
    sgl_remote_t remote = {SGL_REMOTE, blocks.addresses, blocks.lengths,
                           blocks.rkeys};
    ucp_request_param_t base = floors_param;
    sgl_param_t param        = {
        .datatype = SGL_DATATYPE,
        .remote   = &remote,
        .count    = FLOORS_BLOCKS
    };

    (void)is_get; /* bench/kv.py's lists are puts */
    base.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE | SGL_PARAM_FIELDS;
    base.datatype      = SGL_DATATYPE;
    memcpy(param.head, &base, sizeof(param.head));
    floors_started(ucp_put_nbx(a.ep, &local, FLOORS_BLOCKS, UINT64_MAX, NULL,
                               (const ucp_request_param_t*)&param),
                   "list");
}

static void floors_blocks_calls(int is_get)
{
    ucp_request_param_t param = floors_param;
    void *request;
    unsigned i;

    param.op_attr_mask |= UCP_OP_ATTR_FIELD_MEMH;
    param.memh          = a.memh;
    for (i = 0; i < FLOORS_BLOCKS; ++i) {
        request = is_get ? ucp_get_nbx(a.ep, blocks.buffers[i], FLOORS_LARGE,
                                       blocks.addresses[i], a.rkey, &param) :
                           ucp_put_nbx(a.ep, blocks.buffers[i], FLOORS_LARGE,
                                       blocks.addresses[i], a.rkey, &param);
        floors_started(request, "a block");
    }
}

static void floors_send(void)
{
    floors_started(ucp_tag_send_nbx(a.ep, a.memory, 8, FLOORS_TAG,
                                    &floors_param),
                   "send");
}

static void floors_recv(void)
{
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                        UCP_OP_ATTR_FLAG_NO_IMM_CMPL,
        .cb.recv      = floors_received
    };

    floors_started(ucp_tag_recv_nbx(b.worker, b.memory, 8, FLOORS_TAG,
                                    UINT64_MAX, &param),
                   "receive");
}

/* Puts or gets: none outstanding before a batch of them, or many; until they are
 * posted, or have ended. */
static void floors_phase(const char *name, void (*post)(size_t), size_t size,
                         unsigned outstanding, void (*end)(void),
                         unsigned rounds)
{
    unsigned n, i;

    for (n = 0; n < rounds; ++n) {
        for (i = 0; i < outstanding; ++i) {
            post(size);
        }
        CALLGRIND_TOGGLE_COLLECT;
        for (i = 0; i < FLOORS_BATCH; ++i) {
            post(size);
        }
        if (end != NULL) {
            end();
        }
        CALLGRIND_TOGGLE_COLLECT;
        floors_settle();
    }
    FLOORS_REPORT(name, rounds * FLOORS_BATCH);
}

static void floors_tag(unsigned rounds)
{
    unsigned n, i;

    for (n = 0; n < rounds; ++n) {
        CALLGRIND_TOGGLE_COLLECT;
        for (i = 0; i < FLOORS_BATCH; ++i) {
            floors_recv();
        }
        for (i = 0; i < FLOORS_BATCH; ++i) {
            floors_send();
        }
        twin_progress(&b);
        twin_progress(&a);
        CALLGRIND_TOGGLE_COLLECT;
        floors_settle();
    }
    FLOORS_REPORT("tag_8", rounds * FLOORS_BATCH);
}

/* One empty progress, and one flush, with nothing outstanding. */
static void floors_idle(unsigned rounds)
{
    unsigned n;

    for (n = 0; n < rounds; ++n) {
        twin_progress(&a);
        CALLGRIND_TOGGLE_COLLECT;
        twin_progress(&a);
        CALLGRIND_TOGGLE_COLLECT;
        floors_settle();
    }
    FLOORS_REPORT("progress_idle", rounds);

    for (n = 0; n < rounds; ++n) {
        CALLGRIND_TOGGLE_COLLECT;
        floors_flush();
        floors_wait();
        CALLGRIND_TOGGLE_COLLECT;
        floors_settle();
    }
    FLOORS_REPORT("flush_idle", rounds);
}

/* Many blocks, from the call that posts until the last is complete. Each of the
 * source begins with what names it and the round. */
static void floors_blocks(const char *name, void (*post)(int is_get),
                          int is_get, unsigned rounds)
{
    uint64_t stamp;
    unsigned n, i;

    for (n = 0; n <= rounds; ++n) {
        for (i = 0; i < FLOORS_BLOCKS; ++i) {
            stamp = ((uint64_t)n << 32) | i;
            memcpy(is_get ? (void*)blocks.addresses[i] : blocks.buffers[i],
                   &stamp, sizeof(stamp));
        }
        if (n > 0) { /* the first finds UCP's protocol */
            CALLGRIND_TOGGLE_COLLECT;
        }
        post(is_get);
        floors_wait();
        if (n > 0) {
            CALLGRIND_TOGGLE_COLLECT;
        }
        floors_settle();
        for (i = 0; i < FLOORS_BLOCKS; ++i) {
            if (memcmp(blocks.buffers[i], (const void*)blocks.addresses[i],
                       FLOORS_LARGE)) {
                fprintf(stderr, "floors: %s: block %u is wrong\n", name, i);
                exit(1);
            }
        }
    }
    FLOORS_REPORT(name, rounds * FLOORS_BLOCKS);
}

static void floors_run(unsigned rounds)
{
    floors_tag(rounds);
    floors_phase("get_8_first", floors_get, 8, 0, NULL, rounds);
    floors_phase("get_8_more", floors_get, 8, 2 * FLOORS_BATCH, NULL, rounds);
    floors_phase("get_8", floors_get, 8, 0, floors_wait, rounds);
    floors_phase("get_4096_first", floors_get, FLOORS_LARGE, 0, NULL, rounds);
    floors_phase("get_4096", floors_get, FLOORS_LARGE, 0, floors_wait, rounds);
    floors_phase("put_8_first", floors_put, 8, 0, NULL, rounds);
    floors_phase("put_8_more", floors_put, 8, FLOORS_BATCH, NULL, rounds);
    floors_phase("put_8", floors_put, 8, 0, floors_wait, rounds);
    floors_idle(rounds);
}

static void floors_run_blocks(unsigned rounds)
{
    unsigned major, minor, release;

    ucp_get_version(&major, &minor, &release);
    if ((major == 1) && (minor < 22)) {
        twins_check(UCS_ERR_UNSUPPORTED, "lists of blocks, before UCX 1.22");
    }
    floors_blocks_fill();
    floors_blocks("blocks_list", floors_blocks_list, 0, rounds);
    floors_blocks("blocks_calls", floors_blocks_calls, 0, rounds);
    floors_blocks("blocks_gets", floors_blocks_calls, 1, rounds);
}

int main(int argc, char **argv)
{
    unsigned rounds = (argc > 1) ? strtoul(argv[1], NULL, 10) : 64;
    unsigned i;

    twins_open(UCP_FEATURE_TAG | UCP_FEATURE_RMA, FLOORS_BLOCKS * FLOORS_LARGE,
               &a, &b);
    for (i = 0; i < FLOORS_BATCH; ++i) { /* introductions, registrations */
        floors_recv();
        floors_send();
        floors_get(FLOORS_LARGE);
        floors_put(8);
        floors_settle();
    }
    if ((argc > 2) && !strcmp(argv[2], "blocks")) {
        floors_run_blocks(rounds);
    } else {
        floors_run(rounds);
    }
    return 0;
}
