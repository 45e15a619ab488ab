/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Grants: how many packets each sender may have on the way to us.
 *
 * Credits follow traffic. A flow is active or away. Active flows share what the
 * receive buffers allow, and their credits are counted. A flow that is away
 * holds FLOW_IDLE_WINDOW credits that are hardly counted: thousands of them
 * seldom wake at once, and when they do, receiver-not-ready is the backstop,
 * which a sender answers by a window of what it has out (tx.c). A flow starts
 * away, with its initial window, unless there is room for two full ones. A
 * packet makes it active: it gets its share, or, where credits are short,
 * FLOW_WAKE_WINDOW first and its share as it uses that.
 *
 * What a flow that fell silent holds comes back without its help. As long as
 * somebody got less than it could use, a hand goes round the flows at every
 * tick of the timer, as in the CLOCK algorithm of page replacement: a flow that
 * consumed nothing since it came by last is away from now on, whether or not
 * its sender ever hears of it. If it does, it keeps to what it has left: the
 * recall. That is a limit for the sender only, and a soft one: a limit once
 * advertised stays valid here for ever, so a packet on its way is never wrong,
 * and nothing needs an epoch.
 *   - rx->limit is what was advertised and is accepted. What the sender should
 *     use of it is flow_rx_use: less, from a recall until grants pass it.
 *   - A sender obeys a recall to N only while it has sent less than N. N is the
 *     next number here plus one, and more is granted only after a packet came;
 *     so a recall that comes late finds N sent, and changes nothing.
 *   - A limit from before the recall that arrives after it makes the sender
 *     better off than we think: its packets say so, and it is counted again.
 *     The other error, to think that a sender may send that may not, would be a
 *     deadlock. Hence: what we take it to have never exceeds what it has.
 *
 * A flow with no credit left waits in a line, first come first served; its
 * sender need not ask. Most of them have nothing to send: then the share they
 * get in their turn is taken back by the hand.
 *
 * docs/RATE.md has the measurements, and what was rejected: shares of all the
 * flows, idle ones included; senders that ask (their requests met no buffers);
 * leases; discounts by age; recalls with epochs.
 *
 * core->owed are the credits that are out. Consumed packets are taken off it
 * only at look_low, so it is over-, never underestimated.
 */
#include "flow/ctl_priv.h"
#include "flow/due_priv.h"
#include "flow/fifo_priv.h"
#include "flow/grant_priv.h"
#include "flow/rx_priv.h"
#include "flow/rx_record_priv.h"
#include "flow/timer_priv.h"
#include "flow/trace_priv.h"
#include "flow/tx.h"

/* Credits for all active flows together. */
static int64_t flow_grant_capacity(const flow_core_t *core)
{
    int64_t usable = (int64_t)core->params.rx_posted -
                     (int64_t)core->params.rx_reserve;
    int64_t idle   = (int64_t)(core->granted - core->active) *
                     FLOW_IDLE_WINDOW;

    usable = (usable < 2) ? 2 : usable;
    idle   = (idle < usable / 4) ? usable / 4 : idle;
    idle   = (idle > usable / 2) ? usable / 2 : idle;
    return usable - idle;
}

static int64_t flow_grant_room(const flow_core_t *core)
{
    return flow_grant_capacity(core) - core->owed;
}

/* Some flow could use more than there is: the hand begins to go round. */
static void flow_grant_credits_short(flow_core_t *core)
{
    core->contended = 1;
    flow_timer_tick(core);
}

/* The window of each active flow. */
static int flow_grant_share(flow_core_t *core)
{
    int64_t share = flow_grant_capacity(core) /
                    (core->active ? core->active : 1);

    if (share >= core->params.grant) {
        return core->params.grant;
    }
    flow_grant_credits_short(core);
    if ((share < FLOW_SCARCE_WINDOW) &&
        (core->scarce_at != core->params.rx_posted)) {
        core->scarce_at = core->params.rx_posted;
        flow_due_scarce(core);
    }
    return (share < 1) ? 1 : (int)share;
}

/* Credits that the sender has left. */
static int flow_grant_credits_left(const flow_rx_t *rx)
{
    return flow_psn_diff(flow_rx_use(rx), flow_rx_psn(rx));
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
    rx->advertised_low = psn & 0x7f;
    flow_grant_limit_to_pair(core, rx);
}

