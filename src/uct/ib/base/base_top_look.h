/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_TOP_LOOK_H_
#define BASE_TOP_LOOK_H_

#include "base_top_bytes.h"
#include "base_top_page.h"
#include "base_types.h"

/* A second of an interface, as its endpoints are looked at in it. */
typedef struct base_top_second {
    flow_time_t began;
    unsigned    looks;
    uint64_t    rma_posted; /* at the last look */
    uint64_t    moves;      /* base_top_moves, then */
    flow_time_t moved;
} base_top_second_t;

/* One look at each endpoint. Under base_vfs_lock. */
void base_top_look(base_iface_t *iface, base_top_second_t *second,
                   base_top_bytes_t *bytes, flow_time_t now);

/* The second is over: fills the page's part that changes, and begins the next.
 * Under base_vfs_lock. */
void base_top_fill(base_iface_t *iface, base_top_second_t *second,
                   base_top_page_t *page, flow_time_t now);

#endif
