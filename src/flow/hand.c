/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hand goes round the receiving flows, as in the CLOCK algorithm of page
 * replacement, and sees which of them use their grants.
 *
 * An active flow that neither came to look_low since the last visit nor used a
 * quarter of a whole window is calm from now on, whether or not its sender ever
 * hears of it; so is one that came there, where active flows get less than calm
 * ones and nothing waits. If it did not move at all and holds more credits than
 * a calm one may, they are recalled. A calm flow that did not move for some
 * rounds keeps its share of the buffers, and the other credits are recalled;
 * but only once for FLOW_RECALL_EVERY packets of it, since a recall and its
 * consequences cost a few packets: else a sender of one packet each 10 ms would
 * cause as many control packets.
 *
 * Nothing can be said of a flow whose packets may lie in the receive queue.
 * Hence no round begins while the caller says at each tick that it has not come
 * to the end of that queue, up to FLOW_HELD_TICKS. Without this rule an
 * incast takes its senders for silent, and grants their credits a second time.
 *
 * The hand stops when for FLOW_QUIET_ROUNDS nothing moved, as all that may be
 * recalled was then, and when there is enough for all.
 */
#include "flow/grant_priv.h"
#include "flow/hand_priv.h"
#include "flow/rx_priv.h"

/* Does this number of packets make the flow's next recall worth its cost? Where
 * that begins anew differs from flow to flow. */
static int flow_hand_earns(const flow_rx_t *rx, unsigned moved)
{
    unsigned psn = flow_rx_psn(rx) + flow_rx_index(rx) * 37;

    return (psn & (FLOW_RECALL_EVERY - 1)) < moved;
}

/* Do packets or flows wait, or have active flows no less than calm ones? */
static int flow_hand_is_pressed(const flow_core_t *core)
{
    return (core->backlog_ticks != 0) || (core->starved.head != 0) ||
           !flow_grant_is_tight(core);
}

static void flow_hand_visit_active(flow_core_t *core, flow_rx_t *rx,
                                   unsigned moved)
{
    rx->flags |= FLOW_RXF_EARNED; /* it used a lot to become so */
    core->moved = 1;
    if ((moved >= core->params.grant / 4) ||
        (rx->used && flow_hand_is_pressed(core))) {
        rx->used = 0;
        return;
    }
    flow_grant_flow_calm(core, rx);
    if ((moved == 0) && (flow_psn_diff(flow_rx_use(rx), flow_rx_psn(rx)) >
                         FLOW_CALM_WINDOW)) {
        flow_grant_recall(core, rx);
    } else {
        flow_grant_next_look(rx);
    }
}

static void flow_hand_visit_calm(flow_core_t *core, flow_rx_t *rx,
                                 unsigned moved)
{
    if (moved != 0) {
        rx->counted_low = (uint8_t)flow_rx_psn(rx);
        core->moved     = 1;
        rx->flags      |= FLOW_RXF_MOVED;
        if (!(rx->flags & FLOW_RXF_EARNED) && flow_hand_earns(rx, moved)) {
            rx->flags |= FLOW_RXF_EARNED;
        }
    }
    if (core->round % FLOW_RECALL_ROUNDS != 0) {
        return;
    }
    if (rx->flags & FLOW_RXF_MOVED) {
        rx->flags &= ~(unsigned)FLOW_RXF_MOVED;
    } else if (flow_psn_diff(flow_rx_use(rx), flow_rx_psn(rx)) <=
               flow_grant_idle_window(core)) {
        rx->used = 0; /* as after a recall */
    } else if (rx->flags & FLOW_RXF_EARNED) {
        rx->flags &= ~(unsigned)FLOW_RXF_EARNED;
        flow_grant_recall(core, rx);
    }
}

int flow_hand_may_recall(const flow_rx_t *rx)
{
    return (rx->flags & FLOW_RXF_GRANTED) && (rx->lists == 0) &&
           !(rx->flags & FLOW_RXF_FINAL);
}

static void flow_hand_visit(flow_core_t *core, flow_rx_t *rx)
{
    unsigned moved = (uint8_t)((uint8_t)flow_rx_psn(rx) - rx->counted_low);

    if (!flow_hand_may_recall(rx)) {
        return;
    }
    if (rx->flags & (FLOW_RXF_ACTIVE | FLOW_RXF_RECALLED)) {
        flow_grant_owed_sync(core, rx); /* else it changes nothing */
    }
    if (rx->flags & FLOW_RXF_ACTIVE) {
        flow_hand_visit_active(core, rx, moved);
    } else {
        flow_hand_visit_calm(core, rx, moved);
    }
}

/* Visit the next flows. All of a thousand at each tick would cost their
 * messages more than their limits do. */
static void flow_hand_move(flow_core_t *core)
{
    unsigned looks = core->rx_count / 2;

    looks = (looks < FLOW_HAND_LOOKS_MIN) ? FLOW_HAND_LOOKS_MIN : looks;
    looks = (looks > FLOW_HAND_LOOKS_MAX) ? FLOW_HAND_LOOKS_MAX : looks;
    while ((looks-- != 0) && (++core->hand < core->rx_count)) {
        flow_hand_visit(core, flow_core_rx(core, core->hand));
    }
    if (core->hand >= core->rx_count) {
        core->quiet = core->moved ? 0 : core->quiet + 1;
        core->moved = 0;
        core->hand  = 0;
        ++core->round;
    }
}

/* Is it too early to judge? */
static int flow_hand_holds(flow_core_t *core)
{
    ++core->ticks;
    return (core->ticks % FLOW_HAND_TICKS != 0) ||
           ((core->hand == 0) && (core->ticks < FLOW_HELD_TICKS) &&
            (core->backlog_ticks >= FLOW_BACKLOG_TICKS));
}

int flow_hand_tick(flow_core_t *core)
{
    core->backlog_ticks = core->backlog ? core->backlog_ticks + 1 : 0;
    ++core->lent_ticks;
    if (!core->backlog || (core->lent_ticks >= FLOW_LENT_TICKS)) {
        core->lent       = 0;
        core->lent_ticks = 0;
    }
    if (!flow_hand_holds(core)) {
        core->ticks = 0;
        flow_hand_move(core);
    }
    flow_grant_starved_serve(core);
    if ((core->starved.head != 0) || ((core->quiet < FLOW_QUIET_ROUNDS) &&
                                      flow_grant_is_short(core))) {
        return 1;
    }
    core->hand       = 0;
    core->moved      = 0;
    core->ticks      = 0;
    core->quiet      = 0;
    core->round      = 0;
    core->lent       = 0; /* nobody would see the queue empty */
    core->lent_ticks = 0;
    return 0;
}
