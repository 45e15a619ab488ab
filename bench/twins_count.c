/* SPDX-License-Identifier: BSD-3-Clause */
/* Phases that callgrind counts alone, each with its name: cases, and many blocks as a
 * transfer of a key-value cache has them. */
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
    TWINS_IDLE   = 16, /* rounds */
    TWINS_BLOCK  = 4096,
    TWINS_BLOCKS = 1024
};

/* A phase ends: callgrind writes what it counted, and forgets it. */
#define TWINS_REPORT(_name, _count) \
    do { \
        CALLGRIND_DUMP_STATS_AT(_name); \
        printf("%s %u\n", _name, (unsigned)(_count)); \
    } while (0)

/* On a network that has latency waiting would be counted, too. */
static void twins_phase(const char *line, unsigned count)
{
    twins_case(line);
    twins_connect();
    twins_once(count / 4);
    CALLGRIND_TOGGLE_COLLECT;
    twins_once(count);
    CALLGRIND_TOGGLE_COLLECT;
    twins_settle();
    TWINS_REPORT(line, count);
}

/* One empty progress, and one flush, with nothing outstanding. */
static void twins_idle(void)
{
    unsigned n;

    for (n = 0; n < TWINS_IDLE; ++n) {
        twin_progress(&twins[0]);
        CALLGRIND_TOGGLE_COLLECT;
        twin_progress(&twins[0]);
        CALLGRIND_TOGGLE_COLLECT;
        twins_settle();
    }
    TWINS_REPORT("progress_idle", TWINS_IDLE);

    for (n = 0; n < TWINS_IDLE; ++n) {
        CALLGRIND_TOGGLE_COLLECT;
        twins_flush();
        CALLGRIND_TOGGLE_COLLECT;
        twins_settle();
    }
    TWINS_REPORT("flush_idle", TWINS_IDLE);
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
        blocks.rkeys[i]     = twins[0].rkeys[0];
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
                                       twins[0].rkeys[0], &param) :
                           ucp_put_nbx(twins[0].eps[0], blocks.buffers[posted],
                                       TWINS_BLOCK, blocks.addresses[posted],
                                       twins[0].rkeys[0], &param);
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

void twins_count(unsigned count, char **cases)
{
    unsigned major, minor, release;

    twins_case("tag:8:1");
    twins_connect();
    bench_clock_open();
    if (strcmp(cases[0], "blocks")) {
        twins_idle();
        for (; *cases != NULL; ++cases) {
            twins_phase(*cases, count);
        }
        return;
    }
    ucp_get_version(&major, &minor, &release);
    if ((major == 1) && (minor < 22)) {
        bench_check(UCS_ERR_UNSUPPORTED, "lists of blocks, before UCX 1.22");
    }
    twins_case("put:4096:1");
    twins_blocks_fill();
    twins_blocks("blocks_list", twins_blocks_list, 0, count);
    twins_blocks("blocks_calls", twins_blocks_calls, 0, count);
    twins_blocks("blocks_gets", twins_blocks_calls, 1, count);
}
