/* SPDX-License-Identifier: BSD-3-Clause */
/* Phases that callgrind counts alone, each with its name: batches of 16, and many
 * blocks as a transfer of a key-value cache has them. */
#include "twins.h"
#include "clock.h"

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
    TWINS_BATCH  = 16,
    TWINS_BLOCK  = 4096,
    TWINS_BLOCKS = 1024
};

static void twins_set(const char *operation, unsigned long size)
{
    strcpy(now.operation, operation);
    now.size   = size;
    now.window = now.endpoints = 1;
}

/* A phase ends: callgrind writes what it counted, and forgets it. */
#define TWINS_REPORT(_name, _count) \
    do { \
        CALLGRIND_DUMP_STATS_AT(_name); \
        printf("%s %u\n", _name, (unsigned)(_count)); \
    } while (0)

/* None outstanding before a batch of them, or many; until they are posted, or have
 * ended. */
static void twins_phase(const char *name, const char *operation, size_t size,
                        unsigned outstanding, int to_end, unsigned rounds)
{
    unsigned n, i;

    twins_set(operation, size);
    for (n = 0; n < rounds; ++n) {
        for (i = 0; i < outstanding; ++i) {
            twins_post(0);
        }
        CALLGRIND_TOGGLE_COLLECT;
        for (i = 0; i < TWINS_BATCH; ++i) {
            twins_post(0);
        }
        if (to_end) {
            twins_wait(posted);
        }
        CALLGRIND_TOGGLE_COLLECT;
        twins_settle();
    }
    TWINS_REPORT(name, rounds * TWINS_BATCH);
}

/* One more whenever one of so many ends. */
static void twins_stream(unsigned window, unsigned endpoints, unsigned rounds)
{
    char     name[32];
    unsigned n;

    twins_set("tag", 8);
    now.endpoints = endpoints;
    twins_connect();
    for (n = 0; n < window; ++n) {
        twins_post(0);
    }
    CALLGRIND_TOGGLE_COLLECT;
    for (n = 0; n < rounds * TWINS_BATCH; ++n) {
        twins_wait(posted + 1 - window);
        twins_post(0);
    }
    CALLGRIND_TOGGLE_COLLECT;
    twins_settle();
    snprintf(name, sizeof(name), "tag_%u_of_%u", window, endpoints);
    TWINS_REPORT(name, rounds * TWINS_BATCH);
}

/* Many peers, and more outstanding than an endpoint's window. (On a network that has
 * latency waiting would be counted, most where there is least to do.) */
static void twins_peers(unsigned rounds)
{
    static const unsigned endpoints[] = {1, 64, 1000},
                          windows[]   = {1, 32, 128, 512};
    unsigned i, j;

    for (i = 0; i < sizeof(endpoints) / sizeof(endpoints[0]); ++i) {
        for (j = 0; j < sizeof(windows) / sizeof(windows[0]); ++j) {
            twins_stream(windows[j], endpoints[i], rounds);
        }
    }
}

/* One empty progress, and one flush, with nothing outstanding. */
static void twins_idle(unsigned rounds)
{
    unsigned n;

    for (n = 0; n < rounds; ++n) {
        twin_progress(&twins[0]);
        CALLGRIND_TOGGLE_COLLECT;
        twin_progress(&twins[0]);
        CALLGRIND_TOGGLE_COLLECT;
        twins_settle();
    }
    TWINS_REPORT("progress_idle", rounds);

    for (n = 0; n < rounds; ++n) {
        CALLGRIND_TOGGLE_COLLECT;
        twins_flush();
        CALLGRIND_TOGGLE_COLLECT;
        twins_settle();
    }
    TWINS_REPORT("flush_idle", rounds);
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
    uint64_t         fields;
    void *const     *buffers;
    const size_t    *lengths;
    const ucp_mem_h *memhs;
    const size_t    *counts, *strides;
} sgl_local_t;

typedef struct sgl_remote {
    uint64_t          fields;
    const uint64_t   *addresses;
    const size_t     *lengths;
    const ucp_rkey_h *rkeys;
} sgl_remote_t;

typedef struct sgl_param {
    char           head[offsetof(ucp_request_param_t, memh) +
                        sizeof(ucp_mem_h)];
    ucp_datatype_t datatype;
    const void    *remote;
    size_t         count;
} sgl_param_t;

static struct {
    void      *buffers[TWINS_BLOCKS];
    uint64_t   addresses[TWINS_BLOCKS];
    size_t     lengths[TWINS_BLOCKS];
    ucp_mem_h  memhs[TWINS_BLOCKS];
    ucp_rkey_h rkeys[TWINS_BLOCKS];
} blocks;

/* Blocks at all places of the memory, in an order that is none of theirs. */
static void twins_blocks_fill(void)
{
    unsigned i, at;

    for (i = 0; i < TWINS_BLOCKS; ++i) {
        at                  = (i * 389) % TWINS_BLOCKS;
        blocks.buffers[i]   = twins[0].memory + i * TWINS_BLOCK;
        blocks.addresses[i] = (uint64_t)twins[1].memory + at * TWINS_BLOCK;
        blocks.lengths[i]   = TWINS_BLOCK;
        blocks.memhs[i]     = twins[0].memh;
        blocks.rkeys[i]     = twins[0].rkey;
    }
}

