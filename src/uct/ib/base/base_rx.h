/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_RX_H_
#define BASE_RX_H_

#include "base_types.h"

#define BASE_POLL_BATCH 16 /* completions taken by one poll */

/* One received message. */
void base_rx_completion(base_iface_t *iface, const efa_wc_t *wc);

/* What was polled, or (`count` negative) why nothing was. Returns how many
 * completions there were. */
unsigned base_rx_batch(base_iface_t *iface, const efa_wc_t *wc, int count);

/* Packets wait for memory: tries again. Returns how many were taken up. */
unsigned base_rx_retry(base_iface_t *iface);

/* Tells the core how far the receive queue is read: flow_peer_age. What a
 * poll brought and was not looked at yet does not count. */
void base_rx_tell(base_iface_t *iface);

#endif
