/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events of time alone: packets and completions that were held back go on,
 * receivers that were not ready are tried again, silent peers are checked.
 * Requests that wait for a time are in a heap; those that others are to
 * overtake, which are few, in a list.
 */
#include "steps.h"
#include "op.h"

static void timer_fire(struct sim_op *op)
{
    struct sim_dev *dev = op->qp->dev;

    list_del(&op->link);
    if (op->overtake != 0) {
        op->overtake = 0;
        --dev->overtaking;
    }

    switch (op->state) {
    case SIM_OP_DELAYED:
        sim_send_depart(op);
        break;
    case SIM_OP_HELD:
    case SIM_OP_RNR:
        sim_send(op);
        break;
    case SIM_OP_ANSWERED:
        sim_complete(op, op->status);
        break;
    case SIM_OP_LOST:
        sim_path_repeat(op);
        sim_complete_now(op);
        break;
    case SIM_OP_DONE:
    default:
        sim_complete_now(op);
        break;
    }
}

static int timer_is_due(const struct sim_dev *dev, const struct sim_op *op)
{
    uint64_t passed = (op->state == SIM_OP_DONE) ? dev->completions :
                                                   dev->departures;

    return (op->due <= dev->now) ||
           ((op->overtake != 0) &&
            ((op->overtake <= passed) || (dev->quiet >= SIM_QUIET)));
}

/* Move due entries in front of `before`, in the order of the list. */
static void timer_collect(struct sim_dev *dev, struct sim_list *before)
{
    struct sim_list *link, *next;
    struct sim_op *op;

    for (link = dev->held.next; link != &dev->held; link = next) {
        next = link->next;
        op   = list_entry(link, struct sim_op, link);
        if (timer_is_due(dev, op)) {
            list_del(link);
            list_add_tail(before, link);
        }
    }
}

/* Called at each departure, not once for a group of them (of one doorbell, or
 * with the same end of their delay), so that the order does not depend on when
 * the device works. */
unsigned sim_timer_overtaken(struct sim_dev *dev)
{
    unsigned fired = 0;
    struct sim_list due;
    uint64_t departures;

    list_init(&due);
    timer_collect(dev, &due);
    while (!list_is_empty(&due)) {
        departures = dev->departures;
        timer_fire(list_entry(due.next, struct sim_op, link));
        ++fired;
        if ((dev->departures != departures) && (dev->overtaking > 0)) {
            timer_collect(dev, due.next);
        }
    }

    return fired;
}

static unsigned timer_heap(struct sim_dev *dev)
{
    unsigned fired = 0;
    struct sim_op *op;

    while ((fired < SIM_TIMERS) && ((op = sim_heap_take(dev)) != NULL)) {
        timer_fire(op);
        ++fired;
        fired += (dev->overtaking > 0) ? sim_timer_overtaken(dev) : 0;
    }
    return fired;
}

static void timer_peers(struct sim_dev *dev)
{
    struct sim_list *link, *next;

    dev->check_next = dev->now + SIM_CHECK_NS;
    for (link = dev->peers.next; link != &dev->peers; link = next) {
        next = link->next;
        sim_poll_check(dev, list_entry(link, struct sim_peer, link));
    }
}

unsigned sim_timer_run(struct sim_dev *dev)
{
    unsigned done = (dev->heap_num > 0) ? timer_heap(dev) : 0;

    if (!list_is_empty(&dev->held)) {
        done += sim_timer_overtaken(dev);
    }
    if (dev->check_next <= dev->now) {
        timer_peers(dev);
    }

    return done;
}
