/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow/reserve.h"

void flow_reserve_init(flow_reserve_t *reserve, unsigned size)
{
    *reserve       = (flow_reserve_t){0};
    reserve->size  = (uint16_t)size;
    reserve->looks = 1;
}

/* Find the peers that got nothing back since the last look. */
static void flow_reserve_look(flow_reserve_t *reserve, flow_time_t now)
{
    flow_share_t *share;

    if (now - reserve->looked < FLOW_RESERVE_STUCK) {
        return;
    }
    ++reserve->looks;
    reserve->looked = now;
    reserve->stuck  = 0;
    for (share = reserve->holders; share != NULL; share = share->next) {
        share->stuck = share->given == share->seen;
        share->seen  = share->given;
        if (share->stuck) {
            reserve->stuck = (uint16_t)(reserve->stuck + share->held);
        }
    }
}

/* Slots that may be taken now. */
static unsigned flow_reserve_left(const flow_reserve_t *reserve)
{
    unsigned half  = reserve->size / 2u;
    unsigned moves = (unsigned)(reserve->held - reserve->stuck);
    unsigned left  = (moves < half) ? half - moves : 0;
    unsigned all   = (unsigned)(reserve->size - reserve->held);

    return (left < all) ? left : all;
}

/* Does it begin with one? Not while something of it comes back. */
static int flow_reserve_is_trial(const flow_reserve_t *reserve,
                                 const flow_share_t *share)
{
    return (share->held == 0) && (share->look != reserve->looks);
}

int flow_reserve_may(flow_reserve_t *reserve, const flow_share_t *share,
                     int moves, flow_time_t now)
{
    unsigned left;

    flow_reserve_look(reserve, now);
    left = flow_reserve_left(reserve);
    if (left == 0) {
        return 0;
    }
    if (flow_reserve_is_trial(reserve, share)) {
        return moves && (reserve->trials < reserve->size / 2u);
    }
    return !share->stuck && (share->held < share->most) &&
           (share->held < 2 * left);
}

void flow_reserve_take(flow_reserve_t *reserve, flow_share_t *share)
{
    if (flow_reserve_is_trial(reserve, share)) {
        share->trial = 1;
        share->most  = 1;
        ++reserve->trials;
    }
    if (share->held++ == 0) {
        share->stuck = 0;
        share->seen  = share->given - 1; /* until the next look but one */
        share->prev  = NULL;
        share->next  = reserve->holders;
        if (share->next != NULL) {
            share->next->prev = share;
        }
        reserve->holders = share;
    }
    ++reserve->held;
}

void flow_reserve_give(flow_reserve_t *reserve, flow_share_t *share, int ok)
{
    if (share->stuck) { /* no longer */
        reserve->stuck = (uint16_t)(reserve->stuck - share->held);
        share->stuck   = 0;
    }
    --reserve->held;
    reserve->trials = (uint16_t)(reserve->trials - share->trial);
    share->trial    = 0;
    if (--share->held == 0) {
        if (share->next != NULL) {
            share->next->prev = share->prev;
        }
        if (share->prev != NULL) {
            share->prev->next = share->next;
        } else {
            reserve->holders = share->next;
        }
    }
    ++share->given;
    share->look = reserve->looks;
    if (ok && (share->most < reserve->size)) {
        ++share->most;
    }
}
