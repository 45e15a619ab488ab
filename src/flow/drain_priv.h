/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * drain.c, for the core alone (UD): a queue drains.
 *
 * A sender cannot tell a queue that others keep full from a long way. Each
 * acknowledgement tells the receiver's clock, and whenever that clock passes a
 * multiple of a power of two, all who send to this receiver are silent for a
 * round trip. The queue into it is empty then, and the packets that follow,
 * which are sent slowly, measure the way.
 *
 * A host that both sends and receives is silent when its own clock says so,
 * too: the acknowledgements of what it receives stand in the queue of its link.
 *
 * A flow whose way is long drains at every second, fourth, ... of these
 * instants, so those of one flow are instants of the others, too. Times are
 * stamps.
 */
#ifndef FLOW_DRAIN_PRIV_H_
#define FLOW_DRAIN_PRIV_H_

#include "flow/state_priv.h"

enum {
    FLOW_DRAIN_TRUST = 16 /* flow_path_t.trust: base is the way's own         */
};

/* An acknowledgement tells the receiver's clock. */
void flow_drain_clock(flow_path_t *path, uint32_t clock, uint32_t now);

/* Is there a drain now, or the slow time behind one? */
int flow_drain_is_on(const flow_path_t *path, uint32_t now);
/* Is there one that this flow has to obey, as its window was in use before, by
 * the receiver's clock or by our own host's? */
int flow_drain_holds(const flow_path_t *path, uint32_t now);

/* A packet took so long. Was it sent behind a drain? Then what it met is the
 * way alone, and after some of them the way is known. */
int flow_drain_sample(flow_path_t *path, uint32_t rtt, uint32_t now);

/* How long the packet after `out` others must wait for a drain, where the
 * window has `whole` packets, more than `out`; 0: it need not. */
uint32_t flow_drain_wait(const flow_path_t *path, unsigned whole, unsigned out,
                         uint32_t now);

/* The same where the window is less than a packet, and another may be sent
 * after `pause`. */
uint32_t flow_drain_wait_small(const flow_path_t *path, uint32_t pause,
                               uint32_t now);

#endif
