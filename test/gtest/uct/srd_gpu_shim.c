/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Order and ring of srd_gpu for a C++ test, which cannot read its C11 atomics.
 * The device here completes writes in any order, one by one.
 */
#include "uct/ib/srd_gpu/srd_gpu.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHIM_CHANNELS 3
#define SHIM_WRITES   4096
#define SHIM_ITEMS    40

/* A write, numbered as they were done. */
typedef struct shim_write {
    uct_completion_t *comp; /* NULL: complete */
    unsigned          channel;
} shim_write_t;

typedef struct shim {
    srd_gpu_iface_t *iface;
    srd_gpu_peer_t  *peer;
    uint64_t         rand;
    shim_write_t     writes[SHIM_WRITES];
    unsigned         count, open;
    uint64_t         added, arrived; /* sums of increments */
} shim_t;

const char *srd_gpu_order_seed(uint64_t seed);
const char *srd_gpu_order_peers(void);
const char *srd_gpu_ring_threads(uint64_t first, unsigned log_depth,
                                 unsigned threads, unsigned each);

static unsigned shim_random(shim_t *shim, unsigned below)
{
    shim->rand = shim->rand * 6364136223846793005ul + 1442695040888963407ul;
    return (shim->rand >> 33) % below;
}

static void shim_write(shim_t *shim)
{
    unsigned         channel = shim_random(shim, SHIM_CHANNELS);
    srd_gpu_group_t *group   = srd_gpu_order_write(shim->peer, channel);

    if ((group != NULL) && (shim->count < SHIM_WRITES)) {
        ++group->comp.count;
        shim->writes[shim->count].comp    = &group->comp;
        shim->writes[shim->count].channel = channel;
        ++shim->count;
        ++shim->open;
    }
    if (group != NULL) {
        ucx_completion_done(&group->comp, UCS_OK);
    }
}

/* An increment of one of two counters, which takes along how many writes were
 * before it. */
static void shim_add(shim_t *shim)
{
    unsigned       channel = shim_random(shim, SHIM_CHANNELS);
    srd_gpu_desc_t desc    = {.opcode = SRD_GPU_OP_ADD};

    desc.raddr = 2 * channel + shim_random(shim, 2);
    desc.laddr = shim->count;
    desc.add   = 1 + shim_random(shim, 100);
    if (srd_gpu_order_add(shim->peer, channel, &desc)) {
        shim->added += desc.add;
    }
}

static void shim_complete(shim_t *shim)
{
    unsigned          i = shim_random(shim, shim->count + 1), n;
    uct_completion_t *comp;

    for (n = 0; n < shim->count; ++n, ++i) {
        comp = shim->writes[i % shim->count].comp;
        if (comp != NULL) {
            shim->writes[i % shim->count].comp = NULL;
            --shim->open;
            ucx_completion_done(comp, UCS_OK);
            return;
        }
    }
}

/* Takes what may be sent: nothing is before it. */
static const char *shim_send(shim_t *shim)
{
    srd_gpu_item_t *item;
    unsigned        i;

    while ((item = srd_gpu_queue_take(&shim->peer->ready)) != NULL) {
        for (i = 0; i < item->desc.laddr; ++i) {
            if ((shim->writes[i].channel == item->desc.raddr / 2) &&
                (shim->writes[i].comp != NULL)) {
                return "an increment went before a write that it is behind";
            }
        }
        shim->arrived += item->desc.add;
        srd_gpu_item_put(shim->iface, item);
    }
    return NULL;
}

static const char *shim_run(shim_t *shim)
{
    const char *wrong = NULL;
    unsigned    step, spare = 0;

    for (step = 0; (step < 3000) && (wrong == NULL); ++step) {
        switch (shim_random(shim, 8)) {
        case 0: case 1: case 2:
            shim_write(shim);
            break;
        case 3: case 4:
            shim_add(shim);
            break;
        case 5:
            wrong = shim_send(shim);
            break;
        default:
            shim_complete(shim);
        }
    }
    while (shim->open > 0) {
        shim_complete(shim);
    }
    wrong = (wrong == NULL) ? shim_send(shim) : wrong;
    if ((wrong == NULL) && (shim->added != shim->arrived)) {
        wrong = "the sum of the increments is another";
    }
    for (; shim->iface->items != NULL; ++spare) {
        shim->iface->items = shim->iface->items->next;
    }
    if ((wrong == NULL) && (spare != SHIM_ITEMS)) {
        wrong = "an item is lost";
    }
    return wrong;
}

static shim_t *shim_new(uint64_t seed)
{
    static srd_gpu_item_t items[SHIM_ITEMS];
    shim_t               *shim = calloc(1, sizeof(*shim));
    unsigned              i;

    shim->rand  = seed;
    shim->iface = calloc(1, sizeof(*shim->iface));
    shim->peer  = calloc(1, sizeof(*shim->peer) +
                                    SHIM_CHANNELS * sizeof(srd_gpu_queue_t));
    shim->peer->iface      = shim->iface;
    shim->peer->ep         = (base_ep_t*)shim; /* not NULL: alive */
    shim->iface->channels  = SHIM_CHANNELS;
    for (i = 0; i < SHIM_ITEMS; ++i) {
        srd_gpu_item_put(shim->iface, &items[i]);
    }
    return shim;
}

