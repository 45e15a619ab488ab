/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events, pulled by the caller: never inside a post, so that an error handler
 * runs from progress only.
 *
 *   while (flow_event_pending(core) && flow_event_next(core, &event)) { … }
 */
#ifndef FLOW_EVENT_H_
#define FLOW_EVENT_H_

#include "flow/state_priv.h"
#include "flow/tx.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum flow_event_type {
    FLOW_EVENT_TX_READY,   /* tx, cookie: a blocked flow may send again       */
    FLOW_EVENT_TX_OPEN,    /* tx, cookie: answered, short headers from now    */
    FLOW_EVENT_TX_RMA,     /* tx, cookie: flow_tx_rma_ready or _refused is 1  */
    FLOW_EVENT_TX_FAILED,  /* tx, cookie: once; why is the reason; the user
                              still has to close it                           */
    FLOW_EVENT_TX_GONE,    /* tx, cookie: closed and done with; the pointer is
                              invalid after this event                        */
    FLOW_EVENT_PEER_INTRODUCED, /* peer: somebody said hello (or we opened a
                              flow to it): get an address handle, then
                              flow_peer_set_ah                                */
    FLOW_EVENT_PEER_WANTS_RMA,  /* peer: it asks for RMA: flow_peer_set_ah    */
    FLOW_EVENT_PEER_GONE,  /* peer, and cookie, its word, which the record has
                              no more: no flow is left in either direction:
                              release the address handle; the pointer is
                              invalid after this event                        */
    FLOW_EVENT_RX_RELEASE, /* handle: a held packet that will never be
                              delivered: repost its buffer                    */
    FLOW_EVENT_RX_SCARCE   /* busy senders could use more receive buffers:
                              post more if there may be, flow_core_rx_posted  */
} flow_event_type_t;

typedef struct flow_event {
    flow_event_type_t type;
    flow_end_t        why;
    flow_tx_t        *tx;
    void             *cookie;
    flow_peer_t      *peer;
    void             *handle;
} flow_event_t;

/* Nonzero when flow_event_next has something. One load and compare. */
static inline int flow_event_pending(const flow_core_t *core)
{
    return core->event_pending != 0;
}

/* 1: event is filled; each is returned once. 0: none. */
int flow_event_next(flow_core_t *core, flow_event_t *event);

/* The same of those about peers, which concern no user. Where no callback may
 * run it is enough to answer newcomers (flow/resend.h). */
int flow_event_peer_next(flow_core_t *core, flow_event_t *event);

#ifdef __cplusplus
}
#endif

#endif
