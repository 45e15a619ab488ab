/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sending on UD: acknowledgements, sending again, time-outs.
 *
 * An operation is in at most one of: its post out, on the repost list, on the
 * release list; and its bit in busy is taken until it is released. While a post
 * of it is out it is not sent again (that would say nothing new), so a header
 * can be brought up to date before each resend, and no old limit or
 * acknowledgement is ever sent.
 *
 * A packet that was sent before one that arrived is lost after a while
 * (flow_resend_look); when nothing arrives at all, the oldest that is out is
 * sent once more to ask (time_out.c). Lost packets wait for the congestion
 * window (path.c), before new ones.
 */
#include "flow/alarm_priv.h"
#include "flow/assert.h"
#include "flow/ctl_priv.h"
#include "flow/due_priv.h"
#include "flow/fifo_priv.h"
#include "flow/path_priv.h"
#include "flow/pool_priv.h"
#include "flow/resend_priv.h"
#include "flow/rx_priv.h"
#include "flow/tx_priv.h"

enum {
    RESEND_SPEAK     = 4000000 >> FLOW_STAMP_SHIFT, /* 4 ms between two that
                                                       tell a clock ...       */
    RESEND_SPEAK_PSN = FLOW_WINDOW_MAX /* ... and so many messages            */
};

int flow_resend_prepare(flow_core_t *core, flow_tx_t *tx)
{
    flow_ring_t *ring;

    if (tx->ring != 0) {
        return 1;
    }
    tx->ring = flow_pool_ring_get(core);
    if (tx->ring == 0) {
        return 0;
    }

    ring               = flow_core_ring(core, tx->ring);
    ring->unacked.tx   = flow_tx_index(tx);
    ring->unacked.lost = 0;
    flow_alarm_set(core, tx->ring, core->now + core->params.rnr_min);
    return 1;
}

static flow_path_t *flow_resend_path(const flow_core_t *core,
                                     const flow_tx_t *tx)
{
    return flow_core_path(core, flow_tx_index(tx));
}

/* Packets that are under way; those that count as lost are not. */
static uint64_t flow_resend_out(const flow_ring_t *ring)
{
    return ring->mask & ~ring->unacked.lost;
}

static void flow_resend_stamp(flow_core_t *core, flow_op_t *op)
{
    op->sent = flow_path_stamp(core->now);
    flow_resend_path(core, op->tx)->sent = op->sent;
}

flow_op_t *flow_resend_oldest(const flow_core_t *core, const flow_tx_t *tx)
{
    const flow_ring_t *ring = flow_core_ring(core, tx->ring);
    unsigned shift          = tx->una % FLOW_MAP_BITS;
    uint64_t out            = flow_psn_rotate_down(flow_resend_out(ring),
                                                   shift);

    return (out == 0) ? NULL :
                        ring->slot[(shift + (unsigned)__builtin_ctzll(out)) %
                                   FLOW_MAP_BITS];
}

/* ns from the last packet until nothing has come for too long. */
static flow_time_t flow_resend_time_out(const flow_core_t *core,
                                        const flow_tx_t *tx)
{
    const flow_path_t *path = flow_resend_path(core, tx);
    const flow_op_t *oldest = flow_resend_oldest(core, tx);
    int again               = (oldest != NULL) &&
                              (oldest->flags & FLOW_OPF_AGAIN);
    flow_time_t most        = core->params.rnr_max;
    flow_time_t delay       = flow_path_ns(
            flow_path_time_out(path, again,
                               flow_path_stamp(core->params.rnr_min)));
    unsigned tries;

    for (tries = flow_path_doubled(path); (tries > 0) && (delay < most);
         --tries) {
        delay *= 2;
    }
    delay = (delay < most) ? delay : most;
    return delay + ((delay * flow_path_random(path)) >> 17);
}

flow_time_t flow_resend_silence(const flow_core_t *core, const flow_tx_t *tx)
{
    const flow_path_t *path = flow_resend_path(core, tx);
    flow_time_t delay       = flow_resend_time_out(core, tx);
    flow_time_t passed      = flow_path_ns(flow_path_stamp(core->now) -
                                           path->sent);

    return (delay > passed) ? delay - passed : 0;
}

