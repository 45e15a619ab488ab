/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Grants: how many packets each sender may have on the way to us.
 *
 * Credits follow traffic. A flow is active or calm. Credits of an active flow
 * are counted in full against the receive buffers, and active flows share those
 * alike. A calm one, which sends a little or nothing, holds up to
 * FLOW_CALM_WINDOW credits, or FLOW_CALM_EARNED while it keeps on sending.
 * They are hardly counted: of a thousand calm flows few send at any moment. And
 * they last for many packets, so that a flow which trickles costs no rate and
 * few limits. Where all flows could have a full window, all are active.
 *
 * From calm to active: a flow that consumes more than that between two visits
 * of the hand (hand.c), or one that consumes while the receive queue was not
 * empty for a while: then calm flows fill it. From active to calm: the hand
 * finds that it did not use its credits, or that active ones get fewer.
 *
 * Credits lent to calm flows at a time are bounded, too, or a thousand flows
 * that wake together would have sent theirs before the queue is drained:
 * core->lent counts them until the queue was seen empty. Then they are
 * consumed, or were not needed at once.
 *
 * Credits of a flow that fell silent come back without its help: the recall.
 * That is a limit for the sender only, and a soft one: a limit once advertised
 * stays valid here for ever, so a packet on its way is never wrong, and nothing
 * needs an epoch.
 *   - rx->limit was advertised and is accepted. flow_rx_use is the part of it
 *     that the sender should use: less, from a recall until grants pass it.
 *   - A sender obeys a recall to N only while it has sent less than N. Nothing
 *     is granted, and nothing recalled to less, before all packets before N
 *     came; so a recall that comes late finds N sent, and changes nothing.
 *     Hence no limit is marked as a recall once more was granted (rx->used).
 *   - A silent flow keeps its share of the buffers, and one credit at least:
 *     a message of some packets after a silence, as after a computation, need
 *     not wait for a limit, and if all wake at once there is room for them.
 *   - A limit from before the recall that arrives after it makes the sender
 *     better off than we think: its packets say so, and it is counted again.
 *     The other error, to think that a sender may send that may not, would be a
 *     deadlock. Hence: we never take it to have more than it has.
 *
 * A flow with no credit left waits in a line, first come first served; its
 * sender need not ask. Where there is less than FLOW_WAKE_WINDOW for each, each
 * gets that in its turn: with one credit at a time there is a limit for each
 * packet, and a receiver that is busy is so twice.
 *
 * DESIGN.md decision 18 has the rejected ways.
 *
 * core->owed are the credits of active flows that are out. Consumed packets are
 * taken off it only at look_low, so it is over-, never underestimated.
 */
#include "flow/ctl_priv.h"
#include "flow/due_priv.h"
#include "flow/fifo_priv.h"
#include "flow/grant_priv.h"
#include "flow/lap_priv.h"
#include "flow/room_priv.h"
#include "flow/rx_priv.h"
#include "flow/rx_record_priv.h"
#include "flow/timer_priv.h"
#include "flow/trace_priv.h"
#include "flow/tx.h"

int flow_grant_is_short(const flow_core_t *core)
{
    return flow_grant_is_short_of(core, flow_grant_capacity(core));
}

int flow_grant_is_tight(const flow_core_t *core)
{
    return core->active * FLOW_CALM_WINDOW > flow_grant_capacity(core);
}

int flow_grant_idle_window(const flow_core_t *core)
{
    int64_t share = flow_grant_usable(core) / core->granted;
    int most      = flow_grant_calm_most(core, FLOW_CALM_WINDOW);

    most = (share > most) ? most : (int)share;
    return (most > FLOW_IDLE_WINDOW) ? most : FLOW_IDLE_WINDOW;
}

/* More buffers would help. */
static void flow_grant_scarce(flow_core_t *core)
{
    if (core->scarce_at != core->params.rx_posted) {
        core->scarce_at = core->params.rx_posted;
        flow_due_scarce(core);
    }
}

