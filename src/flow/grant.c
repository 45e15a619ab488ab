/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Grants: how many packets each sender may have on the way to us.
 *
 * A limit is never taken back, so a credit given to a flow that then falls
 * silent is lost to the others. With more flows than buffers, silent flows
 * would in time hold every credit. Therefore two pots:
 *   AUTO    3/4 of the buffers, given as a flow consumes, a fair share each;
 *           the initial windows count here too, and may overdraw it.
 *   DEMAND  1/4, given only to a sender that says it is blocked, in order of
 *           asking. It spends what it gets at once, so these credits come back.
 *           At most half of what is left, divided by those who wait: what one
 *           leaves unused shrinks geometrically and never fills the pot.
 * Tried on paper and rejected: one pot (silent flows starve busy ones for
 * ever); taking limits back (a packet may already be under way).
 *
 * counted lags behind the consumed number until the next mark (grant_at), so
 * the pots are over-, never underestimated.
 */
#include "flow/internal.h"

static int64_t flow_grant_capacity(const flow_core_t *core, flow_pot_t pot)
{
    int64_t usable = (int64_t)core->params.rx_posted -
                     (int64_t)core->params.rx_reserve;
    int64_t demand;

    usable = (usable < 2) ? 2 : usable;
    demand = (usable + 3) / 4;
    return (pot == FLOW_POT_DEMAND) ? demand : usable - demand;
}

/* The window of one flow when all share the AUTO pot. */
static int flow_grant_share(const flow_core_t *core)
{
    int64_t flows = (int64_t)core->counters.rx_flows -
                    core->parted_wait.count - core->parted_gather.count;
    int64_t share;

    flow_assert(flows > 0); /* the one that asks for its share */
    share = flow_grant_capacity(core, FLOW_POT_AUTO) / flows;
    if (share > core->params.grant) {
        share = core->params.grant;
    }
    return (share < 1) ? 1 : (int)share;
}

static flow_pot_t flow_grant_pot(const flow_rx_t *rx)
{
    return (rx->flags & FLOW_RXF_POT) ? FLOW_POT_DEMAND : FLOW_POT_AUTO;
}

/* Credits of the flow that its pot knows of. */
static int flow_grant_rest(const flow_rx_t *rx)
{
    return flow_psn_diff(rx->limit, flow_rx_counted(rx));
}

/* Tell the pot what was consumed since the last time. */
static void flow_grant_sync(flow_core_t *core, flow_rx_t *rx)
{
    flow_psn_t psn = flow_rx_psn(rx);

    core->owed[flow_grant_pot(rx)] -= flow_psn_diff(psn, flow_rx_counted(rx));
    rx->counted                     = (uint8_t)psn;
}

/* Move what the flow still has to the other pot. */
static void flow_grant_move(flow_core_t *core, flow_rx_t *rx, flow_pot_t pot)
{
    int rest = flow_grant_rest(rx);

    core->owed[flow_grant_pot(rx)] -= rest;
    core->owed[pot]                += rest;
    rx->flags &= ~(unsigned)FLOW_RXF_POT;
    rx->flags |= (pot == FLOW_POT_DEMAND) ? FLOW_RXF_POT : 0;
}

/* Choose the consumed number at which to look again. */
void flow_grant_mark(flow_core_t *core, flow_rx_t *rx)
{
    int rest = flow_psn_diff(rx->limit, flow_rx_psn(rx));
    int step = flow_grant_share(core) /
               ((rx->flags & FLOW_RXF_CARRIED) ? 4 : 2);
    int last;

    if (rest == 0) {
        rx->expect |= FLOW_RX_SHUT; /* the short way does not know the limit */
    }
    step = (step > rest) ? rest : step;
    step = (step < 1) ? 1 : step;
    last = flow_psn_diff(flow_rx_told(rx), flow_rx_psn(rx));
    if ((flow_rx_told(rx) != rx->limit) && (last > 0) && (step > last)) {
        step = last; /* look before the sender runs out */
    }
    if (rx->flags & FLOW_RXF_FINAL) {
        last = flow_psn_diff(flow_rx_final(rx), flow_rx_psn(rx));
        step = (step > last) ? last : step;
    }
    rx->grant_at = (uint8_t)(flow_rx_psn(rx) + (flow_psn_t)step);
}

/* Did a header take the present limit along since it was raised? */
static void flow_grant_told(flow_core_t *core, flow_rx_t *rx)
{
    if ((rx->flags & FLOW_RXF_CARRIED) &&
        ((uint8_t)flow_tx_psn(flow_core_tx(core, rx->pair)) != rx->mark)) {
        rx->told = rx->limit & 0x7f;
    }
}

/* Send the limit alone if no header took it and the sender may soon need it. */
static void flow_grant_tell(flow_core_t *core, flow_rx_t *rx)
{
    flow_grant_told(core, rx);
    if ((flow_rx_told(rx) != rx->limit) &&
        (!(rx->flags & FLOW_RXF_CARRIED) || (rx->flags & FLOW_RXF_POT) ||
         (flow_psn_diff(flow_rx_told(rx), flow_rx_psn(rx)) <=
          flow_grant_share(core) / 2))) {
        flow_rx_ctl_due(core, rx, FLOW_CTL_RX_LIMIT);
    }
}

