/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_RX_H_
#define BASE_RX_H_

#include "base_types.h"

#define BASE_POLL_BATCH 16 /* completions taken by one poll */
#define BASE_TX_MANY 64 /* operations out: a batch may be a small part of those
                           that are over */
#define BASE_TX_BATCHES 32 /* polls in a progress of the send queue where sends
                              wait for completions (BASE_TODO_DRAIN) */
#define BASE_RX_BATCHES 16 /* polls to find the receive queue's end, at most */

/* One received message. */
void base_rx_completion(base_iface_t *iface, const efa_wc_t *wc);

/* Takes the completions of a poll, or (`count` negative) its error. Returns the
 * number of completions. */
unsigned base_rx_batch(base_iface_t *iface, const efa_wc_t *wc, int count);

/* Polls for a batch of packets, by either path. Returns how many completions
 * there were. */
unsigned base_rx_poll(base_iface_t *iface);

/* The same by the direct path, which polls by itself, up to the first
 * completion that is no message; no packet is traced. */
unsigned base_rx_direct(base_iface_t *iface);

/*
 * While iface->is_quiet is set, received packets are taken and nothing is
 * delivered: the flows that have something then are noted, as far as
 * base_rx_has_room says that another batch may come.
 */
static inline int base_rx_has_room(const base_iface_t *iface)
{
    return iface->waits.later_max - iface->waits.later_count >= BASE_POLL_BATCH;
}

/* Delivers the packets of those flows. Returns of how many. */
unsigned base_rx_take_later(base_iface_t *iface);

/* The interface closes: frees the packets of those flows, undelivered. */
void base_rx_drop_later(base_iface_t *iface);

/* Packets wait for memory: tries again. Returns how many were taken up. */
unsigned base_rx_retry(base_iface_t *iface);

/* Tells the core how far the receive queue is read: flow_peer_age. Completions
 * that were polled and not looked at yet do not count. */
void base_rx_tell(base_iface_t *iface);

#endif
