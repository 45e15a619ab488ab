/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When the sending flows of UD want to be looked at: a heap of their rings by
 * time. Each flow waits for a time of its own (a round trip of its path, a
 * pause between two packets), so the batches of timer.c will not do.
 *
 * There are no more alarms than rings, so place i of the heap lies in ring i,
 * whosever that is: no memory but the rings'.
 */
#include "flow/alarm_priv.h"

static uint32_t flow_alarm_at(const flow_core_t *core, uint32_t place)
{
    return flow_core_ring(core, place)->unacked.heap;
}

static flow_time_t flow_alarm_due(const flow_core_t *core, uint32_t place)
{
    return flow_core_ring(core, flow_alarm_at(core, place))->unacked.due;
}

static void flow_alarm_put(flow_core_t *core, uint32_t place, uint32_t ring)
{
    flow_core_ring(core, place)->unacked.heap = ring;
    flow_core_ring(core, ring)->unacked.place = place;
}

/* Move a ring from its place towards the first until it is in order. */
static void flow_alarm_rise(flow_core_t *core, uint32_t ring)
{
    const flow_unacked_t *unacked = &flow_core_ring(core, ring)->unacked;
    uint32_t place                = unacked->place;

    while ((place > 1) && (unacked->due < flow_alarm_due(core, place / 2))) {
        flow_alarm_put(core, place, flow_alarm_at(core, place / 2));
        place /= 2;
    }
    flow_alarm_put(core, place, ring);
}

/* And away from it. */
static void flow_alarm_sink(flow_core_t *core, uint32_t ring)
{
    const flow_unacked_t *unacked = &flow_core_ring(core, ring)->unacked;
    uint32_t place                = unacked->place, next;

    while ((next = 2 * place) <= core->alarms) {
        if ((next < core->alarms) && (flow_alarm_due(core, next + 1) <
                                      flow_alarm_due(core, next))) {
            ++next;
        }
        if (unacked->due <= flow_alarm_due(core, next)) {
            break;
        }
        flow_alarm_put(core, place, flow_alarm_at(core, next));
        place = next;
    }
    flow_alarm_put(core, place, ring);
}

void flow_alarm_set(flow_core_t *core, uint32_t ring, flow_time_t due)
{
    flow_unacked_t *unacked = &flow_core_ring(core, ring)->unacked;

    unacked->due = due;
    if (unacked->place == 0) {
        flow_alarm_put(core, ++core->alarms, ring);
    }
    flow_alarm_rise(core, ring);
    flow_alarm_sink(core, ring);
    if (due < core->timer_next) {
        core->timer_next = due;
    }
}

void flow_alarm_sooner(flow_core_t *core, uint32_t ring, flow_time_t due)
{
    const flow_unacked_t *unacked = &flow_core_ring(core, ring)->unacked;

    if ((unacked->place == 0) || (due < unacked->due)) {
        flow_alarm_set(core, ring, due);
    }
}

uint32_t flow_alarm_pop(flow_core_t *core, flow_time_t now)
{
    uint32_t first, last;

    if (flow_alarm_next(core) > now) {
        return 0;
    }

    first = flow_alarm_at(core, 1);
    last  = flow_alarm_at(core, core->alarms);
    --core->alarms;
    flow_core_ring(core, first)->unacked.place = 0;
    if (last != first) {
        flow_alarm_put(core, 1, last);
        flow_alarm_sink(core, last);
    }
    return first;
}
