/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFA_NUMBERS_H_
#define EFA_NUMBERS_H_

#include "efa_iface.h"

/* What an interface counts, for UCX's files (efa_vfs.h) and statistics. */
typedef enum efa_number {
    EFA_NUMBER_SENT,         /* messages */
    EFA_NUMBER_RMA,          /* reads and writes posted */
    EFA_NUMBER_RECEIVED,     /* messages handed up */
    EFA_NUMBER_EARLY,        /* of them held until their turn */
    EFA_NUMBER_STALLS,       /* sends that met a full window */
    EFA_NUMBER_NOT_READY,    /* sends posted again: no receive was posted */
    EFA_NUMBER_GRANTED,      /* to all peers, not consumed yet */
    EFA_NUMBER_POSTED,       /* receives, now */
    EFA_NUMBER_POSTED_LEAST, /* ever, when they were posted anew */
    EFA_NUMBER_BUFFERS,      /* for receives */
    EFA_NUMBER_KEPT,         /* of them by UCP */
    EFA_NUMBER_IN_FLIGHT,    /* work requests at the device */
    EFA_NUMBER_PEERS,
    EFA_NUMBER_FLOWS_IN,     /* peers' endpoints to us */
    EFA_NUMBER_HANDLES,      /* address handles */
    EFA_NUMBER_LAST
} efa_number_t;

/* Their names, as UCX wants them for statistics. */
extern ucx_stats_class_t efa_numbers_class;

/* `values` has EFA_NUMBER_LAST elements. Another thread may call it while the
 * interface is at work: then it is not all of one moment. */
void efa_numbers_read(const efa_iface_t *iface, uint64_t *values);

/* Copies them to UCX's statistics where there are some. */
static inline void efa_numbers_report(const efa_iface_t *iface)
{
    if (__builtin_expect(iface->stats != NULL, 0)) {
        efa_numbers_read(iface, iface->stats);
    }
}

#endif
