/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ucp_device: puts and increments that kernels begin, by the device API of UCX
 * 1.22.1 and newer, between two processes and both ways at a time. Threads of
 * the CPU are the kernels' blocks; lists and memory are UCP's own.
 *
 * Each block owns a part of the peer's memory, of so many slots. In a round it
 * fills the next slot by some puts and increments a counter behind them; the
 * peer, which sees the counter, finds every byte of the round there, and says
 * so by incrementing a counter of the block's: without that the block does not
 * use the slot again.
 */
#include "device_list.h"
#include "test/apps/args.h"
#include "test/apps/fill.h"
#include "test/apps/node.h"
#include "test/apps/watchdog.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCKS_MAX 32
#define FEATURE_DEVICE (1ul << 8) /* UCP_FEATURE_DEVICE */

typedef struct shared { /* one buffer for the peer's writes */
    region_t region;
    uint8_t *data;
    size_t   size;
    int      is_device;
} shared_t;

typedef struct block {
    struct gpu *gpu;
    unsigned    id;
    pthread_t   thread;
    uint64_t    rounds;  /* that the block has begun */
    uint64_t    checked; /* rounds of the peer's block that we found right */
    uint64_t    full;    /* how often its ring was */
    const device_ep_t *ep; /* of this round */
} block_t;

typedef struct gpu {
    node_t            node;
    const char       *memory;
    unsigned          blocks, slots, device, puts;
    size_t            slot;
    uint64_t          rounds, seed;
    int               killed; /* the peer will be */
    int               die;    /* so will this one, by itself */
    int               hostile; /* kernels write nonsense, too */
    int               idle;  /* for a second, first */
    int               still; /* no progress while blocks run */
    uint8_t          *source;
    ucp_mem_h         source_memh;
    shared_t          target, counters; /* counters: of data, of acks */
    device_key_t        source_key, target_key, counters_key;
    device_ep_t      *eps;   /* all to the same peer */
    unsigned          ep_count;
    ucp_ep_h         *more;  /* UCP's of all but the first */
    block_t           block[BLOCKS_MAX];
    _Atomic int       failed, broken; /* the test; the endpoint */
    _Atomic unsigned  running; /* blocks */
} gpu_t;

static int fails(gpu_t *gpu, const char *what)
{
    fprintf(stderr, "FAIL: %s\n", what);
    gpu->failed = 1;
    return -1;
}

/* ------------------------------------------------------------ a kernel */

