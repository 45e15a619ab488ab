/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Time: back-off after receiver-not-ready; the tick of grant.c; on UD time-outs
 * and how long closed receiving flows stay.
 *
 * A heap or a wheel would need a time per waiting object. Delays here are only
 * rnr_min * 2^level, so one batch per level will do: whatever arrives while a
 * batch waits gathers for the next one. The price is a delay between one and
 * two times the nominal; on SRD the wait of the first in a batch is random, so
 * that senders which one receiver refused together do not return together.
 *
 * What starts to wait where the time is not known ("later") makes the timer
 * due at once; the wait begins when it runs.
 */
#include "flow/ctl_priv.h"
#include "flow/fifo_priv.h"
#include "flow/grant_priv.h"
#include "flow/resend_priv.h"
#include "flow/rx_priv.h"
#include "flow/timer_priv.h"
#include "flow/turn_priv.h"

static flow_time_t flow_timer_delay(const flow_core_t *core, unsigned level)
{
    return core->params.rnr_min << level;
}

unsigned flow_timer_level_next(const flow_core_t *core, unsigned level)
{
    if ((level + 1 < FLOW_LEVELS) &&
        (flow_timer_delay(core, level + 1) <= core->params.rnr_max)) {
        return level + 1;
    }
    return level;
}

/* 0 .. 2^16 - 1, other numbers in each core. */
static unsigned flow_timer_random(flow_core_t *core)
{
    core->random = core->random * 6364136223846793005ull + 1;
    return (unsigned)(core->random >> 48);
}

static void flow_timer_start(flow_core_t *core, flow_time_t *due,
                             flow_time_t when)
{
    *due = when;
    if (when < core->timer_next) {
        core->timer_next = when;
    }
}

/* Start the wait of a level if none runs; where does a new object belong? */
static int flow_timer_arm(flow_core_t *core, unsigned level, flow_time_t now)
{
    flow_batch_t *batch = &core->batch[level];
    flow_time_t delay   = flow_timer_delay(core, level);

    if (batch->due == FLOW_TIME_NEVER) {
        if (!flow_is_ud(core)) { /* those refused together must disperse */
            delay += (delay * flow_timer_random(core)) >> 16;
        }
        batch->from = now;
        flow_timer_start(core, &batch->due, now + delay);
    }
    return batch->from == now;
}

/* The same without a time: always for the next wait. */
static flow_batch_t *flow_timer_later(flow_core_t *core, unsigned level)
{
    flow_batch_t *batch = &core->batch[level];

    if (batch->due == FLOW_TIME_NEVER) {
        batch->from = 0;
        flow_timer_start(core, &batch->due, 0);
    }
    return batch;
}

void flow_timer_tx(flow_core_t *core, uint32_t index, unsigned level,
                   flow_time_t now)
{
    int first = flow_timer_arm(core, level, now);

    flow_core_tx(core, index)->ctl |= FLOW_CTL_TX_LISTS;
    flow_fifo_tx_ctl_push(core,
                          first ? &core->batch[level].tx_wait :
                                  &core->batch[level].tx_gather,
                          index);
}

void flow_timer_tx_later(flow_core_t *core, uint32_t index, unsigned level)
{
    flow_core_tx(core, index)->ctl |= FLOW_CTL_TX_LISTS;
    flow_fifo_tx_ctl_push(core, &flow_timer_later(core, level)->tx_gather,
                          index);
}

void flow_timer_rx(flow_core_t *core, uint32_t index, unsigned level,
                   flow_time_t now)
{
    int first = flow_timer_arm(core, level, now);

    flow_fifo_rx_ctl_push(core,
                          first ? &core->batch[level].rx_wait :
                                  &core->batch[level].rx_gather,
                          index);
}

void flow_timer_ring(flow_core_t *core, uint32_t ring, unsigned level,
                     flow_time_t now)
{
    int first = flow_timer_arm(core, level, now);

    flow_fifo_ring_push(core,
                        first ? &core->batch[level].ring_wait :
                                &core->batch[level].ring_gather,
                        ring);
}

void flow_timer_ring_later(flow_core_t *core, uint32_t ring, unsigned level)
{
    flow_fifo_ring_push(core, &flow_timer_later(core, level)->ring_gather,
                        ring);
}

void flow_timer_op(flow_core_t *core, flow_op_t *op, unsigned level,
                   flow_time_t now)
{
    int         first = flow_timer_arm(core, level, now);
    flow_op_t **head  = first ? &core->batch[level].op_wait :
                                &core->batch[level].op_gather;

    op->next = *head;
    *head    = op;
}

/* Due at once if it was not: the wait begins when the timer runs. */
void flow_timer_tick(flow_core_t *core)
{
    if (core->tick_due == FLOW_TIME_NEVER) {
        flow_timer_start(core, &core->tick_due, 0);
    }
}

void flow_timer_parted(flow_core_t *core, uint32_t index)
{
    if (core->parted_due == FLOW_TIME_NEVER) {
        flow_timer_start(core, &core->parted_due, 0);
    }
    flow_fifo_rx_starved_push(core, &core->parted_gather, index);
}

