/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_CHECKED_H_
#define BASE_CHECKED_H_

#include "base_types.h"

/*
 * Puts before the operations of an interface what UCX's own transports have:
 * where UCX checks parameters, checks of an active message's id and of lengths,
 * in its words; where UCX keeps statistics (--enable-stats), those of UCT, and
 * a log level that changes while the program runs is noticed. Elsewhere they
 * are left as they are.
 */
void base_checked_ops(base_iface_t *iface);

/* An operation of UCX's counter `what` was tried: counts it, and its bytes, in
 * builds with statistics. Returns `status`: what it did. */
ssize_t
base_checked_count(uct_ep_h ep, ucx_ep_counter_t what, ucx_ep_counter_t bytes,
                   size_t length, ssize_t status);

#endif
