/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFA_AH_H_
#define EFA_AH_H_

#include "efa_md.h"

/*
 * Address handles of one interface: one per GID, counted.
 *
 * An unused handle stays until its place is needed: endpoints come and go to
 * the same hosts, and each creation is a command to the device. The device
 * has few (1024, EFA-FACTS: a realistic attribute set), so the table is
 * bounded, and a device that has none left makes us recycle our oldest unused.
 *
 * The device answers RDMA only for peers it has a handle for. So a handle in
 * use for a peer's requests must not be recycled: whoever needs that holds a
 * reference.
 */

#define EFA_AH_UNKNOWN 0xffff /* in a completion: no handle for the sender */

typedef struct efa_ah efa_ah_t;

struct efa_ah {
    struct ibv_ah *ibah;
    uint8_t        gid[16];
    uint16_t       number; /* what completions call this peer */
    unsigned       refs;
    efa_ah_t      *hash_next;
    efa_ah_t      *lru_prev, *lru_next; /* while refs is 0 */
};

typedef struct efa_ah_table {
    efa_md_t  *md;
    efa_ah_t **buckets;
    unsigned   mask;  /* buckets - 1 */
    unsigned   count; /* handles, used and unused */
    unsigned   limit;
    efa_ah_t   lru;   /* head; lru.lru_next is the oldest */
} efa_ah_table_t;

/* An empty table for at most `limit` (>= 1) handles.
 * UCS_OK, UCS_ERR_NO_MEMORY. */
ucs_status_t
efa_ah_table_init(efa_ah_table_t *table, efa_md_t *md, unsigned limit);

/* Destroys all handles, used ones too: call it after the queue pair. */
void efa_ah_table_cleanup(efa_ah_table_t *table);

/*
 * The handle for `gid`, with one more reference.
 * UCS_OK; UCS_ERR_NO_RESOURCE: all handles are in use;
 * UCS_ERR_NO_MEMORY; UCS_ERR_INVALID_ADDR: the device refuses this GID.
 */
ucs_status_t
efa_ah_get(efa_ah_table_t *table, const uint8_t *gid, efa_ah_t **ah_p);

/* Gives a reference back. */
void efa_ah_put(efa_ah_table_t *table, efa_ah_t *ah);

#endif
