/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Back-off after receiver-not-ready.
 *
 * A heap or a wheel would need a time per waiting object. Delays here are only
 * rnr_min * 2^level, so one batch per level will do: whatever arrives while a
 * batch waits gathers for the next one. The price is a delay between one and
 * two times the nominal, which also spreads senders that failed together.
 */
#include "flow/internal.h"

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

static int flow_batch_idle(const flow_batch_t *batch)
{
    return batch->due == FLOW_TIME_NEVER;
}

/* Start the wait of a level if none runs; where does a new object belong? */
static int flow_timer_arm(flow_core_t *core, unsigned level, flow_time_t now)
{
    flow_batch_t *batch = &core->batch[level];

    if (!flow_batch_idle(batch)) {
        return 0;
    }

    batch->due = now + flow_timer_delay(core, level);
    if (batch->due < core->timer_next) {
        core->timer_next = batch->due;
    }
    return 1;
}

void flow_timer_tx(flow_core_t *core, uint32_t index, unsigned level,
                   flow_time_t now)
{
    int first = flow_timer_arm(core, level, now);

    flow_fifo_tx_ctl_push(core,
                          first ? &core->batch[level].tx_wait :
                                  &core->batch[level].tx_gather,
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

void flow_timer_op(flow_core_t *core, flow_op_t *op, unsigned level,
                   flow_time_t now)
{
    int         first = flow_timer_arm(core, level, now);
    flow_op_t **head  = first ? &core->batch[level].op_wait :
                                &core->batch[level].op_gather;

    op->next = *head;
    *head    = op;
}

/* The wait of a batch is over: make its objects due. */
static void flow_timer_release(flow_core_t *core, flow_batch_t *batch)
{
    flow_op_t *op;
    uint32_t index;

    while ((index = flow_fifo_tx_ctl_pop(core, &batch->tx_wait)) != 0) {
        flow_fifo_tx_ctl_push(core, &core->ctl_tx, index);
        ++core->ctl_pending;
    }
    while ((index = flow_fifo_rx_ctl_pop(core, &batch->rx_wait)) != 0) {
        flow_fifo_rx_ctl_push(core, &core->ctl_rx, index);
        ++core->ctl_pending;
    }
    while ((op = batch->op_wait) != NULL) {
        batch->op_wait = op->next;
        op->next       = NULL;
        if (core->repost_tail != NULL) {
            core->repost_tail->next = op;
        } else {
            core->repost_head = op;
        }
        core->repost_tail = op;
    }
}

static int flow_timer_empty(const flow_batch_t *batch)
{
    return (batch->tx_wait.head == 0) && (batch->rx_wait.head == 0) &&
           (batch->op_wait == NULL);
}

void flow_timer_run(flow_core_t *core, flow_time_t now)
{
    flow_time_t next = FLOW_TIME_NEVER;
    flow_batch_t *batch;
    unsigned level;

    if (now < core->timer_next) {
        return;
    }

    for (level = 0; level < FLOW_LEVELS; ++level) {
        batch = &core->batch[level];
        if (flow_batch_idle(batch)) {
            continue;
        }
        if (batch->due <= now) {
            flow_timer_release(core, batch);
            batch->tx_wait   = batch->tx_gather;
            batch->rx_wait   = batch->rx_gather;
            batch->op_wait   = batch->op_gather;
            batch->tx_gather = (flow_fifo_t){0, 0, 0};
            batch->rx_gather = (flow_fifo_t){0, 0, 0};
            batch->op_gather = NULL;
            batch->due       = flow_timer_empty(batch) ?
                                       FLOW_TIME_NEVER :
                                       now + flow_timer_delay(core, level);
        }
        if (batch->due < next) {
            next = batch->due;
        }
    }
    core->timer_next = next;
}