/* Was nothing granted since a recall, and is something left of what it left? */
static int flow_grant_is_recalled(const flow_rx_t *rx)
{
    return (rx->flags & FLOW_RXF_RECALLED) && !rx->used &&
           (flow_grant_credits_left(rx) != 0);
}

/* No limit is a recall from now on, unless the last one may still be obeyed. */
static void flow_grant_used(flow_rx_t *rx)
{
    if (!flow_grant_is_recalled(rx)) {
        rx->used = 1;
    }
}

/* The window of an active flow; 0: nothing for now. */
static int flow_grant_window_active(flow_core_t *core, const flow_rx_t *rx,
                                    int64_t capacity)
{
    int64_t share = capacity / (core->active ? core->active : 1);
    int least     = flow_grant_least(core, capacity);

    if (share >= core->params.grant) {
        return core->params.grant;
    }
    if (flow_grant_is_short_of(core, capacity)) {
        flow_timer_tick(core);
    }
    if (share < FLOW_SCARCE_WINDOW) {
        flow_grant_scarce(core);
    }
    if (share > least) {
        return (int)share;
    }
    return (flow_grant_credits_left(rx) == 0) ? least : 0; /* in its turn */
}

/* The same for a calm one. */
static int flow_grant_window_calm(const flow_core_t *core, const flow_rx_t *rx,
                                  int64_t capacity)
{
    int64_t room = flow_grant_room_calm(core, capacity);
    int least;

    if ((core->starved.head == 0) && (core->lent * 2 <= room)) {
        /* one that wakes wants few; who sends on gets by with fewer limits */
        return flow_grant_calm_most(core, (rx->flags & FLOW_RXF_EARNED) ?
                                                  FLOW_CALM_EARNED :
                                                  FLOW_CALM_WINDOW);
    }
    if (flow_grant_credits_left(rx) != 0) {
        return 0;
    }
    least = flow_grant_least(core, capacity);
    if ((core->starved.head != 0) || (room < 2 * least)) {
        return least;
    }
    /* flows that were given as much at once would come back at once */
    return flow_grant_calm_most(core,
                                least + (int)flow_rx_index(rx) % least);
}

/* The headers that carry the flow's limit say the present one. */
static void flow_grant_limit_to_pair(flow_core_t *core, flow_rx_t *rx)
{
    flow_tx_t *tx;

    if (rx->flags & FLOW_RXF_CARRIED) {
        tx      = flow_core_tx(core, rx->pair);
        tx->hdr = flow_wire_set_limit(tx->hdr, flow_rx_use(rx));
        flow_rx_limit_raised(rx, tx);
    }
}

/* The sender shows by its packets that it knew a limit of at least psn. */
static void flow_grant_limit_known(flow_core_t *core, flow_rx_t *rx,
                                   flow_psn_t psn)
{
    flow_rx_advertised_set(rx, psn);
    flow_grant_limit_to_pair(core, rx);
}

/*
 * Packets that were consumed since the last time are owed no more. A sender
 * that sent more than it should had more credits; how many of them are left is
 * not known.
 */
void flow_grant_owed_sync(flow_core_t *core, flow_rx_t *rx)
{
    flow_psn_t psn = flow_rx_psn(rx);
    flow_psn_t use = flow_rx_use(rx);

    if (rx->flags & FLOW_RXF_ACTIVE) {
        core->owed -= flow_psn_diff(flow_psn_min(psn, use),
                                    flow_rx_counted(rx));
        rx->counted_low = (uint8_t)psn;
    }
    if (flow_psn_lt(use, psn)) {
        flow_grant_limit_known(core, rx, psn);
    }
}

/* From calm to active: the sender's remaining credits count.
 * flow_grant_owed_sync stands before. */
static void flow_grant_flow_activate(flow_core_t *core, flow_rx_t *rx)
{
    if (!(rx->flags & FLOW_RXF_ACTIVE)) {
        rx->counted_low = (uint8_t)flow_psn_min(flow_rx_psn(rx),
                                                flow_rx_use(rx));
        core->owed += flow_psn_diff(flow_rx_use(rx), flow_rx_counted(rx));
        rx->flags  |= FLOW_RXF_ACTIVE;
        ++core->active;
        flow_grant_owed_sync(core, rx);
    }
}

