/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Time: back-off after receiver-not-ready; the tick of hand.c; on UD time-outs
 * and how long closed receiving flows stay.
 *
 * A heap or a wheel would need a time per waiting object. Delays here are only
 * rnr_min * 2^level, so one batch per level will do: entries that arrive while
 * a batch waits gather for the next one. The price is a delay between one and
 * two times the nominal; on SRD the wait of the first in a batch is random, so
 * that senders which one receiver refused together do not return together.
 *
 * An entry that starts to wait where the time is not known ("later") makes the
 * timer due at once; the wait begins when it runs.
 */
#include "flow/ctl_priv.h"
#include "flow/fifo_priv.h"
#include "flow/timer_priv.h"

flow_time_t flow_timer_delay(const flow_core_t *core, unsigned level)
{
    return core->params.rnr_min << level;
}

/* The last level up to this one whose delay is within rnr_max. */
static unsigned flow_timer_level(const flow_core_t *core, unsigned level)
{
    while ((level > 0) &&
           (flow_timer_delay(core, level) > core->params.rnr_max)) {
        --level;
    }
    return level;
}

/*
 * A receiver that thousands begin to send to at once has a full queue for as
 * long as it takes to get to know them, and an empty one afterwards. A sender
 * that comes back late then is the last; so the delays grow slowly at first,
 * while the others have work for the receiver; one that sleeps is asked seldom
 * from the sixteenth on.
 */
unsigned flow_timer_fresh_level(unsigned refusals)
{
    static const uint8_t levels[FLOW_LEVELS] = {0, 1, 2, 2, 2, 3, 3, 3,
                                                3, 3, 4, 4, 4, 4, 6, 11};

    return levels[refusals];
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
    *due             = when;
    core->only_ticks = core->only_ticks && (due == &core->tick_due);
    if (when < core->timer_next) {
        core->timer_next = when;
    }
}

/* The batch of a level, whose wait starts if none runs. It is for a new object
 * if it began now, else that gathers for the next one. */
static flow_batch_t *flow_timer_arm(flow_core_t *core, unsigned level,
                                    flow_time_t now)
{
    flow_batch_t *batch;
    flow_time_t   delay;

    level = flow_timer_level(core, level);
    batch = &core->batch[level];
    delay = flow_timer_delay(core, level);
    if (batch->due == FLOW_TIME_NEVER) {
        if (!flow_is_ud(core)) { /* those refused together must disperse */
            delay += (delay * flow_timer_random(core)) >> 16;
        }
        batch->from = now;
        flow_timer_start(core, &batch->due, now + delay);
    }
    return batch;
}

/* The same without a time: always for the next wait. */
static flow_batch_t *flow_timer_later(flow_core_t *core, unsigned level)
{
    flow_batch_t *batch = &core->batch[flow_timer_level(core, level)];

    if (batch->due == FLOW_TIME_NEVER) {
        batch->from = 0;
        flow_timer_start(core, &batch->due, 0);
    }
    return batch;
}

void flow_timer_tx(flow_core_t *core, uint32_t index, unsigned level,
                   flow_time_t now)
{
    flow_batch_t *batch = flow_timer_arm(core, level, now);

    flow_core_tx(core, index)->ctl |= FLOW_CTL_TX_LISTS;
    flow_fifo_tx_ctl_push(core,
                          (batch->from == now) ? &batch->tx_wait :
                                                 &batch->tx_gather,
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
    flow_batch_t *batch = flow_timer_arm(core, level, now);

    flow_fifo_rx_ctl_push(core,
                          (batch->from == now) ? &batch->rx_wait :
                                                 &batch->rx_gather,
                          index);
}

void flow_timer_op(flow_core_t *core, flow_op_t *op, unsigned level,
                   flow_time_t now)
{
    flow_batch_t *batch = flow_timer_arm(core, level, now);
    flow_op_t   **head  = (batch->from == now) ? &batch->op_wait :
                                                 &batch->op_gather;

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
