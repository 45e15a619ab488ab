/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Send slots for peers that answer.
 *
 * A packet to a host that does not answer holds its slot of the send queue for
 * seconds, so a few such hosts can hold all slots that are anybody's. Counting
 * for each peer would cost every packet something; so only the last slots, the
 * reserve, are counted, and they are asked for when all others are taken. There
 * a peer begins with one, on trial, and only for a flow of which nothing is out
 * or something came back since it asked last (flow_reserve_moves); with each
 * that is delivered it may have one more, as long as it leaves half as many
 * free as it has. Trials together have half of the reserve.
 *
 * Peers that do well and then fall silent all at once, as when a switch fails,
 * hold the reserve, too. Half of it is therefore kept back: slots of a peer
 * from which nothing has come back for FLOW_RESERVE_STUCK do not count, and
 * others may take as many from the other half.
 *
 * Tried and rejected: a cap for each peer on all slots (it has to be small to
 * bound a hundred dead ones, and then one living peer alone cannot use the
 * queue); a reserve without a half kept back (a simulation of 96 hosts that
 * were well before left the living one 3 slots of 256 until the others timed
 * out).
 */
#ifndef FLOW_RESERVE_H_
#define FLOW_RESERVE_H_

#include "flow/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Slots of one peer (or one host: peers that fail together). Begins as zeros
 * and stays where it is while it holds any. */
typedef struct flow_share flow_share_t;

struct flow_share {
    flow_share_t *next, *prev; /* of those that hold any                      */
    uint32_t      given;       /* slots that it gave back, ever               */
    uint32_t      seen;        /* given when it was looked at last            */
    uint16_t      held;        /* slots that it has                           */
    uint32_t      look;        /* number of the look before something came back
                                  last: then it need not begin with one again */
    uint16_t      most;        /* slots that it may have                      */
    uint8_t       trial;       /* 1: it has its first                         */
    uint8_t       stuck;       /* 1: nothing came back between two looks, which
                                  are FLOW_RESERVE_STUCK apart                */
};

typedef struct flow_reserve {
    flow_share_t *holders;
    flow_time_t   looked;      /* when the holders were looked at last        */
    uint32_t      looks;       /* how often they were, 1 ..                   */
    uint16_t      size;        /* slots                                       */
    uint16_t      held;        /* of them taken                               */
    uint16_t      trials;      /* of them on trial                            */
    uint16_t      stuck;       /* of them held by stuck peers                */
} flow_reserve_t;

/* size: 2 .. 65535. */
void flow_reserve_init(flow_reserve_t *reserve, unsigned size);

/* Does a flow move: busy of flow_tx_t now, and when it asked last (*seen)? */
static inline int flow_reserve_moves(uint64_t busy, uint64_t *seen)
{
    uint64_t before = *seen;

    *seen = busy;
    return (busy == 0) || ((before & ~busy) != 0);
}

/* May the peer take a slot now, for a flow that moves or does not? */
int  flow_reserve_may(flow_reserve_t *reserve, const flow_share_t *share,
                      int moves, flow_time_t now);

/* It does: flow_reserve_may was the call before. */
void flow_reserve_take(flow_reserve_t *reserve, flow_share_t *share);

/* Gives it back: the packet was delivered (ok), or not. */
void flow_reserve_give(flow_reserve_t *reserve, flow_share_t *share, int ok);

#ifdef __cplusplus
}
#endif

#endif