void flow_grant_flow_calm(flow_core_t *core, flow_rx_t *rx)
{
    if (rx->flags & FLOW_RXF_ACTIVE) {
        core->owed -= flow_psn_diff(flow_rx_use(rx), flow_rx_counted(rx));
        --core->active;
        rx->flags &= ~(unsigned)FLOW_RXF_ACTIVE;
        rx->flags |= FLOW_RXF_MOVED;
        flow_grant_used(rx);
        rx->counted_low = (uint8_t)flow_rx_psn(rx);
    }
}

/* Choose the consumed number at which to look again. */
void flow_grant_next_look(flow_rx_t *rx)
{
    flow_psn_t psn = flow_rx_psn(rx);
    int rest       = flow_grant_credits_left(rx);
    int carried    = (rx->flags & FLOW_RXF_CARRIED) != 0;
    int step       = rest / 2;
    int last;

    if (rx->flags & FLOW_RXF_ACTIVE) {
        step = carried ? step / 2 : step;
    } else if (!carried) {
        step = rest - FLOW_CALM_LOW;
    }
    if (rx->limit == psn) {
        rx->expect |= FLOW_RX_SHUT; /* the short way does not know the limit */
    }
    last = flow_psn_diff(flow_rx_advertised(rx), psn);
    if ((flow_rx_advertised(rx) != rx->limit) && (last > 0) && (step > last)) {
        step = last; /* look before the sender runs out */
    }
    if (rx->flags & FLOW_RXF_FINAL) {
        last = flow_psn_diff(flow_rx_final(rx), psn);
        step = (step > last) ? last : step;
    }
    if (step < 1) {
        step = 1;
    }
    rx->look_low = (uint8_t)(psn + (flow_psn_t)step);
}

/* The flow is CARRIED, but the pair has sent nothing since its limit was last
 * raised. */
static int flow_grant_pair_is_silent(const flow_core_t *core,
                                     const flow_rx_t *rx)
{
    return (uint8_t)flow_tx_psn(flow_core_tx(core, rx->pair)) == rx->raised_low;
}

/* The pair is silent: a limit goes alone, when a quarter of the one before is
 * left, and nothing is due sooner. Before the pair sends it comes to
 * flow_grant_pair_sends, as at the end of its window. */
static void flow_grant_next_look_alone(flow_core_t *core, flow_rx_t *rx)
{
    flow_tx_t *tx  = flow_core_tx(core, rx->pair);
    flow_psn_t psn = flow_rx_psn(rx);
    int rest       = flow_grant_credits_left(rx);
    int last       = (rx->ctl & FLOW_CTL_RX_LIMIT) ?
                             rest :
                             flow_psn_diff(flow_rx_advertised(rx), psn);

    if ((last > rest / 4) &&
        !(rx->flags & (FLOW_RXF_FINAL | FLOW_RXF_RECALLED))) {
        rx->look_low = (uint8_t)(psn + (flow_psn_t)(last - rest / 4));
        if (tx->paused == 0) {
            tx->stop = flow_tx_psn(tx);
        }
    }
}

/* Note if a header of the pair has carried the present limit. */
static void flow_grant_limit_carried(flow_core_t *core, flow_rx_t *rx)
{
    if ((rx->flags & FLOW_RXF_CARRIED) && !(rx->flags & FLOW_RXF_RECALLED) &&
        !flow_grant_pair_is_silent(core, rx)) {
        flow_rx_advertised_set(rx, rx->limit);
    }
}

/* Send a limit packet if no header carried the limit and it may soon be
 * needed. */
