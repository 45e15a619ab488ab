/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFA_AH_H_
#define EFA_AH_H_

#include "efa_md.h"

#include <flow/reserve.h>

/*
 * Address handles: one per GID, counted.
 *
 * The driver keeps one handle for a protection domain and GID, whoever asked
 * for it, and when one of them destroys it the work of all others to that GID
 * ends (EFA-FACTS: address handles). So the device's handles are in a table of
 * the memory domain, under a lock. An interface, which one thread uses, has a
 * table of its own of those that it uses, and goes to the other one only for
 * its first and its last reference to a GID.
 *
 * A handle that no interface uses stays until its place is needed: endpoints
 * come and go to the same hosts, and each creation is a command to the device.
 * The device has few (1024, EFA-FACTS: a realistic attribute set): when it has
 * none left the oldest unused one is recycled.
 *
 * The device answers RDMA only for peers it has a handle for. So a handle in
 * use for a peer's requests must not be recycled: whoever needs that holds a
 * reference.
 */

#define EFA_AH_BUCKETS 1024 /* of the memory domain's table */
#define EFA_AH_UNKNOWN 0xffff /* in a completion: no handle for the sender */

typedef struct efa_ah efa_ah_t;

struct efa_ah {
    struct ibv_ah *ibah;
    uint8_t        gid[16];
    uint16_t       number; /* what completions call this peer */
    unsigned       refs;
    flow_share_t   share; /* of an interface's reserve of send slots */
    flow_time_t    refused_since; /* status 14 of control packets: when they
                                     began, 0: none since one got through */
    uint32_t       refused_qpn;   /* whose was the first */
    efa_ah_t      *shared; /* the memory domain's; NULL in its own table */
    efa_ah_t      *hash_next;
    efa_ah_t      *lru_prev, *lru_next; /* of a shared one while refs is 0 */
};

/* What an interface uses. */
typedef struct efa_ah_table {
    efa_md_t  *md;
    efa_ah_t **buckets;
    unsigned   mask;  /* buckets - 1 */
    unsigned   count; /* handles in it */
    unsigned   limit;
} efa_ah_table_t;

/* What the memory domain has from the device. */
struct efa_ah_shared {
    pthread_mutex_t lock;
    efa_ah_table_t  table;
    efa_ah_t        lru; /* head; lru.lru_next is the oldest unused one */
};

/* The memory domain's table, empty. UCS_OK, UCS_ERR_NO_MEMORY. */
ucs_status_t efa_ah_shared_open(efa_md_t *md);

/* Destroys all handles; no interface is left. */
void efa_ah_shared_close(efa_md_t *md);

/* An interface's table, empty, for at most `limit` (>= 1) handles.
 * UCS_OK, UCS_ERR_NO_MEMORY. */
ucs_status_t
efa_ah_table_init(efa_ah_table_t *table, efa_md_t *md, unsigned limit);

/* Gives all handles back, used ones too: call it after the queue pair. */
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
