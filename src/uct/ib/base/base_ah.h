/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_AH_H_
#define BASE_AH_H_

#include <uct/ib/efa/efa_ah.h>

#include <flow/reserve.h>

/* The peer's device refuses us (base_retry.c). */
typedef struct base_refused {
    flow_time_t last;  /* refusal; 0: none */
    uint32_t    spent; /* ns, trying, since the first */
} base_refused_t;

/*
 * The hosts that an interface uses: the address handle of each, which is its
 * memory domain's, and its own record beside it. One thread uses it.
 *
 * The device answers RDMA only for peers it has a handle for. A handle in use
 * for a peer's requests must therefore not be recycled: its user holds a
 * reference.
 */
typedef struct base_ah {
    efa_gid_link_t link; /* first */
    efa_ah_t      *device;
    unsigned       refs;
    flow_share_t   share; /* of the interface's reserve of send slots */
    base_refused_t refused; /* control packets, since one got through */
    uint32_t       refused_qpn; /* whose was the first */
} base_ah_t;

typedef struct base_ah_table {
    efa_md_t       *md;
    efa_gid_table_t gids;
    unsigned        limit; /* hosts at a time */
} base_ah_table_t;

/* An empty table, for at most `limit` (>= 1) hosts.
 * As efa_gid_table_init. */
ucs_status_t
base_ah_table_init(base_ah_table_t *table, efa_md_t *md, unsigned limit);

/* Gives all handles back, used ones too: call it after the queue pair. */
void base_ah_table_cleanup(base_ah_table_t *table);

/* The record for `gid`, with one more reference. As efa_ah_get, and
 * UCS_ERR_NO_RESOURCE also where the table is full. */
ucs_status_t
base_ah_get(base_ah_table_t *table, const uint8_t *gid, base_ah_t **ah_p);

/* One more reference of one that has some. */
static inline void base_ah_ref(base_ah_t *ah)
{
    ++ah->refs;
}

/* Gives a reference back. */
void base_ah_put(base_ah_table_t *table, base_ah_t *ah);

#endif