/* A header acknowledged what came by rx. A clock it does not tell: now and then
 * an acknowledgement goes alone to a flow that is busy. */
static void flow_resend_carried(flow_core_t *core, const flow_tx_t *tx,
                                flow_rx_t *rx)
{
    flow_path_t *path = flow_resend_path(core, tx);
    flow_psn_t psn    = flow_rx_psn(rx);

    rx->ctl &= ~(unsigned)FLOW_CTL_RX_ACK;
    if ((path->sent - path->spoke >= RESEND_SPEAK) &&
        ((flow_psn_t)(psn - path->spoke_psn) >= RESEND_SPEAK_PSN)) {
        path->spoke     = path->sent;
        path->spoke_psn = psn;
        flow_due_rx_ctl(core, rx, FLOW_CTL_RX_ACK);
    }
}

void flow_resend_commit(flow_core_t *core, flow_tx_t *tx, flow_op_t *op)
{
    flow_ring_t *ring = flow_core_ring(core, tx->ring);

    flow_assert(tx->ring != 0);
    op->next   = NULL;
    op->tx     = tx;
    op->psn    = flow_tx_commit(tx);
    op->linked = 0;
    op->flags  = FLOW_OPF_POSTED;
    flow_resend_stamp(core, op);
    if (ring->mask == 0) { /* of before it may be too long ago to be told */
        flow_resend_path(core, tx)->newest = op->sent - 1;
    }

    ring->mask                           |= flow_psn_bit(op->psn);
    ring->slot[op->psn % FLOW_MAP_BITS] = op;
    if (tx->flags & FLOW_TXF_CARRIES) { /* the header acknowledged */
        flow_resend_carried(core, tx, flow_core_rx(core, tx->carries));
    }
    flow_alarm_sooner(core, tx->ring,
                      core->now + flow_resend_time_out(core, tx));
}

/* This operation is over; it is released when no post of it is out. */
static void flow_resend_finish(flow_core_t *core, flow_op_t *op,
                               unsigned failed)
{
    op->flags |= FLOW_OPF_OVER | (uint8_t)failed;
    if (!(op->flags & FLOW_OPF_POSTED) && !op->linked) {
        flow_fifo_op_push(&core->release, op);
    }
}

int flow_resend_over(flow_core_t *core, flow_op_t *op)
{
    if (op->flags & FLOW_OPF_OVER) {
        flow_fifo_op_push(&core->release, op);
        return 1;
    }

    op->flags |= FLOW_OPF_POSTED | FLOW_OPF_AGAIN;
    flow_resend_stamp(core, op);
    return 0;
}

int flow_resend_push(flow_core_t *core, flow_op_t *op)
{
    if ((op->flags & FLOW_OPF_POSTED) || op->linked) {
        return 0;
    }

    op->linked = 1;
    flow_fifo_op_push(&core->repost, op);
    return 1;
}

unsigned flow_resend_room(const flow_core_t *core, const flow_tx_t *tx)
{
    const flow_ring_t *ring = flow_core_ring(core, tx->ring);

    return (ring->unacked.lost != 0) ?
                   0 :
                   flow_path_room(flow_resend_path(core, tx),
                                  flow_psn_count(ring->mask),
                                  flow_path_stamp(core->now));
}

void flow_resend_blocked(flow_core_t *core, const flow_tx_t *tx)
{
    uint64_t out   = flow_resend_out(flow_core_ring(core, tx->ring));
    uint32_t pause = flow_path_pause(flow_resend_path(core, tx),
                                     flow_psn_count(out),
                                     flow_path_stamp(core->now));

    if (pause != 0) {
        flow_alarm_sooner(core, tx->ring, core->now + flow_path_ns(pause));
    }
}

/*
 * A packet that is still out when a later one arrived may be lost, or late;
 * after a while it counts as lost. That holds for repeats, too: a lost one is
 * found like any other packet.
 */