static void flow_grant_limit_send(flow_core_t *core, flow_rx_t *rx)
{
    int left;

    flow_grant_limit_carried(core, rx);
    left = flow_psn_diff(flow_rx_advertised(rx), flow_rx_psn(rx));
    if (!(rx->flags & FLOW_RXF_RECALLED) &&
        (flow_rx_advertised(rx) != rx->limit) &&
        (!(rx->flags & FLOW_RXF_CARRIED) ||
         (left <= flow_grant_credits_left(rx) / 4))) {
        flow_due_rx_ctl(core, rx, FLOW_CTL_RX_LIMIT);
    }
}

/* Let the sender use more, and see to it that it learns of it. */
static void flow_grant_credits_add(flow_core_t *core, flow_rx_t *rx, int more)
{
    flow_psn_t use = flow_rx_use(rx) + (flow_psn_t)more;

    flow_grant_limit_carried(core, rx);
    *((rx->flags & FLOW_RXF_ACTIVE) ? &core->owed : &core->lent) += more;
    rx->used = 1;
    /* a header with the limit of before the recall is no news to the sender */
    if ((rx->flags & FLOW_RXF_RECALLED) && !flow_psn_lt(rx->limit, use)) {
        flow_rx_advertised_set(rx, use);
        flow_due_rx_ctl(core, rx, FLOW_CTL_RX_LIMIT);
    } else {
        rx->flags &= ~(unsigned)FLOW_RXF_RECALLED; /* it has all of it */
        rx->limit  = use;
    }
    flow_trace(core, FLOW_TRACE_GRANT, rx->ep, use, rx->flags);
    flow_grant_limit_to_pair(core, rx);
    flow_grant_limit_send(core, rx);
}

/* Bring the flow to the window that it may have, or as near to it as there is
 * room. Credits given in turns are not given in parts, unless nothing is out.
 * Nonzero: it got some, and the limit is on its way or need not be yet. */
static int flow_grant_window_raise(flow_core_t *core, flow_rx_t *rx)
{
    int64_t capacity = flow_grant_capacity(core);
    int active       = (rx->flags & FLOW_RXF_ACTIVE) != 0;
    int window       = active ? flow_grant_window_active(core, rx, capacity) :
                                flow_grant_window_calm(core, rx, capacity);
    int64_t room     = active ? flow_grant_room(core, capacity) :
                                flow_grant_room_calm(core, capacity);
    int more         = window - flow_grant_credits_left(rx);

    if (more > room) {
        flow_timer_tick(core);
        flow_grant_scarce(core);
        more = ((window <= flow_grant_least(core, capacity)) &&
                (core->owed + core->lent != 0)) ? 0 : (int)room;
    }
    if ((more <= 0) || flow_grant_is_recalled(rx) ||
        !flow_lap_may_raise(core, rx, flow_rx_use(rx) + (flow_psn_t)more)) {
        return 0;
    }
    flow_grant_credits_add(core, rx, more);
    return 1;
}

/* The queue has not been empty for a while. */
static int flow_grant_is_backlogged(const flow_core_t *core)
{
    return core->backlog_ticks >= FLOW_BACKLOG_TICKS;
}

/* Give freed credits to flows that have none, first come first served; a flow
 * that waits for old limits to arrive lets the others pass. */
void flow_grant_starved_serve(flow_core_t *core)
{
    uint32_t left = core->starved.count;
    flow_rx_t *rx;

    while ((left-- != 0) && (core->starved.head != 0)) {
        rx = flow_core_rx(core, core->starved.head);
        if (rx->state == FLOW_RX_ACTIVE) {
            flow_grant_owed_sync(core, rx);
            if (flow_grant_is_backlogged(core)) {
                flow_grant_flow_activate(core, rx);
            } else if (flow_grant_is_short(core)) {
                flow_grant_flow_calm(core, rx);
            }
            (void)flow_grant_window_raise(core, rx);
            if (flow_grant_credits_left(rx) == 0) {
                if (!flow_lap_holds(core, rx)) {
                    return;
                }
                flow_fifo_rx_starved_push(
                        core, &core->starved,
                        flow_fifo_rx_starved_pop(core, &core->starved));
                continue;
            }
            flow_grant_next_look(rx);
        }
        flow_fifo_rx_starved_pop(core, &core->starved);
        rx->lists &= ~(unsigned)FLOW_LIST_STARVED;
        flow_rx_try_release(core, rx);
    }
}