/* One descriptor, as the device API writes it. 0: the ring is full. */
static int kernel_post(const device_ep_t *ep, unsigned channel_id,
                       const srd_gpu_desc_t *what, uint64_t ep_id)
{
    srd_gpu_d2p_channel_t *channel;
    uint64_t               pi, depth = 1ul << ep->log_depth;
    srd_gpu_desc_t        *desc;

    channel = &ep->channels[channel_id & ep->channel_mask];
    pi      = __atomic_load_n(channel->pi, __ATOMIC_RELAXED);
    do {
        if (pi - __atomic_load_n(channel->ci, __ATOMIC_RELAXED) >= depth) {
            return 0;
        }
    } while (!__atomic_compare_exchange_n(channel->pi, &pi, pi + 1, 0,
                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    desc         = &channel->queue[pi & (depth - 1)];
    desc->opcode = what->opcode;
    desc->flags  = what->flags;
    desc->length = what->length;
    desc->ep_id  = ep_id;
    desc->lkey   = what->lkey;
    desc->rkey   = what->rkey;
    desc->laddr  = what->laddr;
    desc->raddr  = what->raddr;
    desc->add    = what->add;
    __atomic_store_n(&desc->owner, (pi >> ep->log_depth) & 1,
                     __ATOMIC_RELEASE);
    return 1;
}

static void kernel_do(block_t *block, const srd_gpu_desc_t *what)
{
    while (!kernel_post(block->ep, block->id, what, block->ep->id)) {
        ++block->full;
        sched_yield();
    }
}

static void kernel_put(block_t *block, size_t offset, size_t length)
{
    gpu_t                *gpu  = block->gpu;
    const srd_gpu_desc_t  what = {
        .opcode = SRD_GPU_OP_WRITE,
        .flags  = 2,
        .length = length,
        .lkey   = gpu->source_key.lkey,
        .rkey   = gpu->target_key.rkey,
        .laddr  = (uintptr_t)gpu->source + offset,
        .raddr  = gpu->target.region.remote + offset
    };

    kernel_do(block, &what);
}

static void kernel_inc(block_t *block, unsigned counter)
{
    gpu_t                *gpu  = block->gpu;
    const srd_gpu_desc_t  what = {
        .opcode = SRD_GPU_OP_ADD,
        .flags  = 2,
        .length = sizeof(uint64_t),
        .rkey   = gpu->counters_key.rkey,
        .raddr  = gpu->counters.region.remote + counter * sizeof(uint64_t),
        .add    = 1
    };

    kernel_do(block, &what);
}

/* ------------------------------------------------------------ memory */

static int read_bytes(const shared_t *shared, void *to, size_t offset,
                      size_t size)
{
    if (shared->is_device) {
        return gpu_memcpy(to, shared->data + offset, size);
    }
    memcpy(to, shared->data + offset, size);
    return 0;
}

static uint64_t counter_value(gpu_t *gpu, unsigned counter)
{
    uint64_t value = 0, offset = counter * sizeof(value);

    if (gpu->counters.is_device) {
        if (read_bytes(&gpu->counters, &value, offset, sizeof(value))) {
            (void)fails(gpu, "a counter cannot be read");
        }
        return value;
    }
    return __atomic_load_n((uint64_t*)(gpu->counters.data + offset),
                           __ATOMIC_ACQUIRE);
}

static size_t slot_offset(const gpu_t *gpu, unsigned block, uint64_t round)
{
    return (block * gpu->slots + round % gpu->slots) * gpu->slot;
}

static uint64_t slot_key(const gpu_t *gpu, int client, unsigned block,
                         uint64_t round)
{
    return fill_key(gpu->seed, block * 2 + client, round);
}

/* ------------------------------------------------------------ a block */

/* One round: some puts, of any sizes and in any order of places, that cover a
 * slot, and an increment. */
static int block_round(block_t *block, uint64_t acks, uint8_t *bytes,
                       uint64_t *rand)
{
    gpu_t   *gpu    = block->gpu;
    size_t   offset = slot_offset(gpu, block->id, block->rounds);
    size_t   done   = 0, length;
    unsigned count  = 1 + fill_rand(rand) % gpu->puts, i;

    if (block->rounds == acks) { /* endpoints are in no order to each other */
        block->ep = &gpu->eps[fill_rand(rand) % gpu->ep_count];
    }
    fill_bytes(bytes, gpu->slot,
               slot_key(gpu, gpu->node.client, block->id, block->rounds), 0);
    if (gpu_memcpy(gpu->source + offset, bytes, gpu->slot)) {
        return fails(gpu, "a source cannot be written");
    }
    for (i = 0; i < count; ++i) {
        length = fill_rand(rand) % (2 * gpu->slot / count + 1);
        if ((i + 1 == count) || (length > gpu->slot - done)) {
            length = gpu->slot - done;
        }
        kernel_put(block, offset + done, length);
        done += length;
    }
    kernel_inc(block, block->id);
    ++block->rounds;
    return 0;
}

/* The peer's rounds that its counter tells of: all bytes are there. */
static int block_check(block_t *block, uint8_t *bytes)
{
    gpu_t    *gpu  = block->gpu;
    uint64_t  seen = counter_value(gpu, block->id), key;
    ptrdiff_t diff;

    if (seen > gpu->rounds) {
        return fails(gpu, "a counter is ahead of all rounds");
    }
    for (; block->checked < seen; ++block->checked) {
        if (read_bytes(&gpu->target, bytes,
                       slot_offset(gpu, block->id, block->checked),
                       gpu->slot)) {
            return fails(gpu, "a slot cannot be read");
        }
        key  = slot_key(gpu, !gpu->node.client, block->id, block->checked);
        diff = fill_diff(bytes, gpu->slot, key, 0);
        if (diff >= 0) {
            fprintf(stderr, "block %u, round %lu of %lu: byte %td is wrong\n",
                    block->id, (unsigned long)block->checked,
                    (unsigned long)seen, diff);
            return fails(gpu, "a counter was seen before its data");
        }
        kernel_inc(block, gpu->blocks + block->id);
    }
    return 0;
}

/* Descriptors of no use: another endpoint, another opcode, no bytes; increments
 * that the peer must refuse: no such key, not its memory, not aligned. */
static void block_hostile(block_t *block, uint64_t *rand)
{
    gpu_t         *gpu  = block->gpu;
    uint64_t       here = gpu->counters.region.remote;
    srd_gpu_desc_t what = {
        .opcode = SRD_GPU_OP_ADD,
        .rkey   = gpu->counters_key.rkey,
        .raddr  = here,
        .add    = 1
    };

    switch (fill_rand(rand) % 7) {
    case 0:
        what.opcode = 2 + fill_rand(rand) % 254;
        break;
    case 1:
        what.opcode = SRD_GPU_OP_WRITE; /* of no bytes */
        break;
    case 2:
        what.rkey = fill_rand(rand);
        break;
    case 3:
        what.raddr = here + 1 + fill_rand(rand) % 7;
        break;
    case 4:
        what.raddr = here + gpu->counters.size + 8 * (fill_rand(rand) % 1000);
        break;
    case 5:
        what.raddr = here - 8;
        break;
    default:
        (void)kernel_post(block->ep, block->id, &what, fill_rand(rand) << 20);
        return;
    }
    kernel_do(block, &what);
}

/* The peer is gone: a kernel that does not know finds room in its ring all the
 * same. */
static void block_after(block_t *block)
{
    unsigned i;

    for (i = 0; i < 5000; ++i) {
        kernel_put(block, block->id * sizeof(uint64_t), sizeof(uint64_t));
        kernel_inc(block, block->id);
    }
}

static void *block_main(void *arg)
{
    block_t *block = arg;
    gpu_t   *gpu   = block->gpu;
    uint64_t rand  = fill_key(gpu->seed, 99, block->id), acks = 0;
    uint8_t *bytes = malloc(gpu->slot);

    block->ep = gpu->eps;
    if (gpu_open(gpu->device)) {
        (void)fails(gpu, "no device");
    }
    while (!gpu->failed && !gpu->broken &&
           ((acks < gpu->rounds) || (block->checked < gpu->rounds))) {
        acks = counter_value(gpu, gpu->blocks + block->id);
        if (acks > block->rounds) {
            (void)fails(gpu, "a counter of acknowledgements is ahead");
        }
        if ((block->rounds < gpu->rounds) &&
            (block->rounds < acks + gpu->slots)) {
            (void)block_round(block, acks, bytes, &rand);
            if (gpu->hostile) {
                block_hostile(block, &rand);
            }
        }
        (void)block_check(block, bytes);
        sched_yield();
    }
    if (gpu->broken) {
        block_after(block);
    }
    free(bytes);
    --gpu->running;
    return NULL;
}

/* ------------------------------------------------------------ the host */

static int shared_open(gpu_t *gpu, shared_t *shared, size_t size, int device)
{
    static const uint8_t zeros[4096];
    size_t               i;

    shared->size      = (size + sizeof(zeros) - 1) & ~(sizeof(zeros) - 1);
    shared->is_device = device;
    shared->data = device ? gpu_malloc(shared->size) : calloc(1, shared->size);
    if (shared->data == NULL) {
        return -1;
    }
    for (i = 0; device && (i < shared->size); i += sizeof(zeros)) {
        if (gpu_memcpy(shared->data + i, zeros, sizeof(zeros))) {
            return -1;
        }
    }
    return node_region_open(&gpu->node, shared->data, shared->size,
                            shared->data, &shared->region);
}

static int lists_open(gpu_t *gpu)
{
    device_elem_t local = {
        .field_mask = DEVICE_ELEM_MEMH | DEVICE_ELEM_LOCAL_ADDR,
        .memh       = gpu->source_memh,
        .local_addr = gpu->source
    };
    device_elem_t remote = {
        .field_mask  = DEVICE_ELEM_RKEY | DEVICE_ELEM_REMOTE_ADDR |
                       DEVICE_ELEM_EP,
        .ep          = gpu->node.ep,
        .rkey        = gpu->target.region.rkey,
        .remote_addr = gpu->target.region.remote
    };

    if (device_list_read(&gpu->node, &local, &gpu->source_key, NULL) ||
        device_list_read(&gpu->node, &remote, &gpu->target_key, gpu->eps)) {
        return -1;
    }
    remote.rkey        = gpu->counters.region.rkey;
    remote.remote_addr = gpu->counters.region.remote;
    return device_list_read(&gpu->node, &remote, &gpu->counters_key,
                            gpu->eps);
}

/* Endpoints beside the first, to the same peer, and what kernels have of them. */
static int eps_open(gpu_t *gpu)
{
    device_elem_t   elem  = {.field_mask = DEVICE_ELEM_RKEY |
                                           DEVICE_ELEM_REMOTE_ADDR |
                                           DEVICE_ELEM_EP,
                             .remote_addr = gpu->target.region.remote};
    ucp_ep_params_t param = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS};
    ucp_address_t  *mine;
    device_key_t    key;
    void           *address, *rkey, *packed;
    size_t          length;
    unsigned        i;

    if ((ucp_worker_get_address(gpu->node.worker, &mine, &length) != UCS_OK) ||
        node_swap(&gpu->node, mine, length, &address, &length) ||
        (ucp_rkey_pack(gpu->node.ctx, gpu->target.region.memh, &packed,
                       &length) != UCS_OK) ||
        node_swap(&gpu->node, packed, length, &rkey, &length)) {
        return fails(gpu, "no address or key of the peer");
    }
    ucp_worker_release_address(gpu->node.worker, mine);
    ucp_rkey_buffer_release(packed);
    param.address = address;
    for (i = 1; i < gpu->ep_count; ++i) {
        watchdog_kick("endpoint %u", i);
        if ((ucp_ep_create(gpu->node.worker, &param, &elem.ep) != UCS_OK) ||
            (ucp_ep_rkey_unpack(elem.ep, rkey, &elem.rkey) != UCS_OK) ||
            device_list_read(&gpu->node, &elem, &key, &gpu->eps[i])) {
            return fails(gpu, "one endpoint more cannot be had");
        }
        gpu->more[i] = elem.ep;
        ucp_rkey_destroy(elem.rkey);
    }
    free(address);
    free(rkey);
    for (i = 0; i < 100 * gpu->ep_count; ++i) { /* most of them connect */
        node_progress(&gpu->node);
    }
    return node_barrier(&gpu->node);
}

static int device_open(gpu_t *gpu)
{
    size_t size = gpu->blocks * gpu->slots * gpu->slot;
    ucp_mem_map_params_t map = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
                      UCP_MEM_MAP_PARAM_FIELD_LENGTH,
        .length     = size
    };

    gpu->source = gpu_malloc(size);
    map.address = gpu->source;
    if ((gpu->source == NULL) ||
        (ucp_mem_map(gpu->node.ctx, &map, &gpu->source_memh) != UCS_OK)) {
        return fails(gpu, "no source");
    }
    if (shared_open(gpu, &gpu->target, size, gpu->memory[0] == 'd') ||
        shared_open(gpu, &gpu->counters, 2 * gpu->blocks * sizeof(uint64_t),
                    gpu->memory[1] == 'd') ||
        lists_open(gpu) || ((gpu->ep_count > 1) && eps_open(gpu))) {
        return fails(gpu, "no memory that the peer writes");
    }
    return node_barrier(&gpu->node);
}

