/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The explorer: every interleaving of two peers over the real objects (P8).
 *
 * A state is the memory of both cores plus the world around them: what is on
 * the wire, what was sent, what arrived. memory.cc saves it and puts it back at
 * the same addresses, so pointers stay good; world.cc knows the steps that are
 * possible from a state; state.cc tells states apart and judges them; model.cc
 * searches.
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
#include "flow/internal.h"
#include "flow/ctl_wire.h"
}

namespace model {

enum { MESSAGES_MAX = 6, NODES = 2, WIRE_MAX = 48 };

/* What is explored. */
struct Bounds {
    flow_profile_t profile = FLOW_SRD;
    unsigned window        = 1;
    unsigned messages[NODES] = {1, 1}; /* 0: this side opens no flow          */
    unsigned losses        = 0; /* SRD: packets refused; UD: packets lost     */
    unsigned repeats       = 0; /* packets that arrive twice                  */
    bool     eager         = false; /* users send and close as soon as they
                                       can; else at any time                  */
    uint64_t states_max    = UINT64_MAX;
};

struct Packet {
    uint8_t  from, len, ctl, op; /* op: data, which message                   */
    uint8_t  bytes[FLOW_CTL_MAX];
    uint64_t cookie;
    uint64_t hash;               /* of all that, alike on both sides          */
};

/* Everything that is not memory of a core. Plain data, copied as a whole. */
struct World {
    flow_op_t   ops[NODES][MESSAGES_MAX];
    Packet      kept[NODES][MESSAGES_MAX]; /* bytes kept for sending again    */
    unsigned    on_wire;
    unsigned    sent[NODES], got[NODES];
    unsigned    losses, repeats; /* left                                      */
    flow_tx_t  *tx[NODES];
    uint8_t     closed[NODES];
    flow_time_t now;
    Packet      wire[WIRE_MAX]; /* last: only what is used is copied          */
};

extern Bounds       bounds;
extern World        world;
extern flow_core_t *cores[NODES];
extern std::string  trail; /* the steps from the start to here                */

/* Print what is wrong and the steps that led there; does not return. */
void broken(const char *what);

/* memory.cc */
void *memory_take(size_t size);
void  memory_may_change(const void *from, size_t size); /* of what was taken  */
void  memory_started(); /* all is taken: remember it                          */
void  memory_reset(); /* to that; save what was missed so far                 */
/* Copy what steps may touch, and back. saved keeps its room. */
struct Saved {
    std::vector<uint8_t> blocks;
    World                world;
};
void  memory_save(Saved *saved);
void  memory_restore(const Saved &saved);
/* Did steps touch what is not saved? Then reset and start over. */
bool  memory_missed();

/* world.cc */
void world_start();
/* Step number n of those possible here; false: there are fewer. */
bool world_step(unsigned n);

/* state.cc: equal for states that have the same future. */
uint64_t state_hash();
uint64_t state_packet_hash(const Packet &packet);
/* Every invariant of both cores; does not return when one is broken. */
void     state_check();
/* Nothing can move any more: everything must be done. */
void     state_check_end();

} /* namespace model */

#endif