static void flow_grant_starved_add(flow_core_t *core, flow_rx_t *rx)
{
    if (!(rx->lists & FLOW_LIST_STARVED)) {
        ++core->counters.starved;
        flow_trace(core, FLOW_TRACE_STARVED, rx->ep, rx->limit, 0);
        rx->lists |= FLOW_LIST_STARVED;
        flow_fifo_rx_starved_push(core, &core->starved, flow_rx_index(rx));
        flow_timer_tick(core);
    }
}

/*
 * The usual case, all of it in one function: there is enough for all flows,
 * none waits, this one is active and its credits were not recalled. 1: it has
 * its whole window again, as flow_grant_flow_used would have given it. 0:
 * nothing was done.
 */
static int flow_grant_flow_used_plain(flow_core_t *core, flow_rx_t *rx)
{
    int64_t capacity = flow_grant_capacity(core);
    int used         = flow_psn_diff(flow_rx_psn(rx), flow_rx_counted(rx));
    int more         = core->params.grant -
                       flow_psn_diff(rx->limit, flow_rx_psn(rx));

    if (((rx->flags & (FLOW_RXF_ACTIVE | FLOW_RXF_RECALLED)) !=
         FLOW_RXF_ACTIVE) ||
        (core->starved.head != 0) || (more <= 0) ||
        ((int64_t)core->granted * core->params.grant > capacity) ||
        (core->owed - used + more > capacity) ||
        !flow_lap_may_raise(core, rx, rx->limit + (flow_psn_t)more)) {
        return 0;
    }

    core->owed     += more - used;
    rx->counted_low = (uint8_t)flow_rx_psn(rx);
    rx->used        = 1;
    flow_grant_limit_carried(core, rx);
    rx->limit += (flow_psn_t)more;
    flow_trace(core, FLOW_TRACE_GRANT, rx->ep, rx->limit, rx->flags);
    if (!(rx->flags & FLOW_RXF_CARRIED)) {
        flow_due_rx_ctl(core, rx, FLOW_CTL_RX_LIMIT);
    } else {
        flow_grant_limit_to_pair(core, rx);
        flow_grant_limit_send(core, rx);
    }
    flow_grant_next_look(rx);
    return 1;
}

/* The same in all other cases. */
static void flow_grant_flow_used_any(flow_core_t *core, flow_rx_t *rx)
{
    uint8_t used = (uint8_t)((uint8_t)flow_rx_psn(rx) - rx->counted_low);

    flow_grant_owed_sync(core, rx);
    if (!flow_grant_is_short(core) || flow_grant_is_backlogged(core)) {
        flow_grant_flow_activate(core, rx);
    } else if (core->tick_due == FLOW_TIME_NEVER) { /* no hand, no interval */
        rx->counted_low = (uint8_t)flow_rx_psn(rx);
        flow_timer_tick(core);
    } else if (used >= flow_grant_calm_most(core, FLOW_CALM_WINDOW) +
                               FLOW_CALM_LOW) { /* between two visits */
        flow_grant_flow_activate(core, rx);
    } else if ((used >= FLOW_WAKE_WINDOW) &&
               !flow_grant_is_short_of(core, 4 * flow_grant_capacity(core))) {
        flow_grant_scarce(core); /* some more have a window for each */
    }
    if (!flow_grant_window_raise(core, rx)) {
        flow_grant_limit_send(core, rx);
    }
    flow_grant_used(rx);
    if (flow_grant_credits_left(rx) == 0) {
        flow_grant_starved_add(core, rx);
    }
    flow_grant_next_look(rx);
    flow_grant_starved_serve(core);
}

void flow_grant_flow_used(flow_core_t *core, flow_rx_t *rx)
{
    int is_silent = (rx->flags & FLOW_RXF_CARRIED) &&
                    flow_grant_pair_is_silent(core, rx);

    if (!flow_grant_flow_used_plain(core, rx)) {
        flow_grant_flow_used_any(core, rx);
    }
    if (is_silent) {
        flow_grant_next_look_alone(core, rx);
    }
}