/* Raise the limit by more, and see to it that the sender learns of it. */
static void flow_grant_give(flow_core_t *core, flow_rx_t *rx, int more)
{
    flow_tx_t *tx;

    flow_grant_told(core, rx);
    core->owed[flow_grant_pot(rx)] += more;
    rx->limit += (flow_psn_t)more;
    rx->flags &= ~(unsigned)(FLOW_RXF_STARVED | FLOW_RXF_DEMAND);
    flow_trace(core, FLOW_TRACE_GRANT, rx->ep, rx->limit, rx->flags);
    if (rx->flags & FLOW_RXF_CARRIED) {
        tx      = flow_core_tx(core, rx->pair);
        tx->hdr = flow_wire_set_limit(tx->hdr, rx->limit);
        flow_rx_mark_carrier(rx, tx);
    }
    flow_grant_tell(core, rx);
}

/* Nothing to give: wait in line if it asked, else tell it to ask. */
static void flow_grant_starve(flow_core_t *core, flow_rx_t *rx)
{
    if (!(rx->flags & FLOW_RXF_STARVED)) {
        rx->flags |= FLOW_RXF_STARVED;
        ++core->counters.starved;
        flow_trace(core, FLOW_TRACE_STARVED, rx->ep, rx->limit, 0);
        if (!(rx->flags & FLOW_RXF_DEMAND)) {
            flow_rx_ctl_due(core, rx, FLOW_CTL_RX_LIMIT);
        }
    }
    if ((rx->flags & FLOW_RXF_DEMAND) && !(rx->lists & FLOW_LIST_STARVED)) {
        rx->lists |= FLOW_LIST_STARVED;
        flow_fifo_rx_starved_push(core, &core->starved, flow_rx_index(rx));
    }
}

/* Bring the flow to its share out of the AUTO pot. 0: nothing was there. */
static int flow_grant_auto(flow_core_t *core, flow_rx_t *rx)
{
    int64_t room = flow_grant_capacity(core, FLOW_POT_AUTO) -
                   core->owed[FLOW_POT_AUTO];
    int rest     = flow_grant_rest(rx);
    int more     = flow_grant_share(core) - rest;

    if (more <= 0) {
        return 1;
    }
    if (rx->flags & FLOW_RXF_POT) {
        room -= rest;
    }
    if (room <= 0) {
        return 0;
    }

    flow_grant_move(core, rx, FLOW_POT_AUTO);
    flow_grant_give(core, rx, (more < room) ? more : (int)room);
    return 1;
}

/* Give what came free to those who asked, first come first served. */
void flow_grant_serve(flow_core_t *core)
{
    int64_t left;
    flow_rx_t *rx;
    uint32_t waiting;

    while (core->starved.head != 0) {
        rx      = flow_core_rx(core, core->starved.head);
        waiting = core->starved.count;
        left    = flow_grant_capacity(core, FLOW_POT_DEMAND) -
                  core->owed[FLOW_POT_DEMAND];
        if (rx->state == FLOW_RX_ACTIVE) {
            if (!flow_grant_auto(core, rx)) {
                if (left <= 0) {
                    return;
                }
                flow_grant_move(core, rx, FLOW_POT_DEMAND);
                left /= 2 * (int64_t)waiting;
                left  = (left > flow_grant_share(core)) ?
                                flow_grant_share(core) : left;
                flow_grant_give(core, rx, (left < 1) ? 1 : (int)left);
            }
            flow_grant_mark(core, rx);
        }
        flow_fifo_rx_starved_pop(core, &core->starved);
        rx->lists &= ~(unsigned)FLOW_LIST_STARVED;
        flow_rx_try_release(core, rx);
    }
}

void flow_rx_grant(flow_core_t *core, flow_rx_t *rx)
{
    if ((rx->flags & FLOW_RXF_FINAL) &&
        (flow_rx_final(rx) == flow_rx_psn(rx))) {
        flow_rx_end(core, rx);
        return;
    }

    flow_peer_heard(core, flow_core_peer(core, rx->peer));
    flow_grant_sync(core, rx);
    if (!flow_grant_auto(core, rx) && (flow_grant_rest(rx) == 0)) {
        flow_grant_starve(core, rx);
    }
    flow_grant_tell(core, rx);
    flow_grant_mark(core, rx);
    flow_grant_serve(core);
}

void flow_grant_open(flow_core_t *core, flow_rx_t *rx)
{
    rx->told = rx->limit & 0x7f;
    core->owed[FLOW_POT_AUTO] += flow_grant_rest(rx);
    if (!flow_grant_auto(core, rx) && (flow_grant_rest(rx) == 0)) {
        flow_grant_starve(core, rx);
    } /* the answer will tell */
    flow_grant_mark(core, rx);
}

void flow_grant_close(flow_core_t *core, flow_rx_t *rx)
{
    core->owed[flow_grant_pot(rx)] -= flow_grant_rest(rx);
    rx->counted                     = (uint8_t)rx->limit;
    flow_grant_serve(core);
}

void flow_grant_asked(flow_core_t *core, flow_rx_t *rx, flow_psn_t limit)
{
    if (flow_psn_diff(rx->limit, limit) > 0) {
        flow_rx_ctl_due(core, rx, FLOW_CTL_RX_LIMIT); /* it is on the way */
        return;
    }

    flow_grant_sync(core, rx);
    rx->flags |= FLOW_RXF_DEMAND;
    if (flow_grant_rest(rx) == 0) {
        flow_rx_grant(core, rx);
    }
}
