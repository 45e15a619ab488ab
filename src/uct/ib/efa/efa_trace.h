/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFA_TRACE_H_
#define EFA_TRACE_H_

#include "efa_ep.h"

/*
 * Packets as text, one line each, with UCX_LOG_LEVEL=data. Whether that is on
 * is asked once, when the interface opens: off, a packet costs one test. (In
 * builds for developers at each call: srd_checked.c.) The lines say DEBUG where
 * a UCX built for users refuses to print a higher level.
 */

#define EFA_TRACE_LINE 192 /* bytes that hold any line */
#define EFA_TRACE_TEXT 512 /* what the user's tracer may add */

/*
 * Writes what a packet of `length` bytes says: kind, numbers, payload's length.
 * Trusts nothing in it. `line` has `size` bytes, at least 1.
 */
void efa_trace_packet(char *line, size_t size, const void *packet,
                      size_t length);

/* Is it on? Sets or clears EFA_TRACED_LOG. */
static inline void efa_trace_look(efa_iface_t *iface)
{
    iface->traced &= ~EFA_TRACED_LOG;
    if (host_log_is_enabled(iface->super.host, UCS_LOG_LEVEL_TRACE_DATA)) {
        iface->traced |= EFA_TRACED_LOG;
    }
}

/* Out of line part of efa_trace_rx. What is posted is logged by efa_post_send
 * and efa_post_rdma. */
void efa_trace_log_rx(efa_iface_t *iface, const void *packet, size_t length,
                      uint32_t qpn);

/* A packet was received, from `qpn`. */
static inline void efa_trace_rx(efa_iface_t *iface, const void *packet,
                                size_t length, uint32_t qpn)
{
    if (__builtin_expect(iface->traced, 0)) {
        efa_trace_log_rx(iface, packet, length, qpn);
    }
}

#endif
