/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFA_GID_H_
#define EFA_GID_H_

#include <ucp_hooks/host.h>

#include <stdint.h>

/* Records by GID. A record begins with a link and is its owner's; there is at
 * most one of a GID. The hash is keyed: a peer says itself which GID it has. */
typedef struct efa_gid_link efa_gid_link_t;

struct efa_gid_link {
    efa_gid_link_t *next;
    uint64_t        hash;
    uint8_t         gid[16];
};

typedef struct efa_gid_table {
    efa_gid_link_t **buckets;
    unsigned         mask;  /* buckets - 1 */
    unsigned         count; /* records */
    uint64_t         key[2];
} efa_gid_table_t;

/* Buckets of a table that is quick up to `most` records: a pointer each. */
unsigned efa_gid_buckets(unsigned most);

/* An empty table, quick up to `most` records, with the key of another one or,
 * NULL, with one of its own. UCS_OK, UCS_ERR_NO_MEMORY,
 * UCS_ERR_IO_ERROR: the kernel gave no random bytes. */
ucs_status_t efa_gid_table_init(efa_gid_table_t *table, unsigned most,
                                const efa_gid_table_t *like);

/* The hash of a GID in this table and in those of the same key. */
uint64_t efa_gid_hash(const efa_gid_table_t *table, const uint8_t *gid);

/* Frees an empty one. */
void efa_gid_table_cleanup(efa_gid_table_t *table);

/* The record of a GID, whose hash is given, or NULL. */
efa_gid_link_t *efa_gid_find(const efa_gid_table_t *table, const uint8_t *gid,
                             uint64_t hash);

/* Puts a record in, by GID and hash; takes one out that is there. */
void efa_gid_insert(efa_gid_table_t *table, efa_gid_link_t *link,
                    const uint8_t *gid, uint64_t hash);
void efa_gid_remove(efa_gid_table_t *table, const efa_gid_link_t *link);

/* Takes some record out, in the order of buckets from *bucket on, which is 0
 * for the first call; NULL when there is none. */
efa_gid_link_t *efa_gid_pop(efa_gid_table_t *table, unsigned *bucket);

#endif