/*
 * What was consumed since the last time is owed no more. A sender that sent
 * more than it should had more; how much of it is left is not known.
 */
static void flow_grant_owed_sync(flow_core_t *core, flow_rx_t *rx)
{
    flow_psn_t psn = flow_rx_psn(rx);
    flow_psn_t use = flow_rx_use(rx);

    core->owed -= flow_psn_diff(flow_psn_min(psn, use), flow_rx_counted(rx));
    rx->used   |= psn != flow_rx_counted(rx);
    rx->counted_low = (uint8_t)psn;
    if (flow_psn_lt(use, psn)) {
        flow_grant_limit_known(core, rx, psn);
    }
}

/* From away to active: what the sender has left counts. */
static void flow_grant_flow_activate(flow_core_t *core, flow_rx_t *rx)
{
    if (!(rx->flags & FLOW_RXF_ACTIVE)) {
        rx->counted_low = (uint8_t)flow_psn_min(flow_rx_psn(rx),
                                                flow_rx_use(rx));
        core->owed += flow_psn_diff(flow_rx_use(rx), flow_rx_counted(rx));
        rx->flags  |= FLOW_RXF_ACTIVE;
        rx->used    = 1;
        ++core->active;
    }
    flow_grant_owed_sync(core, rx);
}

/* Choose the consumed number at which to look again. */
void flow_grant_next_look(flow_rx_t *rx)
{
    flow_psn_t psn = flow_rx_psn(rx);
    int rest       = flow_grant_credits_left(rx);
    int step       = rest / ((rx->flags & FLOW_RXF_CARRIED) ? 4 : 2);
    int last;

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
    if ((step < 1) || !(rx->flags & FLOW_RXF_ACTIVE)) {
        step = 1;
    }
    rx->look_low = (uint8_t)(psn + (flow_psn_t)step);
}

