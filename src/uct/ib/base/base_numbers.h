/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_NUMBERS_H_
#define BASE_NUMBERS_H_

#include "base_types.h"

/* What an interface counts, for UCX's files (base_vfs.h) and statistics. */
typedef enum base_number {
    BASE_NUMBER_SENT,         /* messages */
    BASE_NUMBER_RMA,          /* reads and writes posted */
    BASE_NUMBER_RECEIVED,     /* messages handed up */
    BASE_NUMBER_EARLY,        /* of them held until their turn */
    BASE_NUMBER_STALLS,       /* sends that met a full window */
    BASE_NUMBER_NOT_READY,    /* sends posted again: no receive was posted */
    BASE_NUMBER_RESENT,       /* since not acknowledged in time, or a gap */
    BASE_NUMBER_GRANTED,      /* to all peers, not consumed yet */
    BASE_NUMBER_POSTED,       /* receives, now */
    BASE_NUMBER_POSTED_LEAST, /* ever, when they were posted anew */
    BASE_NUMBER_BUFFERS,      /* for receives */
    BASE_NUMBER_KEPT,         /* of them by UCP */
    BASE_NUMBER_IN_FLIGHT,    /* work requests at the device */
    BASE_NUMBER_PEERS,
    BASE_NUMBER_FLOWS_IN, /* peers' endpoints to us */
    BASE_NUMBER_HANDLES,  /* address handles */
    BASE_NUMBER_LAST
} base_number_t;

/* Their names, for an array of them. */
#define BASE_NUMBER_NAMES                                                    \
    {                                                                        \
        [BASE_NUMBER_SENT]         = "messages_sent",                        \
        [BASE_NUMBER_RMA]          = "rma_posted",                           \
        [BASE_NUMBER_RECEIVED]     = "messages_received",                    \
        [BASE_NUMBER_EARLY]        = "messages_early",                       \
        [BASE_NUMBER_STALLS]       = "window_stalls",                        \
        [BASE_NUMBER_NOT_READY]    = "receiver_not_ready",                   \
        [BASE_NUMBER_RESENT]       = "messages_resent",                      \
        [BASE_NUMBER_GRANTED]      = "granted",                              \
        [BASE_NUMBER_POSTED]       = "receives_posted",                      \
        [BASE_NUMBER_POSTED_LEAST] = "receives_posted_least",                \
        [BASE_NUMBER_BUFFERS]      = "receive_buffers",                      \
        [BASE_NUMBER_KEPT]         = "receive_buffers_kept",                 \
        [BASE_NUMBER_IN_FLIGHT]    = "requests_in_flight",                   \
        [BASE_NUMBER_PEERS]        = "peers",                                \
        [BASE_NUMBER_FLOWS_IN]     = "flows_in",                             \
        [BASE_NUMBER_HANDLES]      = "address_handles",                      \
    }

extern const char *const base_number_names[];

/* What UCX wants to know for statistics of the transport `_name`. */
#define BASE_NUMBERS_CLASS(_name) \
    {.name = _name, .count = BASE_NUMBER_LAST, .names = BASE_NUMBER_NAMES}

/* `values` has BASE_NUMBER_LAST elements. Another thread may call it while the
 * interface is at work: then it is not all of one moment. */
void base_numbers_read(const base_iface_t *iface, uint64_t *values);

/* Copies them to UCX's statistics where there are some. */
static inline void base_numbers_report(const base_iface_t *iface)
{
    if (__builtin_expect(iface->stats != NULL, 0)) {
        base_numbers_read(iface, iface->stats);
    }
}

#endif
