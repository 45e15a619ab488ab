/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The explorer: every interleaving of two peers over the real objects (P8). A
 * second flow each way may join them: between the same two (--twin), with a
 * third peer (--third), or with one that is born at the address of a peer that
 * died (--reborn).
 *
 * A state is the memory of both cores plus the world around them: what is on
 * the wire, what was sent, what arrived. memory.cc saves it and puts it back at
 * the same addresses, so pointers stay good; world.cc knows the steps that are
 * possible from a state, error.cc and rival.cc further ones, start.cc where all
 * begins; effect.cc says what a packet on the wire can still do,
 * state.cc which states have the same future, and judges them; model.cc
 * searches, and with --prove looks whether the latter two are right.
 */
#ifndef MODEL_H_
#define MODEL_H_

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

extern "C" {
#include "flow/flow.h"
#include "flow/ctl_wire.h"
#include "flow/peer_priv.h"
#include "flow/rx_record_priv.h"
#include "flow/tx_priv.h"
}

namespace model {

enum {
    MESSAGES_MAX = 6,
    NODES        = 3,
    FLOWS        = 4, /* of an even number: from node 0; the next one is its
                         way back                                             */
    WIRE_MAX     = 48,
    FAULTS_MAX   = 8, /* losses, repeats                                      */
    EARLY        = 3, /* times rnr_min: how long before everything arrived a
                         time-out may end                                     */
    AGO_MAX      = 1 << 26, /* stamps, 4 s: longer than anything waits        */
    TRIES_MAX    = 12, /* time-outs in a row: fewer than any bound of the core */
    TRIES_REBORN = 2  /* UD, --reborn: time-outs until a peer is lost         */
};

/* Bounds of the exploration. */
struct Bounds {
    flow_profile_t profile = FLOW_SRD;
    unsigned window        = 1;
    unsigned messages[FLOWS] = {1, 1, 0, 0}; /* 0: there is no such flow      */
    unsigned nodes         = 2; /* 3: the flows from 2 on are with node 2     */
    bool     reborn        = false; /* node 2 is born where node 1 dies ...   */
    unsigned key           = 0;     /* ... 1: and has the same QKEY           */
    unsigned losses        = 0; /* SRD: packets refused; UD: packets lost     */
    unsigned repeats       = 0; /* packets that arrive twice                  */
    unsigned recalls       = 0; /* times a receiver takes a flow for silent   */
    unsigned buffers       = 56; /* that windows may count on                 */
    unsigned lap           = FLOW_LAP; /* numbers from line to line: lap.c    */
    unsigned errors        = 0; /* packets that end otherwise, flows given up */
    unsigned pings         = 0; /* times a side asks whether the other lives  */
    unsigned held          = 0; /* UD: messages that the thread takes which
                                   acknowledges (flow_rx_accept_held)         */
    bool     eager         = false; /* users send and close as soon as they
                                       can; else at any time                  */
    bool     prove         = false; /* keep what is taken for stale           */
    uint64_t states_max    = UINT64_MAX;
};

struct Packet {
    uint64_t cookie;
    uint64_t effect; /* what it can do in this state (state_hash): 0 nothing  */
    uint8_t  from, to, len, ctl;
    uint8_t  flow, op; /* data: which message                                 */
    uint8_t  twin;   /* another one in front of it does the same              */
    uint8_t  bytes[FLOW_CTL_HELLO_LEN];
};

/* A data packet that may have to be sent again. */
struct Kept {
    uint8_t len;
    uint8_t bytes[FLOW_LONG_HDR];
};

/* Credits that a receiver had granted: its active flows, a bit each; to them,
 * to calm ones. */
struct Credit {
    uint64_t active;
    int64_t  owed, lent;
};

/* Everything that is not memory of a core. Plain data, copied as a whole. */
struct World {
    flow_op_t   ops[FLOWS][MESSAGES_MAX];
    Kept        kept[FLOWS][MESSAGES_MAX];
    uint64_t    side[NODES]; /* part of the hash                              */
    Credit      credit[NODES];
    unsigned    on_wire;
    unsigned    sent[FLOWS], got[FLOWS];
    unsigned    losses, repeats, recalls, errors, pings, held; /* left        */
    unsigned    okay[FLOWS]; /* messages that completed well, a bit each      */
    uint8_t     erred[FLOWS]; /* one of its messages did not                  */
    uint8_t     failed[FLOWS]; /* its user was told that it failed            */
    uint8_t     owing[FLOWS]; /* its user has to be told                      */
    uint8_t     closed[FLOWS];
    uint8_t     index[FLOWS]; /* of its record; 0: not opened yet             */
    uint8_t     alive[NODES];
    uint8_t     refuses[NODES]; /* UD: what it sends next its device refuses  */
    uint8_t     lost;    /* there was no answer once                          */
    uint8_t     dead;    /* a living peer was taken for dead once             */
    uint8_t     hard;    /* a packet ended with an error                      */
    uint8_t     given;   /* flows that were given up, a bit each              */
    uint8_t     unsaid;  /* a control packet ended with an error              */
    uint8_t     late;    /* a hello of a dead one arrived                     */
    uint8_t     shown;   /* its successor used what it was told               */
    uint32_t    drain[FLOWS]; /* token of a flow that holds what is in order  */
    flow_tx_t  *tx[FLOWS];
    flow_time_t now;
    Packet      wire[WIRE_MAX]; /* last: only what is used is copied          */
};

extern Bounds       bounds;
extern World        world;
extern flow_core_t *cores[NODES];
extern unsigned     touched; /* bit id: node id took part in the last steps   */
extern bool         was_nothing; /* the last step: a packet that can do
                                    nothing arrived                           */
extern std::string  trail;   /* the steps from the start to here              */

static inline bool ud()
{
    return bounds.profile == FLOW_UD;
}

/* Can flows fail, for any reason? Then grants and receives are taken back, and
 * effect.cc does not apply. */
static inline bool may_fail()
{
    return (bounds.errors != 0) || bounds.reborn;
}

/* Are there second flows? Then the hand finds buffers short, and recalls. */
static inline bool has_second()
{
    return (bounds.messages[2] | bounds.messages[3]) != 0;
}

/* The node that is not node 0. */
static inline unsigned far_of(unsigned flow)
{
    return ((flow > 1) && (bounds.nodes > 2)) ? 2 : 1;
}

static inline unsigned from_of(unsigned flow)
{
    return (flow & 1) ? far_of(flow) : 0;
}

static inline unsigned to_of(unsigned flow)
{
    return from_of(flow ^ 1);
}

static inline uint32_t qpn_of(unsigned node)
{
    return (bounds.reborn && (node == 2)) ? 2 : node + 1;
}

static inline uint32_t qkey_of(unsigned node)
{
    return (bounds.key && (node == 2)) ? 2 : node + 1;
}

/* A message as its receiver knows it, apart from its side; not 0. */
static inline uintptr_t handle_of(unsigned flow, unsigned op)
{
    return (uintptr_t)((flow >> 1) * MESSAGES_MAX + op + 1);
}

static inline uint64_t mix_word(uint64_t hash, uint64_t word)
{
    hash  = (hash ^ word) * 0x9e3779b97f4a7c15ull;
    return hash ^ (hash >> 32);
}

/* Print what is wrong and the steps that led there; does not return. */
void broken(const char *what);

/* memory.cc */
void *memory_take(unsigned node, size_t size);
void  memory_may_change(const void *from, size_t size); /* of what was taken  */
void  memory_no_matter(const void *from, size_t size);  /* not even looked at */
void  memory_started(); /* all is taken: remember it                          */
void  memory_reset(); /* to that; save what was missed so far                 */
/*
 * Copy what steps may touch, and back, of the nodes of a mask. A node that did
 * not change since before was saved is found there. saved keeps its room.
 */
struct Saved {
    std::vector<uint8_t> room[NODES];
    const uint8_t       *blocks[NODES];
    World                world;
};
void  memory_save(Saved *saved, const Saved *before, unsigned nodes);
void  memory_restore(const Saved &saved, unsigned nodes);
/* Did steps touch what is not saved? Then reset and start over. */
bool  memory_missed();

/* start.cc */
void world_start();
void open_flow(unsigned flow);

/* world.cc */
void settle(); /* what happens by itself; look at the wire                    */
void pass_time(flow_time_t delay);
/* For others. It arrives; it ends for its sender; it is on the wire no
 * more. */
void receive(const Packet &packet, bool held = false);
void complete(const Packet &packet, flow_send_status_t status);
Packet take_off_wire(unsigned which);
std::string named(const Packet &packet); /* for the trail */
void deliver_held(unsigned flow, uint32_t token);

/*
 * error.cc: what else may happen. Each is step number *n if that is 0; else *n
 * is less by the steps of its kind, and the result is false.
 */
bool step_error(unsigned *n); /* a packet ends with an error                  */
bool step_ping(unsigned *n);
bool step_hold(unsigned *n);  /* what is taken, or handed up, by a thread     */
bool step_give_up(unsigned *n); /* a user gives up a flow                     */
/* SRD: what completed well was consumed, or its sender knows. */
void check_okay();
void check_failed_end(); /* nothing can move any more, and flows may have failed */
/* A message of this flow did not end well: its user has to be told. */
void told(unsigned flow);
/* May this flow fail, by what was done up to now? */
bool may_fail_now(unsigned flow);
uint64_t error_hash(unsigned id); /* what of a side matters where flows fail  */

/* rival.cc: the death of a peer, and who lives at its address then. */
bool step_kill(unsigned *n);
void note_rivals(const Packet &packet); /* before it arrives                  */
/* The node that gets a packet of the wire; NODES: none. */
unsigned who_gets(const Packet &packet);
/* Has this node to say nothing any more of what is left of the dead one? */
bool may_keep(unsigned id);

/* credit.cc: what a receiver grants it has buffers for; said after each step. */
void check_credits();

/* Step number n of those possible here; false: there are fewer. */
bool world_step(unsigned n);

/*
 * effect.cc: what can happen when this packet arrives, now or later: 0,
 * nothing; else a hash of all that counts.
 */
uint64_t effect_of(const Packet &packet);

/* state.cc: equal for states that have the same future; says twin, too. */
uint64_t state_hash();
/* Every invariant of both cores; does not return when one is broken. */
void     state_check();
/* Nothing can move any more: everything must be done. */
void     state_check_end();

} /* namespace model */

#endif
