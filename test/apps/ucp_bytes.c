/* SPDX-License-Identifier: BSD-3-Clause */
#include "args.h"
#include "bytes.h"
#include "watchdog.h"

#include <stdio.h>

static const bytes_test_t *const bytes_tables[] = {
    bytes_tag_tests, bytes_am_tests, bytes_stream_tests, bytes_rma_tests
};

#define BYTES_TABLES (sizeof(bytes_tables) / sizeof(bytes_tables[0]))

static const char bytes_usage[] =
    "usage: ucp_bytes [OPTIONS]          (server)\n"
    "       ucp_bytes --client [OPTIONS] (client; same options)\n"
    "Sends messages both ways between two processes over UCX_TLS and checks\n"
    "every byte.\n"
    "  --port N            loopback port for addresses and barriers [23456]\n"
    "  --seed N            of sizes, contents and order [1]\n"
    "  --iters N           random sizes after the fixed list [100]\n"
    "  --dense STEP        step of the sizes from 65 to 9000 [97]\n"
    "  --min N, --max N    sizes in bytes, at most 67108864 [0, 16777216]\n"
    "  --window N          messages in flight each way [16]\n"
    "  --tests A,B         which tests [all]\n"
    "  --peer-err          endpoints in error mode peer\n"
    "  --sockaddr          client/server connection; takes --peer-err\n"
    "  --wakeup            sleep on the worker's descriptor between events\n"
    "  --hold-unexpected N instead, N messages to a sleeping receiver\n"
    "  --hold-seconds S    its sleep [3]\n";

static int bytes_run_one(bytes_t *bt, const bytes_test_t *test,
                         uint64_t stream)
{
    uint64_t messages = bt->messages;
    double start      = node_seconds();

    bt->test     = test->name;
    bt->arg      = test->arg;
    bt->stream   = stream;
    bt->index    = 0;
    bt->rand     = fill_key(bt->opts.seed, stream, 0);
    bt->rand_own = fill_key(bt->opts.seed, stream, 1 + bt->node.client);
    watchdog_kick("%s", test->name);
    if (test->batch ? bytes_sweep(bt, test->batch) : test->run(bt)) {
        return -1;
    }
    if (bt->node.ep_status != UCS_OK) {
        return bytes_fail(bt, bt->index, 0, "the endpoint failed");
    }
    if (bt->node.client) {
        printf("%-16s %6llu messages %7.2f s\n", test->name,
               (unsigned long long)(bt->messages - messages),
               node_seconds() - start);
        fflush(stdout);
    }
    return 0;
}

static int bytes_run(bytes_t *bt)
{
    static const bytes_test_t hold = {"tag_hold", NULL, bytes_hold, 0};
    const bytes_test_t *test;
    unsigned i, ran = 0;

    if (bt->opts.hold > 0) {
        return bytes_run_one(bt, &hold, BYTES_TABLES << 8);
    }
    for (i = 0; i < BYTES_TABLES; ++i) {
        for (test = bytes_tables[i]; test->name != NULL; ++test) {
            if (bt->opts.tests && !arg_list_has(bt->opts.tests, test->name)) {
                continue;
            }
            if (bytes_run_one(bt, test, (i << 8) + (test - bytes_tables[i]))) {
                return -1;
            }
            ++ran;
        }
    }
    if (ran == 0) {
        fprintf(stderr, "--tests: '%s' names no test\n", bt->opts.tests);
        return -1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    node_params_t p = {.port = 23456};
    bytes_t bt      = {
        .opts = {.seed = 1, .iters = 100, .dense = 97, .window = 16,
                 .hold_seconds = 3, .max = 16u << 20}
    };
    bytes_opts_t *o = &bt.opts;
    const arg_t args[] = {
        ARG_FLAG("client", p.client),
        ARG_NUMBER("port", p.port, 1, 65535),
        ARG_NUMBER("seed", o->seed, 0, UINT64_MAX),
        ARG_NUMBER("iters", o->iters, 0, 20000),
        ARG_NUMBER("dense", o->dense, 1, 100000),
        ARG_NUMBER("min", o->min, 0, BYTES_SIZE_MAX),
        ARG_NUMBER("max", o->max, 0, BYTES_SIZE_MAX),
        ARG_NUMBER("window", o->window, 1, BYTES_WINDOW_MAX),
        ARG_TEXT("tests", o->tests),
        ARG_FLAG("peer-err", p.peer_err),
        ARG_FLAG("sockaddr", p.sockaddr),
        ARG_FLAG("wakeup", p.wakeup),
        ARG_NUMBER("hold-unexpected", o->hold, 1, 1000000),
        ARG_NUMBER("hold-seconds", o->hold_seconds, 0, 3600),
        {.name = NULL}
    };

    arg_parse(argc, argv, bytes_usage, args);
    if (o->min > o->max) {
        fputs(bytes_usage, stderr);
        return 2;
    }
    if (node_open(&bt.node, &p)) {
        return 1;
    }
    /* After a failure nothing is closed: the peer sees the socket close. */
    if (bytes_run(&bt) || node_close(&bt.node)) {
        return 1;
    }
    if (bt.node.lost > 1) {
        fprintf(stderr, "FAIL: %d sleeps ended by time although events were "
                "waiting: lost wakeups\n", bt.node.lost);
        return 1;
    }
    printf("ok %llu messages %llu bytes\n", (unsigned long long)bt.messages,
           (unsigned long long)bt.bytes);
    return 0;
}
