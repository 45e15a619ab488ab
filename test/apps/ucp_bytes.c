/* SPDX-License-Identifier: BSD-3-Clause */
#include "args.h"
#include "bytes.h"
#include "watchdog.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const bytes_test_t *const bytes_tables[] = {
    bytes_tag_tests, bytes_am_tests, bytes_stream_tests, bytes_rma_tests,
    bytes_hold_tests
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
    "  --tests A,B|all     which tests [all]; --list names them\n"
    "  --error-mode MODE   none or peer [none]\n"
    "  --sockaddr          client/server connection; in error mode peer\n"
    "  --wakeup            sleep on the worker's descriptor between events\n"
    "  --hold-unexpected N test tag_hold: N messages to a sleeping receiver\n"
    "  --hold-seconds S    its sleep [3]\n"
    "  --timeout S         give up after S seconds without progress [60]\n";

enum {
    OPT_CLIENT = 256, OPT_PORT, OPT_SEED, OPT_ITERS, OPT_DENSE, OPT_MIN,
    OPT_MAX, OPT_WINDOW, OPT_TESTS, OPT_LIST, OPT_ERROR_MODE, OPT_SOCKADDR,
    OPT_WAKEUP, OPT_HOLD, OPT_HOLD_SECONDS, OPT_TIMEOUT, OPT_HELP
};

static const struct option bytes_options[] = {
    {"client", no_argument, NULL, OPT_CLIENT},
    {"port", required_argument, NULL, OPT_PORT},
    {"seed", required_argument, NULL, OPT_SEED},
    {"iters", required_argument, NULL, OPT_ITERS},
    {"dense", required_argument, NULL, OPT_DENSE},
    {"min", required_argument, NULL, OPT_MIN},
    {"max", required_argument, NULL, OPT_MAX},
    {"window", required_argument, NULL, OPT_WINDOW},
    {"tests", required_argument, NULL, OPT_TESTS},
    {"list", no_argument, NULL, OPT_LIST},
    {"error-mode", required_argument, NULL, OPT_ERROR_MODE},
    {"sockaddr", no_argument, NULL, OPT_SOCKADDR},
    {"wakeup", no_argument, NULL, OPT_WAKEUP},
    {"hold-unexpected", required_argument, NULL, OPT_HOLD},
    {"hold-seconds", required_argument, NULL, OPT_HOLD_SECONDS},
    {"timeout", required_argument, NULL, OPT_TIMEOUT},
    {"help", no_argument, NULL, OPT_HELP},
    {NULL, 0, NULL, 0}
};

static void bytes_list(void)
{
    const bytes_test_t *test;
    unsigned i;

    for (i = 0; i < BYTES_TABLES; ++i) {
        for (test = bytes_tables[i]; test->name != NULL; ++test) {
            puts(test->name);
        }
    }
}

static void option_error_mode(node_params_t *params)
{
    params->peer_err = !strcmp(optarg, "peer");
    if (!params->peer_err && strcmp(optarg, "none")) {
        fprintf(stderr, "--error-mode: '%s' is neither none nor peer\n",
                optarg);
        exit(2);
    }
}

static void option_apply(int opt, const char *name, bytes_opts_t *o,
                         node_params_t *p)
{
    switch (opt) {
    case OPT_CLIENT: p->client = 1; break;
    case OPT_PORT: p->port = arg_number(name, 1, 65535); break;
    case OPT_SEED: o->seed = arg_number(name, 0, UINT64_MAX); break;
    case OPT_ITERS: o->iters = arg_number(name, 0, 20000); break;
    case OPT_DENSE: o->dense = arg_number(name, 1, 100000); break;
    case OPT_MIN: o->min = arg_number(name, 0, BYTES_SIZE_MAX); break;
    case OPT_MAX: o->max = arg_number(name, 0, BYTES_SIZE_MAX); break;
    case OPT_WINDOW: o->window = arg_number(name, 1, BYTES_WINDOW_MAX); break;
    case OPT_TESTS: o->tests = optarg; break;
    case OPT_ERROR_MODE: option_error_mode(p); break;
    case OPT_SOCKADDR:
        p->sockaddr = 1;
        p->peer_err = 1;
        break;
    case OPT_WAKEUP: p->wakeup = 1; break;
    case OPT_HOLD:
        o->hold  = arg_number(name, 1, 1000000);
        o->tests = "tag_hold";
        break;
    case OPT_HOLD_SECONDS: o->hold_seconds = arg_number(name, 0, 3600); break;
    case OPT_TIMEOUT: p->timeout = arg_number(name, 1, 3600); break;
    case OPT_LIST: bytes_list(); exit(0);
    case OPT_HELP: fputs(bytes_usage, stdout); exit(0);
    default: fputs(bytes_usage, stderr); exit(2);
    }
}

static int bytes_wanted(const char *list, const bytes_test_t *test)
{
    if (!strcmp(list, "all")) {
        return test->in_all;
    }
    return arg_list_has(list, test->name);
}

static double bytes_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

static int bytes_run_one(bytes_t *bt, const bytes_test_t *test,
                         uint64_t stream)
{
    uint64_t messages = bt->messages;
    double start      = bytes_now();

    bt->test     = test->name;
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
               bytes_now() - start);
        fflush(stdout);
    }
    return 0;
}

static int bytes_run(bytes_t *bt)
{
    const bytes_test_t *test;
    unsigned i, ran = 0;

    for (i = 0; i < BYTES_TABLES; ++i) {
        for (test = bytes_tables[i]; test->name != NULL; ++test) {
            if (!bytes_wanted(bt->opts.tests, test)) {
                continue;
            }
            if (bytes_run_one(bt, test, (i << 8) + (test - bytes_tables[i]))) {
                return -1;
            }
            ++ran;
        }
    }
    if (ran == 0) {
        fprintf(stderr, "--tests: '%s' names no test (--list shows them)\n",
                bt->opts.tests);
        return -1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    node_params_t params = {.port = 23456, .timeout = 60};
    bytes_t bt           = {
        .opts = {.seed = 1, .iters = 100, .dense = 97, .window = 16,
                 .hold = 1000, .hold_seconds = 3, .max = 16u << 20,
                 .tests = "all"}
    };
    int opt, index = 0;

    while ((opt = getopt_long(argc, argv, "", bytes_options, &index)) != -1) {
        option_apply(opt, bytes_options[index].name, &bt.opts, &params);
    }
    if (optind < argc || bt.opts.min > bt.opts.max) {
        fputs(bytes_usage, stderr);
        return 2;
    }
    if (node_open(&bt.node, &params)) {
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
