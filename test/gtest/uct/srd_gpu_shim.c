/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The order of srd_gpu for a C++ test, which cannot read its C11 atomics.
 * The device here completes writes in any order, one by one.
 */
#include "uct/ib/srd_gpu/srd_gpu.h"

#include <stdlib.h>

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
