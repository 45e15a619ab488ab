/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_COUNTERS_H_
#define BASE_COUNTERS_H_

#include "base_types.h"

/* Counters of an interface, for UCX's files (base_vfs.h) and statistics. */
typedef enum base_counter {
    BASE_COUNTER_SENT,         /* messages */
    BASE_COUNTER_RMA,          /* reads and writes posted */
    BASE_COUNTER_RECEIVED,     /* messages handed up */
    BASE_COUNTER_EARLY,        /* of them held until their turn */
    BASE_COUNTER_DROPPED,      /* packets, for any reason (flow/drop.h) */
    BASE_COUNTER_STALLS,       /* sends that met a full window */
    BASE_COUNTER_NOT_READY,    /* sends posted again (FLOW_SEND_RNR): no receive
                                  was posted, or there was no address handle */
    BASE_COUNTER_RESENT,       /* since not acknowledged in time, or a gap */
    BASE_COUNTER_GRANTED,      /* to all peers, not consumed yet */
    BASE_COUNTER_POSTED,       /* receives, now */
    BASE_COUNTER_POSTED_LEAST, /* ever, when they were posted anew */
    BASE_COUNTER_BUFFERS,      /* for receives */
    BASE_COUNTER_KEPT,         /* of them by UCP */
    BASE_COUNTER_IN_FLIGHT,    /* work requests at the device */
    BASE_COUNTER_PEERS,
    BASE_COUNTER_FLOWS_IN, /* peers' endpoints to us */
    BASE_COUNTER_HANDLES,  /* address handles */
    BASE_COUNTER_LAST
} base_counter_t;

/* Their names, for an array of them. */
#define BASE_COUNTER_NAMES                                                    \
    {                                                                        \
        [BASE_COUNTER_SENT]         = "messages_sent",                        \
        [BASE_COUNTER_RMA]          = "rma_posted",                           \
        [BASE_COUNTER_RECEIVED]     = "messages_received",                    \
        [BASE_COUNTER_EARLY]        = "messages_early",                       \
        [BASE_COUNTER_DROPPED]      = "packets_dropped",                      \
        [BASE_COUNTER_STALLS]       = "window_stalls",                        \
        [BASE_COUNTER_NOT_READY]    = "receiver_not_ready",                   \
        [BASE_COUNTER_RESENT]       = "messages_resent",                      \
        [BASE_COUNTER_GRANTED]      = "granted",                              \
        [BASE_COUNTER_POSTED]       = "receives_posted",                      \
        [BASE_COUNTER_POSTED_LEAST] = "receives_posted_least",                \
        [BASE_COUNTER_BUFFERS]      = "receive_buffers",                      \
        [BASE_COUNTER_KEPT]         = "receive_buffers_kept",                 \
        [BASE_COUNTER_IN_FLIGHT]    = "requests_in_flight",                   \
        [BASE_COUNTER_PEERS]        = "peers",                                \
        [BASE_COUNTER_FLOWS_IN]     = "flows_in",                             \
        [BASE_COUNTER_HANDLES]      = "address_handles",                      \
    }

extern const char *const base_counter_names[];

/* The class of statistics of the transport `_name`, as UCX takes it. */
#define BASE_COUNTERS_CLASS(_name) \
    {.name = _name, .count = BASE_COUNTER_LAST, .names = BASE_COUNTER_NAMES}

/* `values` has BASE_COUNTER_LAST elements. Another thread may call it while the
 * interface is at work: then it is not all of one moment. */
void base_counters_read(const base_iface_t *iface, uint64_t *values);

/* Copies them to UCX's statistics where there are some. */
static inline void base_counters_report(const base_iface_t *iface)
{
    if (__builtin_expect(iface->stats != NULL, 0)) {
        base_counters_read(iface, iface->stats);
    }
}

#endif
