/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ucp_device: puts and increments that kernels begin, by the device API of UCX
 * 1.22.1 and newer, between two processes and both ways at a time. Threads of
 * the CPU are the kernels' blocks; lists and memory are UCP's own.
 */
#include "device_host.h"
#include "test/apps/args.h"
#include "test/apps/fill.h"

#include <stdio.h>
#include <stdlib.h>

#define FEATURE_DEVICE (1ul << 8) /* UCP_FEATURE_DEVICE */

#define EPISODE_BYTES (2ul << 20) /* of each buffer, and about so many put */

/* ------------------------------------------------------------ episodes */

/* Numbers of an episode, the same on both sides. */
static void episode_draw(gpu_t *gpu)
{
    static const char *const memories[] = {"hh", "hd", "dh", "dd"};
    uint64_t rand = fill_key(gpu->seed, 1, 2);

    gpu->slot   = 1 + fill_rand(&rand) % (1ul << fill_rand(&rand) % 21);
    gpu->blocks = 1 + fill_rand(&rand) % (1ul << fill_rand(&rand) % 6);
    gpu->slots  = 1 + fill_rand(&rand) % 8;
    while (gpu->blocks * gpu->slots * gpu->slot > EPISODE_BYTES) {
        gpu->slots  = (gpu->slots + 1) / 2;
        gpu->blocks = (gpu->blocks + 1) / 2;
    }
    gpu->rounds   = 1 + fill_rand(&rand) % 32;
    if (gpu->rounds * gpu->blocks * gpu->slot > EPISODE_BYTES) {
        gpu->rounds = 1 + EPISODE_BYTES / gpu->slot / gpu->blocks;
    }
    gpu->puts     = 1 + fill_rand(&rand) % 16;
    gpu->memory   = memories[fill_rand(&rand) % 4];
    gpu->ep_count = 1 + fill_rand(&rand) % EPISODE_EPS;
    gpu->churns   = (gpu->ep_count > 1) ? fill_rand(&rand) % 4 : 0;
    gpu->is_noisy = fill_rand(&rand) % 2;
}

/* No more noise came than went, and not a byte that is none of it. */
static int noise_check(gpu_t *gpu)
{
    noise_t         noise;
    uint64_t        mine = gpu->noises;
    void           *theirs;
    const uint8_t  *sent = noise.sent[0], *got = noise.got[0];
    size_t          length, i;

    if (node_swap(&gpu->node, &mine, sizeof(mine), &theirs, &length) ||
        gpu_memcpy(&noise, gpu->noise.data, sizeof(noise))) {
        return -1;
    }
    if (noise.count > *(uint64_t*)theirs) {
        return gpu_fails(gpu, "more increments came than were made");
    }
    free(theirs);
    for (i = 0; i < sizeof(noise.got); ++i) {
        if ((got[i] != 0) && (got[i] != sent[i])) {
            return gpu_fails(gpu, "a byte that nobody put");
        }
    }
    return 0;
}

static int episodes_run(gpu_t *gpu)
{
    uint64_t i;

    for (i = 0; i < gpu->episodes; ++i, ++gpu->seed) {
        episode_draw(gpu);
        if (host_eps_shrink(gpu, gpu->ep_count) || node_barrier(&gpu->node) ||
            device_open(gpu) || blocks_run(gpu) || noise_check(gpu) ||
            device_close(gpu)) {
            return gpu_fails(gpu, "an episode");
        }
    }
    printf("ok %lu episodes, %lu rounds, %lu endpoints closed, rings were full "
           "%lu times\n", (unsigned long)gpu->episodes,
           (unsigned long)gpu->all_rounds, (unsigned long)gpu->closed,
           (unsigned long)gpu->full);
    return 0;
}

/* ------------------------------------------------------------ another one */

#define OTHER_LIVES 5

/* A worker beside the first, with a thread and a peer of its own, and by turns a
 * context of its own, or the first one's. It comes and goes. */
typedef struct other {
    gpu_t         gpu;
    node_params_t params;
    ucp_context_h shared;
    pthread_t     thread;
} other_t;

static void *other_main(void *arg)
{
    other_t *other = arg;
    gpu_t    first = other->gpu;
    unsigned i;

    first.episodes = 1 + first.episodes / OTHER_LIVES;
    for (i = 0; i < OTHER_LIVES; ++i) {
        other->gpu         = first;
        other->gpu.seed   += 1000000 + i * first.episodes;
        other->params.ctx  = (i % 2) ? other->shared : NULL;
        if (host_open(&other->gpu, &other->params) ||
            episodes_run(&other->gpu) || host_close(&other->gpu)) {
            exit(1);
        }
    }
    return NULL;
}

