/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Control packets and time: the caller pulls both from its progress.
 *
 *   while (have a reserved send slot && flow_ctl_pending(core) &&
 *          flow_ctl_next(core, now, &ctl)) { post ctl.data to ctl.peer }
 * and on the completion flow_ctl_done(core, ctl.cookie, status, now).
 */
#ifndef FLOW_CTL_H_
#define FLOW_CTL_H_

#include "flow/core_priv.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct flow_ctl {
    flow_peer_t *peer;   /* flow_peer_addr: where; flow_peer_cookie: its AH   */
    uint64_t     cookie; /* for flow_ctl_done                                 */
    uint16_t     len;    /* 8 .. FLOW_CTL_MAX                                 */
    uint8_t      data[FLOW_CTL_MAX];
} flow_ctl_t;

/* Nonzero when flow_ctl_next may have a packet. One load and compare. */
static inline int flow_ctl_pending(const flow_core_t *core)
{
    return core->ctl_pending != 0;
}

/*
 * 1: ctl holds a packet to post now; it counts as sent until flow_ctl_done.
 * 0: nothing is due (back-offs may be running: flow_timer_next).
 */
int flow_ctl_next(flow_core_t *core, flow_time_t now, flow_ctl_t *ctl);

/* The post failed before the device took it: the packet is due again. */
void flow_ctl_unsent(flow_core_t *core, uint64_t cookie);

/*
 * It ended. RNR: due again after a back-off. LOST: flow_peer_lost if it served
 * a sending flow that was well. DEAD: flow_peer_dead. ERROR: the sending flow
 * it served fails. Once for each packet handed out; that the receiving flow it
 * served has gone meanwhile does not matter.
 */
void flow_ctl_done(flow_core_t *core, uint64_t cookie,
                   flow_send_status_t status, flow_time_t now);

/*
 * Earliest time at which flow_timer_run has something to do, FLOW_TIME_NEVER
 * when nothing runs. One load.
 */
static inline flow_time_t flow_timer_next(const flow_core_t *core)
{
    return core->timer_next;
}

/*
 * Run what is due: afterwards flow_ctl_next and flow_tx_repost_next may have
 * something. Cheap when called early.
 */
void flow_timer_run(flow_core_t *core, flow_time_t now);

/* What the core knows of a peer. The address is constant while it lives. */
flow_addr_t flow_peer_addr(const flow_core_t *core, const flow_peer_t *peer);

/* The caller's word for a peer (its address handle); NULL at first. */
void *flow_peer_cookie(const flow_peer_t *peer);
void flow_peer_set_cookie(flow_peer_t *peer, void *cookie);

/*
 * The caller holds an address handle numbered ah for the peer (FLOW_AH_UNKNOWN:
 * none, the sender check is by QPN only). pinned: it stays until
 * FLOW_EVENT_PEER_GONE, so the peer may use RMA; refused: it will never be.
 * Call it in answer to FLOW_EVENT_PEER_INTRODUCED, and again on any change.
 * The answer to the peer's hello waits for the first call.
 */
typedef enum flow_peer_pin {
    FLOW_PEER_UNPINNED, /* not now; asked again by FLOW_EVENT_PEER_WANTS_RMA  */
    FLOW_PEER_PINNED,
    FLOW_PEER_REFUSED   /* no room: RMA of this peer fails by name            */
} flow_peer_pin_t;
void flow_peer_set_ah(flow_core_t *core, flow_peer_t *peer, uint16_t ah,
                      flow_peer_pin_t pin);

/*
 * Nothing gets through to the peer, or no answer from it: the flows to it fail,
 * those from it go on. It may live, so it is told of each flow that was lost,
 * when that is closed, and then fails the other flow of the pair; if that does
 * not get through either, it waits until the peer is heard or a flow is opened
 * to it. New flows, of either side, are as good as any.
 */
void flow_peer_lost(flow_core_t *core, flow_peer_t *peer);

/*
 * The peer's incarnation is gone, for certain: its flows in both directions
 * fail, no flow to it can be opened, its packets have no effect but a reset in
 * answer to a hello, should it live after all.
 */
void flow_peer_dead(flow_core_t *core, flow_peer_t *peer);

#ifdef __cplusplus
}
#endif

#endif
