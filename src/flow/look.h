/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the state of a sending flow and its receiving counterpart, to show what
 * flows wait for.
 *
 * This changes nothing, and may be called while another thread calls the core:
 * records of flows never move, and are freed only with the core. Each number
 * may then be a moment old, and they need not be of the same moment.
 */
#ifndef FLOW_LOOK_H_
#define FLOW_LOOK_H_

#include "flow/tx.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The reason why a flow cannot send. */
typedef enum flow_look_wait {
    FLOW_LOOK_FREE,   /* none: it can send, or has nothing to send            */
    FLOW_LOOK_HELLO,  /* the hello is not answered, the first window is used  */
    FLOW_LOOK_LIMIT,  /* the window is used: the receiver has to consume      */
    FLOW_LOOK_RNR,    /* paused, as the receiver had no buffer                */
    FLOW_LOOK_SENT,   /* completions or acknowledgements are outstanding      */
    FLOW_LOOK_FAILED, /* the flow has failed                                  */
    FLOW_LOOK_WAITS   /* the number of reasons                                */
} flow_look_wait_t;

typedef struct flow_look {
    flow_look_wait_t wait;
    flow_psn_t       psn;    /* of the next message                           */
    flow_psn_t       oldest; /* the oldest outstanding one; `psn` if none is  */
    uint16_t         lost;   /* UD: share of the packets that are lost, in
                                1/2^16                                        */
    flow_psn_t       rx_psn; /* receiving flow of the pair: consumed so far; 0
                                if there is no such flow                      */
    uint8_t          depth;  /* receiving flow: how far ahead of its turn the
                                furthest packet that it holds came            */
} flow_look_t;

/* `tx` must not have been closed by its user. */
void flow_look(const flow_core_t *core, const flow_tx_t *tx, flow_look_t *look);

#ifdef __cplusplus
}
#endif

#endif
