/* SPDX-License-Identifier: BSD-3-Clause */
/* Flows between two recordings, as each of both ends has them at its end: what
 * one sent and the other has not received. */
#ifndef REPLAY_ENDS_H_
#define REPLAY_ENDS_H_

#include "run.h"

#include <stdio.h>

typedef enum ends_kind {
    ENDS_RECEIVER, /* of a flow */
    ENDS_SENDER,
    ENDS_INTERFACE /* the recorded one: `own` and `file` are set */
} ends_kind_t;

/* A flow at one of its ends. Its key is what stands before `held`. */
typedef struct ends_flow {
    uint64_t   own, peer;   /* incarnations: the recorded one, the other */
    uint32_t   ep;          /* of both ends */
    uint32_t   kind;        /* ends_kind_t */
    uint64_t   held;        /* receiver: flow_psn_bit of packets it keeps */
    uint32_t   file;        /* number of its recording */
    uint32_t   number;      /* sender: its own of this flow */
    flow_psn_t next;        /* to be sent or received */
    flow_psn_t limit;       /* sender: that it knows; receiver: that it told */
    uint8_t    unanswered;  /* sender: its hello has no answer */
} ends_flow_t;

/* Appends the interface and all flows of a replayed core to `out`. 0; or -1:
 * errno says why. */
int ends_write(FILE *out, const run_t *run, uint32_t file);

/* Compares all that ends_write wrote to `in`, from its begin, and prints what
 * did not arrive; names: of each recording. 0; or -1: errno says why. */
int ends_print(FILE *in, char *const *names, uint32_t count);

#endif