static int blocks_run(gpu_t *gpu)
{
    uint64_t full = 0, sum, last = 0;
    unsigned i;

    if (gpu->idle) {
        usleep(1000000);
    }
    for (i = 0; i < gpu->blocks; ++i) {
        gpu->block[i].gpu = gpu;
        gpu->block[i].id  = i;
        ++gpu->running;
        if (pthread_create(&gpu->block[i].thread, NULL, block_main,
                           &gpu->block[i]) != 0) {
            return fails(gpu, "no thread");
        }
    }
    do {
        if (gpu->still) {
            usleep(1000);
        } else {
            node_progress(&gpu->node);
        }
        for (sum = 0, i = 0; i < gpu->blocks; ++i) {
            sum += __atomic_load_n(&gpu->block[i].checked, __ATOMIC_RELAXED);
        }
        if (sum != last) {
            if (gpu->die && (sum >= 10 * gpu->blocks)) {
                (void)raise(SIGKILL);
            }
            last = sum;
            watchdog_kick("%lu rounds checked", (unsigned long)sum);
        }
    } while (gpu->running > 0);
    for (i = 0; i < gpu->blocks; ++i) {
        pthread_join(gpu->block[i].thread, NULL);
        full += gpu->block[i].full;
    }
    if (gpu->broken) {
        (void)node_ep_close(&gpu->node, UCP_EP_CLOSE_FLAG_FORCE);
        printf("ok survived\n");
        return gpu->failed ? -1 : 0;
    }
    printf("ok %lu rounds of %u blocks, rings were full %lu times\n",
           (unsigned long)gpu->rounds, gpu->blocks, (unsigned long)full);
    return gpu->failed ? -1 : node_barrier(&gpu->node);
}