void flow_timer_gap(flow_core_t *core, uint32_t ring)
{
    if (core->gap_due == FLOW_TIME_NEVER) {
        flow_timer_start(core, &core->gap_due, 0);
    }
    flow_fifo_ring_gap_push(core, &core->gap_gather, ring);
}

/* The wait of a batch is over: make its objects due. */
static void flow_timer_release(flow_core_t *core, flow_batch_t *over,
                               flow_time_t now)
{
    flow_op_t *op;
    uint32_t index;

    while ((index = flow_fifo_tx_ctl_pop(core, &over->tx_wait)) != 0) {
        flow_core_tx(core, index)->ctl &= ~(unsigned)FLOW_CTL_TX_TIMED;
        flow_turn_add_tx(core, flow_core_tx(core, index));
    }
    while ((index = flow_fifo_rx_ctl_pop(core, &over->rx_wait)) != 0) {
        flow_turn_add_rx(core, flow_core_rx(core, index));
    }
    while ((op = over->op_wait) != NULL) {
        over->op_wait = op->next;
        flow_fifo_op_push(&core->repost, op);
    }
    while ((index = flow_fifo_ring_pop(core, &over->ring_wait)) != 0) {
        flow_resend_expired(core, index, now);
    }
}

/* What gathered begins to wait. Is there anything? */
static int flow_batch_turn(flow_batch_t *batch)
{
    static const flow_fifo_t none = {0, 0, 0};

    batch->tx_wait     = batch->tx_gather;
    batch->rx_wait     = batch->rx_gather;
    batch->ring_wait   = batch->ring_gather;
    batch->op_wait     = batch->op_gather;
    batch->tx_gather   = none;
    batch->rx_gather   = none;
    batch->ring_gather = none;
    batch->op_gather   = NULL;
    return ((batch->tx_wait.head | batch->rx_wait.head |
             batch->ring_wait.head) != 0) || (batch->op_wait != NULL);
}

/* One level is due. What it makes wait again joins the turn that begins. */
static void flow_timer_expire(flow_core_t *core, unsigned level,
                              flow_time_t now)
{
    flow_batch_t *batch = &core->batch[level];
    flow_batch_t over   = *batch;

    batch->from = now;
    batch->due  = flow_batch_turn(batch) ?
                          now + flow_timer_delay(core, level) :
                          FLOW_TIME_NEVER;
    flow_timer_release(core, &over, now);
}

static void flow_timer_expire_parted(flow_core_t *core, flow_time_t now)
{
    uint32_t index;
    flow_rx_t *rx;

    while ((index = flow_fifo_rx_starved_pop(core, &core->parted_wait)) != 0) {
        rx         = flow_core_rx(core, index);
        rx->lists &= ~(unsigned)FLOW_LIST_PARTED;
        flow_rx_close(core, rx);
        flow_rx_try_release(core, rx);
    }
    core->parted_wait   = core->parted_gather;
    core->parted_gather = (flow_fifo_t){0, 0, 0};
    core->parted_due    = (core->parted_wait.head == 0) ?
                                  FLOW_TIME_NEVER :
                                  now + flow_timer_delay(core, FLOW_PART_LEVEL);
}

static void flow_timer_expire_gap(flow_core_t *core, flow_time_t now)
{
    flow_fifo_t over = core->gap_wait;
    uint32_t index;

    core->gap_wait   = core->gap_gather;
    core->gap_gather = (flow_fifo_t){0, 0, 0};
    while ((index = flow_fifo_ring_gap_pop(core, &over)) != 0) {
        if (flow_resend_gap_over(core, index)) {
            flow_fifo_ring_gap_push(core, &core->gap_wait, index);
        }
    }
    core->gap_due = (core->gap_wait.head == 0) ? FLOW_TIME_NEVER :
                                                 now + core->params.gap_delay;
}

static void flow_timer_expire_tick(flow_core_t *core, flow_time_t now)
{
    int again = (core->tick_due == 0) || flow_grant_tick(core);

    core->tick_due = again ? now + flow_timer_delay(core, FLOW_TICK_LEVEL) :
                             FLOW_TIME_NEVER;
}

void flow_timer_run(flow_core_t *core, flow_time_t now)
{
    flow_time_t next;
    unsigned level;

    if (now < core->timer_next) {
        return;
    }

    for (level = 0; level < FLOW_LEVELS; ++level) {
        if (core->batch[level].due <= now) {
            flow_timer_expire(core, level, now);
        }
    }
    if (core->parted_due <= now) {
        flow_timer_expire_parted(core, now);
    }

    if (core->tick_due <= now) {
        flow_timer_expire_tick(core, now);
    }
    if (core->gap_due <= now) {
        flow_timer_expire_gap(core, now);
    }

    next = (core->parted_due < core->tick_due) ? core->parted_due :
                                                 core->tick_due;
    next = (core->gap_due < next) ? core->gap_due : next;
    for (level = 0; level < FLOW_LEVELS; ++level) {
        next = (core->batch[level].due < next) ? core->batch[level].due : next;
    }
    core->timer_next = next;
}
