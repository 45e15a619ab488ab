/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_SIZING_H_
#define BASE_SIZING_H_

#include "base_config.h"

/*
 * Resources of a host that an interface takes, computed by the code that takes
 * them: for the planning of jobs (srd_info --plan).
 */
typedef struct base_sizing {
    unsigned queue_pairs, queues; /* queue pairs, completion queues */
    unsigned files;               /* descriptors */
    unsigned sends, receives;     /* depths of the queue pair */
    unsigned buffers_open;        /* receive buffers when it opens, */
    unsigned buffers;             /* and when all peers send */
    unsigned huge_pages;          /* that hold some then, where there are any */
    size_t   locked_open, locked; /* bytes that are registered, likewise; not
                                     those of the trial before it opens
                                     (EFA_TRIAL_BYTES) */
    size_t   heap_open, heap;     /* bytes that are not: this module's records,
                                     likewise; not those of packets that came
                                     early, nor what UCX and libefa take */
    unsigned handles;             /* address handles */
    int      is_short_of_flows;   /* more peers than there may be flows */
} base_sizing_t;

/*
 * For an interface as `config` says, resolved for a device
 * (base_config_resolve) with messages of `max_msg` bytes, one of `devices` of
 * the process, that talks to `peers` interfaces on `gids` devices.
 */
void base_sizing_get(base_sizing_t *need, const base_config_t *config,
                     size_t max_msg, unsigned devices, unsigned peers,
                     unsigned gids);

#endif