static void on_error(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    gpu_t *gpu = arg;

    (void)ep;
    printf("the endpoint failed: %s\n", ucs_status_string(status));
    gpu->broken = 1;
}

static const char device_usage[] =
    "usage: ucp_device [--client] [OPTIONS]\n"
    "  --port N [23456]  --device N [0]  --seed N [1]  --timeout S [60]\n"
    "  --memory AB    where puts and counters go, h or d [dd]\n"
    "  --hostile      kernels write descriptors of no use, too\n"
    "  --die          is killed in the midst\n"
    "  --killed       goes on until the other one is killed, and survives\n"
    "  --idle         does nothing for a second, first\n"
    "  --still        the host makes no progress while kernels run\n"
    "  --blocks N [8]    --rounds N [100]   of each block\n"
    "  --eps N [1]    endpoints to the peer, which rounds take in turn\n"
    "  --slots N [4]     --slot BYTES [65536]   --puts N [8] at most a round\n";

int main(int argc, char **argv)
{
    static gpu_t gpu     = {.memory = "dd", .blocks = 8, .slots = 4,
                            .slot = 65536, .rounds = 100, .seed = 1,
                            .puts = 8, .ep_count = 1};
    unsigned i;
    node_params_t params = {.port = 23456, .timeout = 60,
                            .features = FEATURE_DEVICE};
    const arg_t args[]   = {
        ARG_FLAG("client", params.client),
        ARG_NUMBER("port", params.port, 1, 65535),
        ARG_NUMBER("device", gpu.device, 0, 63),
        ARG_TEXT("memory", gpu.memory),
        ARG_FLAG("still", gpu.still),
        ARG_FLAG("idle", gpu.idle),
        ARG_FLAG("killed", gpu.killed),
        ARG_FLAG("peer-err", params.peer_err),
        ARG_FLAG("die", gpu.die),
        ARG_FLAG("hostile", gpu.hostile),
        ARG_NUMBER("blocks", gpu.blocks, 1, BLOCKS_MAX),
        ARG_NUMBER("rounds", gpu.rounds, 1, 1000000),
        ARG_NUMBER("slots", gpu.slots, 1, 1024),
        ARG_NUMBER("slot", gpu.slot, 1, 1 << 30),
        ARG_NUMBER("puts", gpu.puts, 1, 64),
        ARG_NUMBER("eps", gpu.ep_count, 1, 100000),
        ARG_NUMBER("seed", gpu.seed, 0, UINT64_MAX),
        ARG_NUMBER("timeout", params.timeout, 1, 3600),
        {.name = NULL}
    };

    arg_parse(argc, argv, device_usage, args);
    gpu.eps  = calloc(gpu.ep_count, sizeof(*gpu.eps));
    gpu.more = calloc(gpu.ep_count, sizeof(*gpu.more));
    if (gpu.killed) {
        gpu.rounds      = 1u << 30;
        params.peer_err = 1;
        params.err_cb   = on_error;
        params.err_arg  = &gpu;
    }
    if (gpu_open(gpu.device) || node_open(&gpu.node, &params) ||
        device_open(&gpu) || blocks_run(&gpu)) {
        return 1;
    }
    if (gpu.broken) {
        ucp_rkey_destroy(gpu.target.region.rkey);
        ucp_rkey_destroy(gpu.counters.region.rkey);
        (void)ucp_mem_unmap(gpu.node.ctx, gpu.target.region.memh);
        (void)ucp_mem_unmap(gpu.node.ctx, gpu.counters.region.memh);
        (void)ucp_mem_unmap(gpu.node.ctx, gpu.source_memh);
        ucp_worker_destroy(gpu.node.worker);
        ucp_cleanup(gpu.node.ctx);
        return 0;
    }
    if (node_region_close(&gpu.node, &gpu.target.region) ||
        node_region_close(&gpu.node, &gpu.counters.region) ||
        (ucp_mem_unmap(gpu.node.ctx, gpu.source_memh) != UCS_OK)) {
        return 1;
    }
    for (i = 1; i < gpu.ep_count; ++i) {
        (void)ucp_ep_close_nb(gpu.more[i], UCP_EP_CLOSE_MODE_FLUSH);
    }
    return node_close(&gpu.node) ? 1 : 0;
}
