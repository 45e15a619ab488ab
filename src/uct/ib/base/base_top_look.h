/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_TOP_LOOK_H_
#define BASE_TOP_LOOK_H_

#include "base_top_bytes.h"
#include "base_top_page.h"
#include "base_types.h"

/* State of an interface between two pages, which are a second apart. */
typedef struct base_top_second {
    flow_time_t began;
    unsigned    looks;      /* since then */
    uint64_t    rma_posted; /* at the last look that saw RDMA outstanding */
    uint64_t    moves;      /* base_top_moves() at the last look */
    flow_time_t moved;      /* when that number changed last */
    flow_time_t progressed; /* the look before which progress ran last */
} base_top_second_t;

/* Looks at each endpoint once. The caller holds base_vfs_lock. */
void base_top_look(base_iface_t *iface, base_top_second_t *second,
                   base_top_bytes_t *bytes, flow_time_t now);

/* At the end of a second: fills in the variable part of the page, and begins
 * the next second. The caller holds base_vfs_lock. */
void base_top_fill(base_iface_t *iface, base_top_second_t *second,
                   base_top_page_t *page, flow_time_t now);

#endif
