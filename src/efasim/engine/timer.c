/*
 * What happens by time alone: held packets and completions are let go,
 * receivers not ready are tried again, silent peers are looked at. The list
 * is not sorted: `timed_next` says when a look at it can be of use.
 */
#include "engine.h"

static void timer_fire(struct sim_op *op)
{
    struct sim_dev *dev = op->qp->dev;

    list_del(&op->link);
    if (op->overtake != 0) {
        op->overtake = 0;
        --dev->overtaking;
    }

    switch (op->state) {
    case SIM_OP_HELD:
    case SIM_OP_RNR:
        sim_tx_send(op);
        break;
    case SIM_OP_DONE:
    case SIM_OP_LOST:
    default:
        sim_op_finish(op);
        break;
    }
}

static int timer_is_due(const struct sim_dev *dev, const struct sim_op *op)
{
    uint64_t passed = (op->state == SIM_OP_DONE) ? dev->completions :
                                                   dev->requests;

    return (op->due <= dev->now) ||
           ((op->overtake != 0) &&
            ((op->overtake <= passed) || (dev->quiet >= SIM_QUIET)));
}

/* Let go what as many as it may have overtaken: at each request, however many a
 * doorbell announces, so that the order does not hang on when we look. */
unsigned sim_timer_overtaken(struct sim_dev *dev)
{
    struct sim_list due, *link, *next;
    unsigned fired = 0;
    struct sim_op *op;

    list_init(&due);
    dev->timed_next = UINT64_MAX;
    for (link = dev->timed.next; link != &dev->timed; link = next) {
        next = link->next;
        op   = list_entry(link, struct sim_op, link);
        if (timer_is_due(dev, op)) {
            list_del(link);
            list_add_tail(&due, link);
        } else if (op->due < dev->timed_next) {
            dev->timed_next = op->due;
        }
    }

    while (!list_is_empty(&due)) {
        timer_fire(list_entry(due.next, struct sim_op, link));
        ++fired;
    }

    return fired;
}

static void timer_peers(struct sim_dev *dev)
{
    struct sim_list *link, *next;

    dev->check_next = dev->now + SIM_CHECK_NS;
    for (link = dev->peers.next; link != &dev->peers; link = next) {
        next = link->next;
        sim_peer_check(dev, list_entry(link, struct sim_peer, link));
    }
}

unsigned sim_timer_run(struct sim_dev *dev)
{
    unsigned done = 0;

    if (!list_is_empty(&dev->timed) &&
        ((dev->timed_next <= dev->now) || (dev->overtaking > 0))) {
        done += sim_timer_overtaken(dev);
    }
    if (dev->check_next <= dev->now) {
        timer_peers(dev);
    }

    return done;
}
