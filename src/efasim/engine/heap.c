/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The requests that wait for a time, in a binary heap with the earliest on top.
 * A request that ends before its time leaves a stale entry behind. A full heap
 * is first cleared of stale entries; it grows only if at least half of its
 * entries remain.
 */
#include "op.h"
#include "pages.h"

#include <string.h>

enum { HEAP_LEAST = 1024 };

static int heap_is_before(const struct sim_wait *a, const struct sim_wait *b)
{
    return (a->due < b->due) || ((a->due == b->due) && (a->number < b->number));
}

/* Put `wait` where entry `at` is free, or further down. */
static void heap_sink(struct sim_dev *dev, uint32_t at, struct sim_wait wait)
{
    uint32_t child;

    while ((child = 2 * at + 1) < dev->heap_num) {
        child += (child + 1 < dev->heap_num) &&
                 heap_is_before(&dev->heap[child + 1], &dev->heap[child]);
        if (!heap_is_before(&dev->heap[child], &wait)) {
            break;
        }
        dev->heap[at] = dev->heap[child];
        at            = child;
    }
    dev->heap[at] = wait;
}

static void heap_rise(struct sim_dev *dev, uint32_t at, struct sim_wait wait)
{
    uint32_t parent;

    for (; at > 0; at = parent) {
        parent = (at - 1) / 2;
        if (!heap_is_before(&wait, &dev->heap[parent])) {
            break;
        }
        dev->heap[at] = dev->heap[parent];
    }
    dev->heap[at] = wait;
}

/* Drop the stale entries. */
static void heap_sweep(struct sim_dev *dev)
{
    uint32_t i, kept = 0;

    for (i = 0; i < dev->heap_num; ++i) {
        if (dev->heap[i].op->wait == dev->heap[i].number) {
            dev->heap[kept++] = dev->heap[i];
        }
    }
    dev->heap_num = kept;
    for (i = kept / 2; i-- > 0;) {
        heap_sink(dev, i, dev->heap[i]);
    }
}

static int heap_grow(struct sim_dev *dev)
{
    uint32_t room = dev->heap_room ? 2 * dev->heap_room : HEAP_LEAST;
    struct sim_wait *grown;

    heap_sweep(dev);
    if (dev->heap_num < dev->heap_room / 2) {
        return 0;
    }
    grown = sim_pages_alloc(room * sizeof(*grown));
    if (grown == NULL) {
        return (dev->heap_num < dev->heap_room) ? 0 : -1;
    }

    if (dev->heap_num > 0) {
        memcpy(grown, dev->heap, dev->heap_num * sizeof(*grown));
    }
    sim_pages_free(dev->heap, dev->heap_room * sizeof(*grown));
    dev->heap      = grown;
    dev->heap_room = room;
    return 0;
}

int sim_heap_add(struct sim_op *op)
{
    struct sim_dev *dev = op->qp->dev;
    struct sim_wait wait;

    op->wait = 0;
    if ((dev->heap_num == dev->heap_room) && (heap_grow(dev) != 0)) {
        return -1;
    }

    op->wait = ++dev->heap_number;
    wait     = (struct sim_wait){ .due    = op->due,
                                  .number = op->wait,
                                  .op     = op };
    heap_rise(dev, dev->heap_num++, wait);
    return 0;
}

struct sim_op *sim_heap_take(struct sim_dev *dev)
{
    struct sim_wait top;

    while (dev->heap_num > 0) {
        top = dev->heap[0];
        if ((top.op->wait == top.number) && (top.due > dev->now)) {
            return NULL;
        }
        --dev->heap_num;
        if (dev->heap_num > 0) {
            heap_sink(dev, 0, dev->heap[dev->heap_num]);
        }
        if (top.op->wait == top.number) {
            top.op->wait = 0;
            return top.op;
        }
    }
    return NULL;
}

void sim_heap_cleanup(struct sim_dev *dev)
{
    sim_pages_free(dev->heap, dev->heap_room * sizeof(*dev->heap));
    dev->heap     = NULL;
    dev->heap_num = dev->heap_room = 0;
}