static void flow_resend_look(flow_core_t *core, flow_tx_t *tx)
{
    flow_ring_t *ring = flow_core_ring(core, tx->ring);
    flow_path_t *path = flow_resend_path(core, tx);
    uint32_t now      = flow_path_stamp(core->now), wait = UINT32_MAX;
    uint32_t late     = flow_path_late(path);
    uint64_t bits     = flow_resend_out(ring), lost = 0;

    for (; bits != 0; bits &= bits - 1) {
        flow_op_t *op = ring->slot[__builtin_ctzll(bits)];
        uint32_t age  = now - op->sent;

        if ((op->flags & FLOW_OPF_POSTED) || op->linked ||
            !flow_path_is_older(path, op->sent, op->psn)) {
            continue;
        }
        if (age >= late) {
            lost      |= flow_psn_bit(op->psn);
            op->flags &= (uint8_t)~FLOW_OPF_PROBE;
        } else if (late - age < wait) {
            wait = late - age;
        }
    }
    if (lost != 0) {
        ring->unacked.lost |= lost;
        flow_path_lost(path, flow_psn_count(lost), now);
    }
    if (wait != UINT32_MAX) {
        flow_alarm_sooner(core, tx->ring, core->now + flow_path_ns(wait));
    }
}

/* Send lost packets again, the oldest first, as far as the window allows. */
static void flow_resend_lost(flow_core_t *core, flow_tx_t *tx)
{
    flow_ring_t *ring = flow_core_ring(core, tx->ring);
    unsigned shift    = tx->una % FLOW_MAP_BITS;
    uint64_t bits     = flow_psn_rotate_down(ring->unacked.lost, shift);
    unsigned room     = flow_path_room(flow_resend_path(core, tx),
                                       flow_psn_count(flow_resend_out(ring)),
                                       flow_path_stamp(core->now));

    for (; (bits != 0) && (room != 0); bits &= bits - 1, --room) {
        flow_op_t *op = ring->slot[(shift + (unsigned)__builtin_ctzll(bits)) %
                                   FLOW_MAP_BITS];

        ring->unacked.lost &= ~flow_psn_bit(op->psn);
        if (flow_resend_push(core, op)) {
            flow_resend_stamp(core, op);
            ++core->counters.fast_resends;
        }
    }
}

void flow_resend_run(flow_core_t *core, flow_tx_t *tx)
{
    flow_resend_look(core, tx);
    flow_resend_lost(core, tx);
}

/* One of those that arrived. Which of its posts it was, nobody says: a round
 * trip is not taken from one that was sent again, or is about to be (linked),
 * and one that came sooner than any round trip was an earlier one. */
static void flow_resend_op_arrived(flow_core_t *core, flow_path_t *path,
                                   const flow_path_t *before,
                                   const flow_op_t *op, uint32_t *rtt)
{
    uint32_t now   = flow_path_stamp(core->now);
    uint32_t age   = now - op->sent;
    int is_older   = flow_path_is_older(path, op->sent, op->psn);

    if (!(op->flags & FLOW_OPF_AGAIN) && !op->linked) {
        *rtt = (age < *rtt) ? age : *rtt;
        if (flow_path_is_older(before, op->sent, op->psn)) {
            flow_path_overtaken(path, age);
        }
    } else if (age < path->least) {
        is_older = 1;
        flow_path_came_late(path, 1);
    } else if (op->flags & FLOW_OPF_PROBE) {
        flow_path_lost(path, 1, now);
    }
    if (!is_older) {
        path->newest     = op->sent;
        path->newest_psn = op->psn;
    }
}