/* A context whose workers are of several threads. */
static int other_context(ucp_context_h *ctx)
{
    const ucp_params_t params = {
        .field_mask = UCP_PARAM_FIELD_FEATURES |
                      UCP_PARAM_FIELD_MT_WORKERS_SHARED,
        .features   = FEATURE_DEVICE | UCP_FEATURE_RMA,
        .mt_workers_shared = 1
    };

    return (ucp_init(&params, NULL, ctx) == UCS_OK) ? 0 : -1;
}

static int two_run(gpu_t *gpu, node_params_t *params, unsigned other_port)
{
    static other_t other;
    int            ret;

    if (other_context(&other.shared)) {
        return -1;
    }
    other.gpu         = *gpu;
    other.params      = *params;
    other.params.port = other_port;
    params->ctx       = other.shared;
    if (host_open(gpu, params) ||
        (pthread_create(&other.thread, NULL, other_main, &other) != 0)) {
        return -1;
    }
    ret = episodes_run(gpu) || host_close(gpu);
    pthread_join(other.thread, NULL);
    ucp_cleanup(other.shared);
    return ret;
}

/* ------------------------------------------------------------ the program */

static int device_run(gpu_t *gpu)
{
    if (device_open(gpu) || blocks_run(gpu) || device_close(gpu)) {
        return -1;
    }
    if (gpu->broken) {
        printf("ok survived\n");
        ucp_worker_destroy(gpu->node.worker);
        ucp_cleanup(gpu->node.ctx);
        return 0;
    }
    printf("ok %lu rounds of %u blocks, rings were full %lu times\n",
           (unsigned long)gpu->rounds, gpu->blocks, (unsigned long)gpu->full);
    return 0;
}

static int one_run(gpu_t *gpu, const node_params_t *params)
{
    if (host_open(gpu, params) ||
        ((gpu->episodes > 0) ? episodes_run(gpu) : device_run(gpu))) {
        return -1;
    }
    return gpu->broken ? 0 : host_close(gpu);
}

static const char device_usage[] =
    "usage: ucp_device [--client] [OPTIONS]\n"
    "  --port N [23456]  --device N [0]  --seed N [1]\n"
    "  --memory AB    where puts and counters go, h or d [dd]\n"
    "  --hostile      kernels write descriptors of no use, too\n"
    "  --die          is killed in the midst\n"
    "  --killed       goes on until the other one is killed, and survives\n"
    "  --idle         does nothing for a second, first\n"
    "  --still        the host makes no progress while kernels run\n"
    "  --blocks N [8]    --rounds N [100]   of each block\n"
    "  --eps N [1]    endpoints to the peer, which rounds take in turn\n"
    "  --episodes N   instead, each with numbers drawn from its seed: the first\n"
    "                 has --seed, the others the next ones\n"
    "  --other-port N as many by another worker and thread, at the same time\n"
    "  --slots N [4]     --slot BYTES [65536]   --puts N [8] at most a round\n";

int main(int argc, char **argv)
{
    static gpu_t gpu     = {.memory = "dd", .blocks = 8, .slots = 4,
                            .slot = 65536, .rounds = 100, .seed = 1,
                            .puts = 8, .ep_count = 1};
    unsigned     other   = 0;
    node_params_t params = {.port = 23456,
                            .features = FEATURE_DEVICE};
    const arg_t args[]   = {
        ARG_FLAG("client", params.client),
        ARG_NUMBER("port", params.port, 1, 65535),
        ARG_NUMBER("device", gpu.device, 0, 63),
        ARG_TEXT("memory", gpu.memory),
        ARG_FLAG("still", gpu.still),
        ARG_FLAG("idle", gpu.idle),
        ARG_FLAG("killed", gpu.killed),
        ARG_FLAG("die", gpu.die),
        ARG_FLAG("hostile", gpu.hostile),
        ARG_NUMBER("blocks", gpu.blocks, 1, BLOCKS_MAX),
        ARG_NUMBER("rounds", gpu.rounds, 1, 1000000),
        ARG_NUMBER("slots", gpu.slots, 1, 1024),
        ARG_NUMBER("slot", gpu.slot, 1, 1 << 30),
        ARG_NUMBER("puts", gpu.puts, 1, 64),
        ARG_NUMBER("eps", gpu.ep_count, 1, 100000),
        ARG_NUMBER("episodes", gpu.episodes, 1, 1000000),
        ARG_NUMBER("other-port", other, 1, 65535),
        ARG_NUMBER("seed", gpu.seed, 0, UINT64_MAX),
        {.name = NULL}
    };

    arg_parse(argc, argv, device_usage, args);
    if (gpu.killed) {
        gpu.rounds = 1u << 30;
    }
    return ((other > 0) ? two_run(&gpu, &params, other) :
                          one_run(&gpu, &params)) ? 1 : 0;
}
