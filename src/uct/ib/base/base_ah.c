/* SPDX-License-Identifier: BSD-3-Clause */
#include "base_ah.h"

#include <stdlib.h>

ucs_status_t
base_ah_table_init(base_ah_table_t *table, efa_md_t *md, unsigned limit)
{
    table->md    = md;
    table->limit = limit;
    return efa_gid_table_init(&table->gids, limit, efa_ah_gids(md));
}

static void base_ah_free(base_ah_table_t *table, base_ah_t *ah)
{
    efa_ah_put(table->md, ah->device);
    free(ah);
}

void base_ah_table_cleanup(base_ah_table_t *table)
{
    efa_gid_link_t *link;
    unsigned        bucket = 0;

    while ((link = efa_gid_pop(&table->gids, &bucket)) != NULL) {
        base_ah_free(table, (base_ah_t*)link);
    }
    efa_gid_table_cleanup(&table->gids);
}

static ucs_status_t base_ah_add(base_ah_table_t *table, const uint8_t *gid,
                                uint64_t hash, base_ah_t **ah_p)
{
    base_ah_t   *ah;
    ucs_status_t status;

    if (table->gids.count >= table->limit) {
        return UCS_ERR_NO_RESOURCE;
    }
    ah = calloc(1, sizeof(*ah));
    if (ah == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    status = efa_ah_get(table->md, gid, hash, &ah->device);
    if (status != UCS_OK) {
        free(ah);
        return status;
    }

    ah->refs = 1;
    efa_gid_insert(&table->gids, &ah->link, gid, hash);
    *ah_p = ah;
    return UCS_OK;
}

ucs_status_t
base_ah_get(base_ah_table_t *table, const uint8_t *gid, base_ah_t **ah_p)
{
    uint64_t hash = efa_gid_hash(&table->gids, gid);

    *ah_p = (base_ah_t*)efa_gid_find(&table->gids, gid, hash);
    if (*ah_p != NULL) {
        ++(*ah_p)->refs;
        return UCS_OK;
    }
    return base_ah_add(table, gid, hash, ah_p);
}

void base_ah_put(base_ah_table_t *table, base_ah_t *ah)
{
    if (--ah->refs == 0) {
        efa_gid_remove(&table->gids, &ah->link);
        base_ah_free(table, ah);
    }
}
