/* SPDX-License-Identifier: BSD-3-Clause */
#include "device_blocks.h"
#include "test/apps/fill.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int gpu_fails(gpu_t *gpu, const char *what)
{
    fprintf(stderr, "FAIL: %s\n", what);
    if (gpu->episodes > 0) {
        fprintf(stderr, "this episode alone: --episodes 1 --seed %lu\n",
                (unsigned long)gpu->seed);
    }
    gpu->failed = 1;
    return -1;
}

/* ------------------------------------------------------------ a kernel */

static void kernel_do(block_t *block, const device_ep_t *ep,
                      const srd_gpu_desc_t *what)
{
    while (!device_post(ep, block->id, what, ep->id)) {
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
        .laddr  = (uintptr_t)gpu->source.data + offset,
        .raddr  = gpu->target.region.remote + offset
    };

    kernel_do(block, &block->ep->device, &what);
}

static srd_gpu_desc_t kernel_add(const gpu_t *gpu, unsigned counter)
{
    return (srd_gpu_desc_t) {
        .opcode = SRD_GPU_OP_ADD,
        .flags  = 2,
        .length = sizeof(uint64_t),
        .rkey   = gpu->counters_key.rkey,
        .raddr  = gpu->counters.region.remote + counter * sizeof(uint64_t),
        .add    = 1
    };
}

static void kernel_inc(block_t *block, const ep_t *ep, unsigned counter)
{
    const srd_gpu_desc_t what = kernel_add(block->gpu, counter);

    kernel_do(block, &ep->device, &what);
}

/* ------------------------------------------------------------ memory */

static uint64_t counter_value(gpu_t *gpu, unsigned counter)
{
    uint64_t value = 0, *at = (uint64_t*)gpu->counters.data + counter;

    if (!gpu->counters.is_device) {
        return __atomic_load_n(at, __ATOMIC_ACQUIRE);
    }
    if (gpu_memcpy(&value, at, sizeof(value))) {
        (void)gpu_fails(gpu, "a counter cannot be read");
    }
    return value;
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

/* ------------------------------------------------------------ endpoints */

static void block_leave(block_t *block)
{
    if (block->ep != NULL) {
        --block->ep->users;
        block->ep = NULL;
    }
}

/* Takes one, which its host then does not close; the first where it closes the
 * one that was meant. */
static void block_enter(block_t *block, uint64_t *rand)
{
    gpu_t *gpu = block->gpu;

    block_leave(block);
    block->ep = &gpu->eps[fill_rand(rand) % gpu->ep_count];
    ++block->ep->users;
    if (block->ep->closing) {
        --block->ep->users;
        block->ep = gpu->eps;
        ++block->ep->users;
    }
}

/* Puts and an increment by an endpoint that is closed meanwhile, or was: they
 * may come or not. The first one stays for what is to come. */
static void block_noise(block_t *block, uint64_t *rand)
{
    gpu_t         *gpu   = block->gpu;
    unsigned       count = fill_rand(rand) % 8;
    noise_t       *here  = (noise_t*)gpu->noise.data;
    noise_t       *there = (noise_t*)gpu->noise.region.remote;
    srd_gpu_desc_t what  = {.opcode = SRD_GPU_OP_WRITE,
                            .lkey   = gpu->noise_lkey.lkey,
                            .rkey   = gpu->noise_rkey.rkey,
                            .add    = 1};
    block_t        other = {.gpu = gpu};

    if (!block->is_noisy || (fill_rand(rand) % 4 == 0)) {
        block_enter(&other, rand);
        block->is_noisy = other.ep != gpu->eps;
        block->noise_ep = other.ep->device;
        block_leave(&other);
    }
    if (!block->is_noisy) {
        return;
    }
    while (count-- > 0) {
        what.length = fill_rand(rand) % NOISE_SIZE;
        what.laddr  = (uintptr_t)here->sent[block->id];
        what.raddr  = (uintptr_t)there->got[block->id];
        kernel_do(block, &block->noise_ep, &what);
    }
    what.opcode = SRD_GPU_OP_ADD;
    what.raddr  = (uintptr_t)&there->count;
    ++gpu->noises;
    kernel_do(block, &block->noise_ep, &what);
}

/* ------------------------------------------------------------ a block */

/* One round: some puts, of any sizes and in any order of places, that cover a
 * slot, and an increment. */
static int block_round(block_t *block, uint8_t *bytes, uint64_t *rand)
{
    gpu_t          *gpu    = block->gpu;
    size_t          offset = slot_offset(gpu, block->id, block->rounds);
    size_t          done   = 0, length;
    unsigned        count  = 1 + fill_rand(rand) % gpu->puts, i;
    srd_gpu_desc_t  what   = kernel_add(gpu, block->id);

    fill_bytes(bytes, gpu->slot,
               slot_key(gpu, gpu->node.client, block->id, block->rounds), 0);
    if (gpu_memcpy(gpu->source.data + offset, bytes, gpu->slot)) {
        return gpu_fails(gpu, "a source cannot be written");
    }
    for (i = 0; i < count; ++i) {
        length = fill_rand(rand) % (2 * gpu->slot / count + 1);
        if ((i + 1 == count) || (length > gpu->slot - done)) {
            length = gpu->slot - done;
        }
        if (block->ep->has_dead) { /* too early */
            (void)device_post(&block->ep->device, block->id, &what,
                              block->ep->dead);
        }
        kernel_put(block, offset + done, length);
        done += length;
    }
    kernel_inc(block, block->ep, block->id);
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
        return gpu_fails(gpu, "a counter is ahead of all rounds");
    }
    for (; block->checked < seen; ++block->checked) {
        if (gpu_memcpy(bytes,
                       gpu->target.data +
                       slot_offset(gpu, block->id, block->checked),
                       gpu->slot)) {
            return gpu_fails(gpu, "a slot cannot be read");
        }
        key  = slot_key(gpu, !gpu->node.client, block->id, block->checked);
        diff = fill_diff(bytes, gpu->slot, key, 0);
        if (diff >= 0) {
            fprintf(stderr, "block %u, round %lu of %lu: byte %td is wrong\n",
                    block->id, (unsigned long)block->checked,
                    (unsigned long)seen, diff);
            return gpu_fails(gpu, "a counter was seen before its data");
        }
        kernel_inc(block, gpu->eps, gpu->blocks + block->id);
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
        (void)device_post(&block->ep->device, block->id, &what,
                          fill_rand(rand) << 20);
        return;
    }
    kernel_do(block, &block->ep->device, &what);
}