static void flow_resend_arrived(flow_core_t *core, flow_tx_t *tx,
                                uint64_t bits)
{
    flow_ring_t *ring = flow_core_ring(core, tx->ring);
    flow_path_t *path = flow_resend_path(core, tx);
    unsigned out      = flow_psn_count(flow_resend_out(ring));
    unsigned count    = flow_psn_count(bits);
    uint32_t rtt      = UINT32_MAX, now = flow_path_stamp(core->now);
    const flow_path_t before = *path; /* what is told at once is not late */

    flow_path_came_late(path, flow_psn_count(bits & ring->unacked.lost));
    ring->mask         &= ~bits;
    ring->unacked.lost &= ~bits;
    for (; bits != 0; bits &= bits - 1) {
        flow_op_t *op = ring->slot[__builtin_ctzll(bits)];

        flow_resend_op_arrived(core, path, &before, op, &rtt);
        flow_resend_finish(core, op, 0);
    }
    if ((rtt != UINT32_MAX) && (path->tries == 0)) {
        flow_path_sample(path, rtt, now); /* else its news may be lost */
    }
    path->tries = 0;
    flow_path_acked(path, count, out, now);
}

void flow_resend_ack(flow_core_t *core, flow_tx_t *tx, flow_psn_t ack,
                     uint64_t map)
{
    flow_psn_t base = flow_tx_psn(tx) - FLOW_MAP_BITS;
    int below       = flow_psn_diff(ack, base);
    flow_ring_t *ring;
    uint64_t got, bits;

    if ((tx->ring == 0) || (below < 0) || (below > FLOW_MAP_BITS)) {
        return; /* nothing is out, or nothing that it can be about */
    }

    got = (below == FLOW_MAP_BITS) ? ~0ull : (1ull << below) - 1;
    if (below < FLOW_MAP_BITS - 1) {
        got |= map << (below + 1);
    }
    ring = flow_core_ring(core, tx->ring);
    bits = ring->mask & flow_psn_rotate_up(got, base % FLOW_MAP_BITS);
    if (bits != 0) {
        flow_resend_arrived(core, tx, bits);
        flow_resend_run(core, tx);
    }
}

void flow_resend_told(flow_core_t *core, const flow_tx_t *tx, uint32_t clock,
                      uint16_t heard, flow_psn_t ack)
{
    uint64_t local = core->told +
                     core->counters.delivered / FLOW_PATH_OTHER_WAY;

    if (flow_psn_lt(flow_tx_psn(tx), ack)) {
        return; /* of what was never sent: all flows here would believe it */
    }
    core->told += flow_path_told(flow_resend_path(core, tx), clock, heard, ack,
                                 (uint16_t)local, flow_path_stamp(core->now));
}

void flow_resend_answered(flow_core_t *core, const flow_tx_t *tx)
{
    flow_path_t *path = flow_resend_path(core, tx);
    uint32_t now      = flow_path_stamp(core->now);

    if ((path->rtt == 0) && (path->hello != 0)) {
        flow_path_sample(path, now - path->hello, now);
        if (tx->ring != 0) { /* its alarm knew of no round trip */
            flow_alarm_sooner(core, tx->ring,
                              core->now + flow_resend_silence(core, tx));
        }
    }
}

void flow_resend_heard(flow_tx_t *tx)
{
    if (!(tx->wait & FLOW_WAIT_PART)) { /* that counts till it is confirmed */
        tx->linked = 0;
    }
    tx->wait &= (uint8_t)~FLOW_WAIT_PONG;
    tx->ctl  &= ~(unsigned)FLOW_CTL_TX_PING;
}

void flow_resend_fail(flow_core_t *core, flow_tx_t *tx)
{
    flow_ring_t *ring;
    uint64_t bits;

    if (tx->ring == 0) {
        return;
    }

    ring       = flow_core_ring(core, tx->ring);
    bits       = ring->mask;
    ring->mask = 0;
    ring->unacked.lost = 0;
    for (; bits != 0; bits &= bits - 1) {
        flow_resend_finish(core, ring->slot[__builtin_ctzll(bits)],
                           FLOW_OPF_FAILED);
    }
}

void flow_resend_detach(flow_core_t *core, flow_tx_t *tx)
{
    if (tx->ring != 0) {
        flow_core_ring(core, tx->ring)->unacked.tx = 0;
        tx->ring                           = 0;
    }
}