void flow_grant_pair_sends(flow_core_t *core, const flow_tx_t *tx)
{
    flow_rx_t *rx;
    int rest, used, left, due;

    if (!(tx->flags & FLOW_TXF_CARRIES)) {
        return;
    }
    rx   = flow_core_rx(core, tx->carries);
    rest = flow_grant_credits_left(rx);
    used = (uint8_t)((uint8_t)flow_rx_psn(rx) - rx->counted_low);
    left = (uint8_t)(rx->look_low - flow_rx_psn(rx));
    due  = rest / ((rx->flags & FLOW_RXF_ACTIVE) ? 4 : 2) + FLOW_CALM_LOW;
    /* none, as it may grant, between a recall and the next packet */
    if ((rx->state == FLOW_RX_ACTIVE) && !(rx->flags & FLOW_RXF_FINAL) &&
        ((used > rest / 3) || (left > due))) {
        flow_grant_flow_used_any(core, rx);
    }
}

void flow_grant_flow_open(flow_core_t *core, flow_rx_t *rx)
{
    flow_rx_advertised_set(rx, rx->limit);
    rx->flags     |= FLOW_RXF_GRANTED | FLOW_RXF_EARNED;
    ++core->granted;
    rx->counted_low = (uint8_t)flow_rx_psn(rx);
    if ((core->active != 0) && flow_grant_is_short(core)) {
        flow_timer_tick(core); /* an active one may have fallen silent */
    }
    if ((flow_rx_psn(rx) != core->params.first_psn) || /* as a stranger */
        (flow_grant_room(core, flow_grant_capacity(core)) >=
         (int64_t)core->params.grant * 2)) {
        flow_grant_flow_used(core, rx);
    } else {
        flow_grant_next_look(rx);
    }
}

void flow_grant_flow_close(flow_core_t *core, flow_rx_t *rx)
{
    flow_grant_flow_calm(core, rx);
    if (rx->flags & FLOW_RXF_GRANTED) {
        --core->granted;
        rx->flags &= ~(unsigned)(FLOW_RXF_GRANTED | FLOW_RXF_EARNED |
                                 FLOW_RXF_MOVED);
    }
    flow_grant_starved_serve(core);
}

void flow_grant_limit_asked(flow_core_t *core, flow_rx_t *rx, flow_psn_t limit)
{
    if (flow_psn_lt(limit, flow_rx_use(rx))) {
        flow_due_rx_ctl(core, rx, FLOW_CTL_RX_LIMIT); /* again */
    } else if (flow_psn_lt(flow_rx_use(rx), limit) &&
               !flow_psn_lt(rx->limit, limit)) {
        /* it has sent all up to this limit */
        flow_grant_owed_sync(core, rx);
        flow_grant_flow_activate(core, rx);
        core->owed += flow_psn_diff(limit, flow_rx_use(rx));
        flow_grant_limit_known(core, rx, limit);
        flow_grant_flow_used(core, rx);
    }
}

void flow_grant_recall(flow_core_t *core, flow_rx_t *rx)
{
    flow_psn_t psn = flow_rx_psn(rx);
    int keep;

    flow_grant_owed_sync(core, rx);
    flow_grant_flow_calm(core, rx);
    keep = flow_grant_idle_window(core);
    if ((flow_grant_credits_left(rx) > keep) && !flow_grant_is_recalled(rx)) {
        flow_rx_advertised_set(rx, psn + (flow_psn_t)keep);
        rx->flags     |= FLOW_RXF_RECALLED;
        rx->used       = 0;
        ++core->counters.recalls;
        flow_trace(core, FLOW_TRACE_RECALL, rx->ep, psn, rx->limit);
        flow_grant_limit_to_pair(core, rx);
        flow_due_rx_ctl(core, rx, FLOW_CTL_RX_LIMIT);
    }
    flow_grant_next_look(rx);
}
