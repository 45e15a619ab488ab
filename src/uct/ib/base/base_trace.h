/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_TRACE_H_
#define BASE_TRACE_H_

#include "base_types.h"

/*
 * Packets as text, one line each, with UCX_LOG_LEVEL=data. Whether that is on
 * is asked once, when the interface opens: off, a packet costs one test. (In
 * builds for developers at each call: base_checked.c.) The lines say DEBUG
 * where a UCX built for users refuses to print a higher level.
 */

#define BASE_TRACE_LINE 192 /* bytes that hold any packet's line */
#define BASE_TRACE_TEXT 512 /* what the user's tracer may add */

/* Is it on? Sets or clears BASE_TRACED_LOG. */
static inline void base_trace_look(base_iface_t *iface)
{
    iface->traced &= ~BASE_TRACED_LOG;
    if (host_log_is_enabled(iface->super.host, UCS_LOG_LEVEL_TRACE_DATA)) {
        iface->traced |= BASE_TRACED_LOG;
    }
}

/* Logs a packet that is about to be posted to `qpn`. */
void base_trace_log_tx(base_iface_t *iface, const base_op_t *op, uint32_t qpn);

/* Logs an RDMA operation of no byte, for which nothing is posted to `qpn`. */
void base_trace_log_nothing(base_iface_t *iface, uint32_t qpn);

/* Out of line part of base_trace_rx. */
void base_trace_log_rx(base_iface_t *iface, const void *packet, size_t length,
                       uint32_t qpn);

/* A packet was received, from `qpn`. */
static inline void base_trace_rx(base_iface_t *iface, const void *packet,
                                 size_t length, uint32_t qpn)
{
    if (__builtin_expect(iface->traced & BASE_TRACED_LOG, 0)) {
        base_trace_log_rx(iface, packet, length, qpn);
    }
}

#endif