/* The peer is gone: a kernel that does not know finds room in its ring all the
 * same. */
static void block_after(block_t *block)
{
    unsigned i;

    for (i = 0; i < 5000; ++i) {
        kernel_put(block, block->id * sizeof(uint64_t), sizeof(uint64_t));
        kernel_inc(block, block->ep, block->id);
    }
}

/* The next thing that a block does, if any; acks: rounds that are done. */
static void block_step(block_t *block, uint64_t acks, uint8_t *bytes,
                       uint64_t *rand)
{
    gpu_t *gpu = block->gpu;

    if ((block->rounds == gpu->rounds) ||
        (block->rounds - acks >= gpu->slots)) {
        return;
    }
    if (block->rounds == acks) { /* endpoints are in no order to each other */
        block_enter(block, rand);
    } else if (block->ep->closing) {
        return;
    }
    (void)block_round(block, bytes, rand);
    if (gpu->hostile) {
        block_hostile(block, rand);
    }
    if (gpu->is_noisy) {
        block_noise(block, rand);
    }
}

void *block_main(void *arg)
{
    block_t *block = arg;
    gpu_t   *gpu   = block->gpu;
    uint64_t rand  = fill_key(gpu->seed, 99, block->id), acks = 0;
    uint8_t *bytes = malloc(gpu->slot);

    if (gpu_open(gpu->device)) {
        (void)gpu_fails(gpu, "no device");
    }
    block_enter(block, &rand);
    while (!gpu->failed && !gpu->broken &&
           ((acks < gpu->rounds) || (block->checked < gpu->rounds))) {
        acks = counter_value(gpu, gpu->blocks + block->id);
        if (acks > block->rounds) {
            (void)gpu_fails(gpu, "a counter of acknowledgements is ahead");
        }
        block_step(block, acks, bytes, &rand);
        (void)block_check(block, bytes);
        if (acks == gpu->rounds) {
            block_leave(block);
        }
        sched_yield();
    }
    if (gpu->broken) {
        block_after(block);
    }
    block_leave(block);
    free(bytes);
    --gpu->running;
    return NULL;
}
