/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFA_AH_H_
#define EFA_AH_H_

#include "efa_gid.h"
#include "efa_md.h"

/*
 * Address handles of a memory domain: one per GID, counted, under a lock.
 *
 * The driver keeps one handle for a protection domain and GID, shared by all
 * that asked for it, and when one of them destroys it the work of all others to
 * that GID ends (EFA-FACTS: address handles). That is why the memory domain has
 * them. An interface has a table of its own of those that it uses (base_ah.h),
 * and comes here only for its first and its last reference to a GID.
 *
 * A handle that no interface uses stays until its place is needed: endpoints
 * come and go to the same hosts, and each creation is a command to the device.
 * The device has few (1024, EFA-FACTS: a realistic attribute set): when it has
 * none left the oldest unused one is recycled.
 */

#define EFA_AH_UNKNOWN 0xffff /* in a completion: no handle for the sender */
#define EFA_AH_COMMON  1024   /* handles of most devices: the table's size */

typedef struct efa_ah efa_ah_t;

struct efa_ah {
    efa_gid_link_t link; /* first */
    struct ibv_ah *ibah;
    uint16_t       number; /* this peer's number in completions */
    unsigned       refs;
    efa_ah_t      *lru_prev, *lru_next; /* while refs is 0 */
};

/* The domain's table, empty. As efa_gid_table_init. */
ucs_status_t efa_ah_table_open(efa_md_t *md);

/* Destroys all handles; no interface is left. */
void efa_ah_table_close(efa_md_t *md);

/* The domain's GIDs: an interface's table has the same key, so that a GID is
 * hashed once for both. */
const efa_gid_table_t *efa_ah_gids(const efa_md_t *md);

/*
 * The handle for `gid`, whose hash in efa_ah_gids is given, with one more
 * reference.
 * UCS_OK; UCS_ERR_NO_RESOURCE: all handles are in use;
 * UCS_ERR_NO_MEMORY; UCS_ERR_INVALID_ADDR: the device refuses this GID.
 */
ucs_status_t efa_ah_get(efa_md_t *md, const uint8_t *gid, uint64_t hash,
                        efa_ah_t **ah_p);

/* A handle beside the table's. NULL, and errno. */
struct ibv_ah *
efa_ah_make(const efa_device_t *device, struct ibv_pd *pd, const uint8_t *gid);

/* Gives a reference back. */
void efa_ah_put(efa_md_t *md, efa_ah_t *ah);

#endif
