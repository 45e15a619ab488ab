/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFA_GID_H_
#define EFA_GID_H_

#include <ucp_hooks/host.h>

#include <stdint.h>

/* Records by GID, hashed. A record begins with a link and is its owner's; there
 * is at most one of a GID. */
typedef struct efa_gid_link efa_gid_link_t;

struct efa_gid_link {
    efa_gid_link_t *next;
    uint8_t         gid[16];
};

typedef struct efa_gid_table {
    efa_gid_link_t **buckets;
    unsigned         mask;  /* buckets - 1 */
    unsigned         count; /* records */
} efa_gid_table_t;

/* An empty table, quick up to `most` records. UCS_OK, UCS_ERR_NO_MEMORY. */
ucs_status_t efa_gid_table_init(efa_gid_table_t *table, unsigned most);

/* Frees an empty one. */
void efa_gid_table_cleanup(efa_gid_table_t *table);

/* The record of a GID, or NULL. */
efa_gid_link_t *efa_gid_find(const efa_gid_table_t *table, const uint8_t *gid);

/* Puts a record in, whose gid is set, and takes one out that is there. */
void efa_gid_insert(efa_gid_table_t *table, efa_gid_link_t *link);
void efa_gid_remove(efa_gid_table_t *table, const efa_gid_link_t *link);

/* Takes some record out, in the order of buckets from *bucket on, which is 0
 * for the first call; NULL when there is none. */
efa_gid_link_t *efa_gid_pop(efa_gid_table_t *table, unsigned *bucket);

#endif