/* Note if a header of the pair has carried the present limit. */
static void flow_grant_limit_carried(flow_core_t *core, flow_rx_t *rx)
{
    if ((rx->flags & FLOW_RXF_CARRIED) && !(rx->flags & FLOW_RXF_RECALLED) &&
        ((uint8_t)flow_tx_psn(flow_core_tx(core, rx->pair)) !=
         rx->raised_low)) {
        rx->advertised_low = rx->limit & 0x7f;
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
    core->owed += more;
    if ((rx->flags & FLOW_RXF_RECALLED) && flow_psn_lt(use, rx->limit)) {
        rx->advertised_low = use & 0x7f;
        flow_due_rx_ctl(core, rx, FLOW_CTL_RX_LIMIT);
    } else {
        rx->flags &= ~(unsigned)FLOW_RXF_RECALLED; /* it has all of it */
        rx->limit  = use;
    }
    flow_trace(core, FLOW_TRACE_GRANT, rx->ep, use, rx->flags);
    flow_grant_limit_to_pair(core, rx);
    flow_grant_limit_send(core, rx);
}

/* Bring the flow to this window, or as near to it as there is room. */
static void flow_grant_window_raise(flow_core_t *core, flow_rx_t *rx,
                                    int window)
{
    int64_t room = flow_grant_room(core);
    int more     = window - flow_grant_credits_left(rx);

    if (more > room) {
        flow_grant_credits_short(core);
    }
    more = (more > room) ? (int)room : more;
    if (more > 0) {
        flow_grant_credits_add(core, rx, more);
    }
}

/* Give what came free to those who have nothing, first come first served. */
void flow_grant_starved_serve(flow_core_t *core)
{
    flow_rx_t *rx;

    while (core->starved.head != 0) {
        rx = flow_core_rx(core, core->starved.head);
        if ((rx->state == FLOW_RX_ACTIVE) && (flow_grant_room(core) <= 0)) {
            return;
        }
        flow_fifo_rx_starved_pop(core, &core->starved);
        rx->lists &= ~(unsigned)FLOW_LIST_STARVED;
        if (rx->state == FLOW_RX_ACTIVE) {
            flow_grant_window_raise(core, rx, flow_grant_share(core));
            rx->used = flow_grant_credits_left(rx) > FLOW_IDLE_WINDOW;
            flow_grant_next_look(rx);
        }
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
    }
}

void flow_grant_flow_used(flow_core_t *core, flow_rx_t *rx)
{
    int woken = !(rx->flags & FLOW_RXF_ACTIVE);
    int window;

    flow_grant_flow_activate(core, rx);
    window = flow_grant_share(core);
    if (woken && (window > FLOW_WAKE_WINDOW) && core->contended) {
        window = FLOW_WAKE_WINDOW;
    }
    flow_grant_window_raise(core, rx, window);
    if (flow_grant_credits_left(rx) == 0) {
        flow_grant_starved_add(core, rx);
    }
    flow_grant_limit_send(core, rx);
    flow_grant_next_look(rx);
    flow_grant_starved_serve(core);
}

void flow_grant_flow_open(flow_core_t *core, flow_rx_t *rx)
{
    rx->advertised_low = rx->limit & 0x7f;
    rx->flags     |= FLOW_RXF_GRANTED;
    ++core->granted;
    if ((flow_rx_psn(rx) != core->params.first_psn) || /* as a stranger */
        (flow_grant_room(core) >= (int64_t)core->params.grant * 2)) {
        flow_grant_flow_used(core, rx);
    } else {
        flow_grant_next_look(rx);
    }
}

void flow_grant_flow_close(flow_core_t *core, flow_rx_t *rx)
{
    if (rx->flags & FLOW_RXF_ACTIVE) {
        core->owed -= flow_psn_diff(flow_rx_use(rx), flow_rx_counted(rx));
        --core->active;
    }
    if (rx->flags & FLOW_RXF_GRANTED) {
        --core->granted;
    }
    rx->flags &= ~(unsigned)(FLOW_RXF_ACTIVE | FLOW_RXF_GRANTED);
    flow_grant_starved_serve(core);
}

void flow_grant_limit_asked(flow_core_t *core, flow_rx_t *rx, flow_psn_t limit)
{
    if (flow_psn_lt(limit, flow_rx_use(rx))) {
        flow_due_rx_ctl(core, rx, FLOW_CTL_RX_LIMIT); /* again */
    } else if (flow_psn_lt(flow_rx_use(rx), limit) &&
               !flow_psn_lt(rx->limit, limit)) {
        /* it has sent all up to this limit */
        flow_grant_flow_activate(core, rx);
        core->owed += flow_psn_diff(limit, flow_rx_use(rx));
        flow_grant_limit_known(core, rx, limit);
        flow_grant_flow_used(core, rx);
    }
}

int flow_grant_may_recall(const flow_rx_t *rx)
{
    return (rx->flags & FLOW_RXF_ACTIVE) && (rx->lists == 0) &&
           !(rx->flags & FLOW_RXF_FINAL);
}

void flow_grant_recall(flow_core_t *core, flow_rx_t *rx)
{
    flow_psn_t psn = flow_rx_psn(rx);
    int rest;

    flow_grant_owed_sync(core, rx);
    rest        = flow_grant_credits_left(rx);
    core->owed -= rest;
    --core->active;
    rx->flags &= ~(unsigned)FLOW_RXF_ACTIVE;
    if (rest > FLOW_IDLE_WINDOW) {
        rx->advertised_low = (psn + FLOW_IDLE_WINDOW) & 0x7f;
        rx->flags     |= FLOW_RXF_RECALLED;
        ++core->counters.recalls;
        flow_trace(core, FLOW_TRACE_RECALL, rx->ep, psn, rx->limit);
        flow_grant_limit_to_pair(core, rx);
        flow_due_rx_ctl(core, rx, FLOW_CTL_RX_LIMIT);
    }
    flow_grant_next_look(rx);
}

int flow_grant_hand_round(flow_core_t *core)
{
    uint32_t looks = core->rx_count - 1; /* index 0 is none */
    flow_rx_t *rx;

    looks           = (looks < FLOW_HAND_LOOKS) ? looks : FLOW_HAND_LOOKS;
    core->contended = 0;
    for (; looks != 0; --looks) {
        core->hand = (core->hand + 1 < core->rx_count) ? core->hand + 1 : 1;
        rx         = flow_core_rx(core, core->hand);
        if (flow_grant_may_recall(rx)) {
            flow_grant_owed_sync(core, rx);
            if (!rx->used) {
                flow_grant_recall(core, rx);
            }
            rx->used = 0;
        }
    }
    flow_grant_starved_serve(core);
    return core->contended || (core->starved.head != 0);
}
