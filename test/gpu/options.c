/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of ucp_gpu. */
#include "ucp_gpu.h"
#include "test/apps/args.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GPU_SIZE_MAX (1ull << 36) /* of --min and --max */

const char *const gpu_tests[GPU_TESTS] = {"tag", "am", "put", "get"};

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
    "  --seed N [1]    --timeout S [60]\n";

enum {
    OPT_CLIENT = 256, OPT_PORT, OPT_DEVICE, OPT_MEMORY, OPT_TESTS, OPT_MIN,
    OPT_MAX, OPT_ITERS, OPT_REUSE, OPT_PEER_ERR, OPT_ENDLESS,
    OPT_CPU_COPY, OPT_MAPPED, OPT_WHOLE, OPT_SEED, OPT_TIMEOUT
};

static const struct option gpu_options_all[] = {
    {"client", no_argument, NULL, OPT_CLIENT},
    {"port", required_argument, NULL, OPT_PORT},
    {"device", required_argument, NULL, OPT_DEVICE},
    {"memory", required_argument, NULL, OPT_MEMORY},
    {"tests", required_argument, NULL, OPT_TESTS},
    {"min", required_argument, NULL, OPT_MIN},
    {"max", required_argument, NULL, OPT_MAX},
    {"iters", required_argument, NULL, OPT_ITERS},
    {"reuse", required_argument, NULL, OPT_REUSE},
    {"peer-err", no_argument, NULL, OPT_PEER_ERR},
    {"endless", no_argument, NULL, OPT_ENDLESS},
    {"cpu-copy", no_argument, NULL, OPT_CPU_COPY},
    {"mapped", no_argument, NULL, OPT_MAPPED},
    {"whole-pages", no_argument, NULL, OPT_WHOLE},
    {"seed", required_argument, NULL, OPT_SEED},
    {"timeout", required_argument, NULL, OPT_TIMEOUT},
    {NULL, 0, NULL, 0}
};

/* The sender's and the receiver's. */
static const char *option_memory(void)
{
    if ((strlen(optarg) != 2) || (strspn(optarg, "hd") != 2)) {
        fprintf(stderr, "--memory: '%s' is not one of hh, hd, dh, dd\n",
                optarg);
        exit(2);
    }
    return optarg;
}

/* A name that is none of these would be a test that nobody runs. */
static const char *option_tests(void)
{
    size_t known = 0;
    unsigned i;

    for (i = 0; i < GPU_TESTS; ++i) {
        if (arg_list_has(optarg, gpu_tests[i])) {
            known += strlen(gpu_tests[i]) + 1;
        }
    }
    if ((known != strlen(optarg) + 1) && strcmp(optarg, "none")) {
        fprintf(stderr, "--tests: '%s' is not none, and no list of tag, am, "
                "put, get\n", optarg);
        exit(2);
    }
    return optarg;
}

static void option_apply(int opt, const char *name, gpu_t *gpu,
                         node_params_t *params)
{
    switch (opt) {
    case OPT_CLIENT: params->client = 1; break;
    case OPT_PORT: params->port = arg_number(name, 1, 65535); break;
    case OPT_DEVICE: gpu->device = arg_number(name, 0, 63); break;
    case OPT_MEMORY: gpu->memory = option_memory(); break;
    case OPT_TESTS: gpu->tests = option_tests(); break;
    case OPT_MIN: gpu->min = arg_number(name, 1, GPU_SIZE_MAX); break;
    case OPT_MAX: gpu->max = arg_number(name, 1, GPU_SIZE_MAX); break;
    case OPT_ITERS: gpu->iters = arg_number(name, 0, 100000); break;
    case OPT_REUSE: gpu->reuse = arg_number(name, 0, 1000000); break;
    case OPT_PEER_ERR: params->peer_err = 1; break;
    case OPT_ENDLESS: gpu->endless = 1; break;
    case OPT_CPU_COPY: gpu->cpu_copy = 1; break;
    case OPT_MAPPED: gpu->mapped = 1; break;
    case OPT_WHOLE: gpu->whole = 1; break;
    case OPT_SEED: gpu->seed = arg_number(name, 0, UINT64_MAX); break;
    case OPT_TIMEOUT: params->timeout = arg_number(name, 1, 3600); break;
    default: fputs(gpu_usage, stderr); exit(2);
    }
}

void gpu_options(int argc, char **argv, gpu_t *gpu, node_params_t *params)
{
    int index = 0, opt;

    while ((opt = getopt_long(argc, argv, "", gpu_options_all, &index)) !=
           -1) {
        option_apply(opt, gpu_options_all[index].name, gpu, params);
    }
    if (optind < argc) {
        fputs(gpu_usage, stderr);
        exit(2);
    }
    if (gpu->min > gpu->max) {
        fprintf(stderr, "--min: %zu is more than --max, %zu\n", gpu->min,
                gpu->max);
        exit(2);
    }
}
