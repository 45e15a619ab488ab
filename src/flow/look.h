/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A look at a sending flow and its pair, for who shows what flows wait for.
 *
 * Nothing changes, and it may be called while another thread calls the core:
 * records never move and never go while the core lives. Then each number is of
 * about this moment, for itself.
 */
#ifndef FLOW_LOOK_H_
#define FLOW_LOOK_H_

#include "flow/tx.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The cause for which a user who wants to send waits. */
typedef enum flow_look_wait {
    FLOW_LOOK_FREE,   /* nothing: it may send, or does not want to            */
    FLOW_LOOK_HELLO,  /* the answer to its hello: the first window is used    */
    FLOW_LOOK_LIMIT,  /* a limit: the receiver has allowed no more            */
    FLOW_LOOK_RNR,    /* the receiver had no buffer: a pause                  */
    FLOW_LOOK_SENT,   /* completions or acknowledgements of what is out       */
    FLOW_LOOK_FAILED, /* nothing any more                                     */
    FLOW_LOOK_WAITS
} flow_look_wait_t;

typedef struct flow_look {
    flow_look_wait_t wait;
    flow_psn_t       psn;    /* the next number                               */
    flow_psn_t       oldest; /* ... and the oldest that is not over; psn where
                                nothing is out                                */
    uint16_t         lost;   /* UD: part of the packets that is lost, in
                                1/2^16                                        */
    flow_psn_t       rx_psn; /* of the flow that came with it: consumed so far;
                                0 where there is none                         */
    uint8_t          depth;  /* ... how far ahead of its turn a packet that it
                                holds came                                    */
} flow_look_t;

/* tx was not closed by its user. */
void flow_look(const flow_core_t *core, const flow_tx_t *tx, flow_look_t *look);

#ifdef __cplusplus
}
#endif

#endif
