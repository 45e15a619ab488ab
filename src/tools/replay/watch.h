/* SPDX-License-Identifier: BSD-3-Clause */
/* Flows as a replay shows them: since when each is blocked, and the last words
 * of its peer. */
#ifndef REPLAY_WATCH_H_
#define REPLAY_WATCH_H_

#include "run.h"

#include <command/json.h>

#define WATCH_SOURCES 65536

/* A sending flow. */
typedef struct watch_flow {
    uint64_t blocked_call; /* 0: it may send */
    uint64_t blocked;      /* ns */
    int      known;        /* in this recording it could send before */
    int      named;        /* its row of a trace has a name */
    uint64_t refused;      /* sends that met receiver-not-ready */
} watch_flow_t;

/* A receiving flow: the last two limits that its sender was told alone, in
 * control packets. */
typedef struct watch_told {
    uint64_t   call, time; /* 0: none */
    flow_psn_t limit, before;
} watch_told_t;

/* The last packet of a source; of two that share a place the later one. */
typedef struct watch_heard {
    uint64_t   call, time; /* 0: none */
    flow_src_t src;
    uint32_t   length;
    uint8_t    kept;
    uint8_t    packet[FLOW_CTL_MAX];
} watch_heard_t;

typedef struct watch {
    watch_flow_t  flows[FLOW_INDEX_MAX];
    watch_heard_t heard[WATCH_SOURCES];
    watch_told_t  told[FLOW_INDEX_MAX];
    uint64_t      last; /* ns: as the calls say; at first run_first_time */
} watch_t;

/* Whether the flow of a call can send by it, or could. */
int watch_frees(const record_call_t *call);

/* A call was made; `last` is its time, if it has one. */
void watch_call(watch_t *watch, const run_t *run, const record_call_t *call,
                const uint8_t *packet);

/* Prints what each sending flow that cannot go on waits for (flow: only that
 * one; 0: all), and each receiving flow whose sender cannot. Returns how many
 * there are. Those of the first kind are items of an array of `json`, too. */
unsigned watch_why(const watch_t *watch, const run_t *run, json_t *json,
                   uint32_t flow, uint32_t qpn);

/* The peer of a call, by QPN; 0: of none. */
uint32_t watch_qpn(const run_t *run, const record_call_t *call);

#endif