static void shim_free(shim_t *shim)
{
    free(shim->peer);
    free(shim->iface);
    free(shim);
}

const char *srd_gpu_order_seed(uint64_t seed)
{
    shim_t     *shim  = shim_new(seed);
    const char *wrong = shim_run(shim);

    shim_free(shim);
    return wrong;
}

/* Writes to more endpoints than there are items, no increment behind them; then
 * the endpoints go. */
const char *srd_gpu_order_peers(void)
{
    shim_t         *shim = shim_new(1);
    srd_gpu_peer_t *peers[2 * SHIM_ITEMS] = {shim->peer}, *free_peer;
    srd_gpu_desc_t  add   = {.opcode = SRD_GPU_OP_ADD};
    const char     *wrong = NULL;
    unsigned        i, count = 0;

    for (i = 0; i < 2 * SHIM_ITEMS; ++i) {
        if (i > 0) {
            peers[i]  = calloc(1, sizeof(**peers) +
                                       SHIM_CHANNELS * sizeof(srd_gpu_queue_t));
            *peers[i] = *peers[0];
        }
        shim->peer = peers[i];
        shim_write(shim);
        if (shim->open == 0) {
            wrong = "complete writes keep items";
        } else {
            shim_complete(shim);
        }
    }
    shim_write(shim); /* the last peer is closed while it is under way */
    (void)srd_gpu_order_add(shim->peer, shim->writes[shim->count - 1].channel,
                            &add);
    for (i = 0; i < 2 * SHIM_ITEMS; ++i) {
        srd_gpu_order_end(peers[i]);
    }
    if (shim->iface->free_peers == shim->peer) {
        wrong = "a peer is free while a write is under way";
    }
    shim_complete(shim);
    if (shim->peer->ready.first != NULL) {
        wrong = "an increment of a closed endpoint is kept";
    }
    for (free_peer = shim->iface->free_peers;
         (free_peer != NULL) && (count <= 2 * SHIM_ITEMS);
         free_peer = free_peer->next) {
        ++count;
    }
    if ((wrong == NULL) && (count != 2 * SHIM_ITEMS)) {
        wrong = "a peer is free twice, or never";
    }
    shim->peer = peers[0];
    while (--i > 0) {
        free(peers[i]);
    }
    shim_free(shim);
    return wrong;
}

/* ------------------------------------------------------------ the ring */

typedef struct shim_ring {
    srd_gpu_ring_t ring;
    uint64_t       pi, ci;
    unsigned       each;
    uint64_t       threads;
} shim_ring_t;

static void *shim_kernel(void *arg)
{
    shim_ring_t    *shim  = arg;
    uint64_t        depth = 1ul << shim->ring.log_depth, pi;
    uint64_t        who   = __atomic_fetch_add(&shim->threads, 1,
                                               __ATOMIC_RELAXED);
    srd_gpu_desc_t *desc;
    unsigned        i;

    for (i = 0; i < shim->each; ++i) {
        pi = __atomic_load_n(&shim->pi, __ATOMIC_RELAXED);
        do {
            while (pi - __atomic_load_n(&shim->ci, __ATOMIC_ACQUIRE) >= depth) {
                sched_yield();
                pi = __atomic_load_n(&shim->pi, __ATOMIC_RELAXED);
            }
        } while (!__atomic_compare_exchange_n(&shim->pi, &pi, pi + 1, 0,
                                              __ATOMIC_RELAXED,
                                              __ATOMIC_RELAXED));
        desc        = &shim->ring.queue[pi & (depth - 1)];
        desc->laddr = who;
        desc->raddr = i;
        __atomic_store_n(&desc->owner, (pi >> shim->ring.log_depth) & 1,
                         __ATOMIC_RELEASE);
    }
    return NULL;
}

/* Threads write, each a sequence; every one is taken whole and in order. */
const char *srd_gpu_ring_threads(uint64_t first, unsigned log_depth,
                                 unsigned threads, unsigned each)
{
    size_t         size = sizeof(srd_gpu_desc_t) << log_depth;
    uint64_t       next[16] = {0}, left = (uint64_t)threads * each;
    shim_ring_t    shim = {.pi = first, .ci = first, .each = each};
    pthread_t      ids[16];
    const char    *wrong = NULL;
    srd_gpu_desc_t desc;
    unsigned       i;
    void          *queue = aligned_alloc(64, size);

    srd_gpu_ring_init(&shim.ring, queue, &shim.ci, log_depth);
    if ((first >> log_depth) & 1) { /* as if those before had been written */
        memset(queue, 0, size);
    }
    shim.ring.taken = first;
    for (i = 0; i < threads; ++i) {
        pthread_create(&ids[i], NULL, shim_kernel, &shim);
    }
    while (left > 0) {
        if (!srd_gpu_ring_peek(&shim.ring, &desc)) {
            sched_yield();
            continue;
        }
        if ((desc.laddr >= threads) || (desc.raddr != next[desc.laddr]++)) {
            wrong = "a descriptor was taken twice, or half written";
        }
        ++shim.ring.taken;
        --left;
        srd_gpu_ring_tell(&shim.ring);
    }
    for (i = 0; i < threads; ++i) {
        pthread_join(ids[i], NULL);
    }
    if (srd_gpu_ring_peek(&shim.ring, &desc)) {
        wrong = "one more than was written";
    }
    free(queue);
    return wrong;
}
