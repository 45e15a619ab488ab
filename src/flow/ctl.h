/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Control packets, which the caller pulls from its progress.
 *
 *   while (have a reserved send slot && flow_ctl_pending(core) &&
 *          flow_ctl_next(core, now, &ctl)) { post ctl.data to ctl.peer }
 * and on the completion flow_ctl_done(core, ctl.cookie, status, now).
 */
#ifndef FLOW_CTL_H_
#define FLOW_CTL_H_

#include "flow/state_priv.h"
#include "flow/peer.h"

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

#ifdef __cplusplus
}
#endif

#endif
