/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every limit of the protocol core in one block. Nothing in it is unbounded;
 * configured limits are in flow_params_t. Each is used where it acts.
 */
#ifndef FLOW_LIMITS_H_
#define FLOW_LIMITS_H_

enum flow_limits {
    FLOW_WINDOW_MAX       = 64, /* packets between consumed and limit         */
    FLOW_MAP_BITS         = 64, /* numbers that a map or a ring tells apart   */
    FLOW_INIT_WINDOW_MAX  = 16, /* packets before the receiver's first answer */
    FLOW_IDLE_WINDOW      = 1,  /* credits of a silent flow, at least         */
    FLOW_WAKE_WINDOW      = 8,  /* given at a time where there is too little  */
    FLOW_CALM_WINDOW      = 7 * FLOW_WINDOW_MAX / 16, /* credits that a calm
                                   flow holds at most; fewer where that is more
                                   than an eighth of the buffers (grant.c)    */
    FLOW_CALM_EARNED      = 3 * FLOW_CALM_WINDOW / 2, /* the same of one that
                                   keeps sending (FLOW_RXF_EARNED)            */
    FLOW_CALM_LOW         = FLOW_WINDOW_MAX / 16, /* credits that are left to a
                                   calm flow when it gets more. One that uses
                                   FLOW_CALM_WINDOW and these between two visits
                                   of the hand is active                      */
    FLOW_SCARCE_WINDOW    = 3 * FLOW_WINDOW_MAX / 4, /* when senders have less,
                                   more receive buffers are asked for         */
    FLOW_TICK_LEVEL       = 0,  /* back-off level that is a tick of the hand:
                                   rnr_min                                    */
    FLOW_TICK_UD          = 32, /* ticks in each rnr_min on UD                */
    FLOW_HAND_TICKS       = 8,  /* ticks from one visit of flows to the next  */
    FLOW_HELD_TICKS       = 64, /* ticks that a backlog puts off a round of
                                   visits, at most                            */
    FLOW_BACKLOG_TICKS    = 4,  /* ticks in a row with a backlog (core.h) from
                                   which it counts                            */
    FLOW_LENT_TICKS       = 8,  /* ticks after which core->lent is 0 again,
                                   backlog or not                             */
    FLOW_HAND_LOOKS_MIN   = 512, /* flows visited at a tick are half of all, and
                                   at least so many                           */
    FLOW_HAND_LOOKS_MAX   = 10240, /* the same, at most                       */
    FLOW_RECALL_ROUNDS    = 2,  /* of the hand in which a flow is silent before
                                   its credits are recalled                   */
    FLOW_RECALL_EVERY     = 128,/* packets of a calm flow from one recall to
                                   the next: a power of two                   */
    FLOW_QUIET_ROUNDS     = 5,  /* without a packet, after which the hand stops:
                                   more than two times FLOW_RECALL_ROUNDS     */
    FLOW_LAP              = 8192, /* SRD: numbers from one line to the next; a
                                   limit crosses one at a time (lap.c)        */
    FLOW_AM_ID_MAX        = 32, /* active message ids on the wire: 5 bits     */
    FLOW_INDEX_BITS       = 17, /* flows per interface and direction          */
    FLOW_GEN_BITS         = 7,  /* generations of one receiver index          */
    FLOW_INDEX_MAX        = 1 << FLOW_INDEX_BITS,
    FLOW_QPN_MAX          = 0xffffff,
    FLOW_ACK_BITS         = 48, /* numbers after the lowest missing one that a
                                   header can acknowledge                     */
    FLOW_GOODBYE_TRIES    = 16, /* UD: goodbyes without confirmation          */
    FLOW_CHECK_TRIES      = 16, /* UD: time-outs of a check (flow_tx_check)   */
    FLOW_PART_LEVEL       = 6,  /* UD: a closed receiving flow stays for
                                   rnr_min * 2^6 and confirms goodbyes        */
    FLOW_CTL_MAX          = 96, /* room for any control packet, bytes         */
    FLOW_ALIGN            = 64, /* alignment of all memory handed to the core */
    FLOW_QUARANTINE       = 64, /* freed receiver indices not used again yet  */
    FLOW_TOMBSTONES       = 1024, /* dead incarnations remembered             */
    FLOW_PEER_CTL_MAX     = 8,  /* control packets out to one peer            */
    FLOW_PEER_REF_BITS    = 13, /* flows of a peer that are not on its lists:
                                   closed ones that still confirm (UD)        */
    FLOW_RX_BATCH         = 16, /* receive flows for which there is memory
                                   after flow_pool_grow_needed said 0         */
    FLOW_LEVELS           = 16, /* of back-off                                */
    FLOW_TRIES_MAX        = 127, /* UD: time-outs until a peer is lost        */
    FLOW_RESERVE_STUCK    = 5000000, /* ns without anything back: longer than a
                                   round trip takes (reserve.h)               */
    FLOW_STRANGERS        = 16384, /* flows whose data came before their hello,
                                   at a time                                  */
    FLOW_EXPIRED          = 8192, /* of those that expired, remembered        */
    FLOW_STRANGER_ROOM    = 256, /* bytes that a held packet takes beside its
                                   own                                        */
    FLOW_SPARE            = 16, /* receiver indices and peers only to say that
                                   there are no more                          */
    FLOW_GONE_MIN         = 64, /* flows that went and are still listed, before
                                   lists are looked through for them          */
    FLOW_PAIR_SEARCH      = 32, /* flows looked at to find one without a pair */
    FLOW_RIVALS           = 32, /* incarnations at one GID and QPN that are
                                   compared with another: the newest          */
    FLOW_LINGER_LOST      = 2048, /* closed flows, before those whose last word
                                   got lost do not try again                  */
    FLOW_PREFIXES         = 64, /* upper halves of GIDs among all peers       */
    FLOW_HASH_LOAD        = 6,  /* peers, flows in one chain of the index     */
    FLOW_TRACE_LEN        = 256, /* entries of the trace ring, power of two   */
    FLOW_RX_MAX           = FLOW_INDEX_MAX - 1 - FLOW_QUARANTINE - FLOW_SPARE
                            /* receiving flows, and so peers that send        */
};

#endif