static void twins_blocks_list(int is_get)
{
    sgl_local_t local   = {SGL_LOCAL, blocks.buffers, blocks.lengths,
                           blocks.memhs, NULL, NULL};
    sgl_remote_t remote = {SGL_REMOTE, blocks.addresses, blocks.lengths,
                           blocks.rkeys};
    ucp_request_param_t base = twins_param;
    sgl_param_t param        = {
        .datatype = SGL_DATATYPE,
        .remote   = &remote,
        .count    = TWINS_BLOCKS
    };

    (void)is_get; /* bench/kv.py's lists are puts */
    base.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE | SGL_PARAM_FIELDS;
    base.datatype      = SGL_DATATYPE;
    memcpy(param.head, &base, sizeof(param.head));
    ++posted;
    twins_started(ucp_put_nbx(twins[0].eps[0], &local, TWINS_BLOCKS, UINT64_MAX,
                              NULL, (const ucp_request_param_t*)&param),
                  &sent);
}

static void twins_blocks_calls(int is_get)
{
    ucp_request_param_t param = twins_param;
    void *request;

    param.op_attr_mask |= UCP_OP_ATTR_FIELD_MEMH;
    param.memh          = twins[0].memh;
    for (posted = 0; posted < TWINS_BLOCKS; ++posted) {
        request = is_get ? ucp_get_nbx(twins[0].eps[0], blocks.buffers[posted],
                                       TWINS_BLOCK, blocks.addresses[posted],
                                       twins[0].rkey, &param) :
                           ucp_put_nbx(twins[0].eps[0], blocks.buffers[posted],
                                       TWINS_BLOCK, blocks.addresses[posted],
                                       twins[0].rkey, &param);
        twins_started(request, &sent);
    }
}

/* Many blocks, from the call that posts until the last is complete. Each of the
 * source begins with what names it and the round. */
static void twins_blocks(const char *name, void (*post)(int is_get),
                         int is_get, unsigned rounds)
{
    uint64_t stamp;
    unsigned n, i;

    twins_set("put", TWINS_BLOCK);
    for (n = 0; n <= rounds; ++n) {
        for (i = 0; i < TWINS_BLOCKS; ++i) {
            stamp = ((uint64_t)n << 32) | i;
            memcpy(is_get ? (void*)blocks.addresses[i] : blocks.buffers[i],
                   &stamp, sizeof(stamp));
        }
        if (n > 0) { /* the first finds UCP's protocol */
            CALLGRIND_TOGGLE_COLLECT;
        }
        post(is_get);
        twins_wait(posted);
        if (n > 0) {
            CALLGRIND_TOGGLE_COLLECT;
        }
        twins_settle();
        for (i = 0; i < TWINS_BLOCKS; ++i) {
            if (memcmp(blocks.buffers[i], (const void*)blocks.addresses[i],
                       TWINS_BLOCK)) {
                fprintf(stderr, "twins: %s: block %u is wrong\n", name, i);
                exit(1);
            }
        }
    }
    TWINS_REPORT(name, rounds * TWINS_BLOCKS);
}

void twins_count(unsigned rounds, const char *kind)
{
    unsigned major, minor, release, i;

    bench_clock_open();
    for (i = 0; i < TWINS_BATCH; ++i) { /* introductions, registrations */
        twins_set("tag", 8);
        twins_post(0);
        twins_settle();
        twins_set("get", TWINS_BLOCK);
        twins_post(0);
        twins_settle();
        twins_set("put", 8);
        twins_post(0);
        twins_settle();
    }
    if (!strcmp(kind, "peers")) {
        twins_peers(rounds);
        return;
    }
    if (strcmp(kind, "blocks")) {
        twins_phase("tag_8", "tag", 8, 0, 1, rounds);
        twins_phase("get_8_first", "get", 8, 0, 0, rounds);
        twins_phase("get_8_more", "get", 8, 2 * TWINS_BATCH, 0, rounds);
        twins_phase("get_8", "get", 8, 0, 1, rounds);
        twins_phase("get_4096_first", "get", TWINS_BLOCK, 0, 0, rounds);
        twins_phase("get_4096", "get", TWINS_BLOCK, 0, 1, rounds);
        twins_phase("put_8_first", "put", 8, 0, 0, rounds);
        twins_phase("put_8_more", "put", 8, TWINS_BATCH, 0, rounds);
        twins_phase("put_8", "put", 8, 0, 1, rounds);
        twins_idle(rounds);
        return;
    }
    ucp_get_version(&major, &minor, &release);
    if ((major == 1) && (minor < 22)) {
        bench_check(UCS_ERR_UNSUPPORTED, "lists of blocks, before UCX 1.22");
    }
    twins_blocks_fill();
    twins_blocks("blocks_list", twins_blocks_list, 0, rounds);
    twins_blocks("blocks_calls", twins_blocks_calls, 0, rounds);
    twins_blocks("blocks_gets", twins_blocks_calls, 1, rounds);
}
