/* SPDX-License-Identifier: BSD-3-Clause */
/* The timer's run: everything whose back-off is over becomes due. timer.c has
 * how it is started. */
#include "flow/alarm_priv.h"
#include "flow/ctl_priv.h"
#include "flow/fifo_priv.h"
#include "flow/hand_priv.h"
#include "flow/resend_priv.h"
#include "flow/rx_life_priv.h"
#include "flow/rx_record_priv.h"
#include "flow/time_out_priv.h"
#include "flow/timer_priv.h"
#include "flow/turn_priv.h"

/* The wait of a batch is over: make its objects due. */
static void flow_timer_release(flow_core_t *core, flow_batch_t *over)
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
}

/* The gathered entries begin to wait. Nonzero if there are some. */
static int flow_timer_batch_turn(flow_batch_t *batch)
{
    static const flow_fifo_t none = {0, 0, 0};

    batch->tx_wait     = batch->tx_gather;
    batch->rx_wait     = batch->rx_gather;
    batch->op_wait     = batch->op_gather;
    batch->tx_gather   = none;
    batch->rx_gather   = none;
    batch->op_gather   = NULL;
    return ((batch->tx_wait.head | batch->rx_wait.head) != 0) ||
           (batch->op_wait != NULL);
}

/* One level is due. Entries that it makes wait again join the turn that
 * begins. */
static void flow_timer_expire(flow_core_t *core, unsigned level,
                              flow_time_t now)
{
    flow_batch_t *batch = &core->batch[level];
    flow_batch_t over   = *batch;

    batch->from = now;
    batch->due  = flow_timer_batch_turn(batch) ?
                          now + flow_timer_delay(core, level) :
                          FLOW_TIME_NEVER;
    flow_timer_release(core, &over);
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

/* UD's first time-out is many times SRD's first back-off. */
static void flow_timer_expire_tick(flow_core_t *core, flow_time_t now)
{
    flow_time_t delay = flow_timer_delay(core, FLOW_TICK_LEVEL);
    int again = (core->tick_due == 0) || flow_hand_tick(core);

    if (flow_is_ud(core)) {
        delay = delay / FLOW_TICK_UD + 1;
    }
    core->tick_due = again ? now + delay : FLOW_TIME_NEVER;
}

void flow_timer_run(flow_core_t *core, flow_time_t now)
{
    flow_time_t next;
    unsigned level;
    uint32_t ring;

    core->now = now;
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
    while ((ring = flow_alarm_pop(core, now)) != 0) {
        flow_time_out_ring(core, ring, now);
    }

    next = (core->parted_due < flow_alarm_next(core)) ? core->parted_due :
                                                        flow_alarm_next(core);
    for (level = 0; level < FLOW_LEVELS; ++level) {
        next = (core->batch[level].due < next) ? core->batch[level].due : next;
    }
    /* what is to be posted again is due until the caller has taken it */
    next             = (core->repost.head != NULL) ? now : next;
    core->only_ticks = (next == FLOW_TIME_NEVER) && !flow_is_ud(core);
    core->timer_next = (core->tick_due < next) ? core->tick_due : next;
}
