/* SPDX-License-Identifier: BSD-3-Clause */
#include "efa_ah.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static unsigned efa_ah_hash(const efa_ah_table_t *table, const uint8_t *gid)
{
    uint64_t low, high;

    memcpy(&low, gid, sizeof(low));
    memcpy(&high, gid + sizeof(low), sizeof(high));
    return ((low ^ high) * 0x9e3779b97f4a7c15ull >> 32) & table->mask;
}

static void efa_ah_lru_add(efa_ah_table_t *table, efa_ah_t *ah)
{
    ah->lru_prev             = table->lru.lru_prev;
    ah->lru_next             = &table->lru;
    ah->lru_prev->lru_next   = ah;
    table->lru.lru_prev      = ah;
}

static void efa_ah_lru_remove(efa_ah_t *ah)
{
    ah->lru_prev->lru_next = ah->lru_next;
    ah->lru_next->lru_prev = ah->lru_prev;
}

static void efa_ah_destroy(efa_ah_table_t *table, efa_ah_t *ah)
{
    efa_ah_t **link = &table->buckets[efa_ah_hash(table, ah->gid)];

    while (*link != ah) {
        link = &(*link)->hash_next;
    }
    *link = ah->hash_next;
    --table->count;
    table->md->device->verbs->destroy_ah(ah->ibah);
    free(ah);
}

/* Destroys the oldest unused handle. Returns 0 when there is none. */
static int efa_ah_recycle(efa_ah_table_t *table)
{
    efa_ah_t *oldest = table->lru.lru_next;

    if (oldest == &table->lru) {
        return 0;
    }
    efa_ah_lru_remove(oldest);
    efa_ah_destroy(table, oldest);
    return 1;
}

static ucs_status_t efa_ah_create(efa_ah_table_t *table, efa_ah_t *ah)
{
    const efa_verbs_t   *verbs = table->md->device->verbs;
    struct ibv_ah_attr   attr;
    struct efadv_ah_attr efa_attr;

    memset(&attr, 0, sizeof(attr));
    attr.is_global     = 1;
    attr.port_num      = EFA_PORT;
    attr.grh.hop_limit = 255;
    memcpy(attr.grh.dgid.raw, ah->gid, sizeof(ah->gid));
    do {
        errno    = 0;
        ah->ibah = verbs->create_ah(table->md->pd, &attr);
    } while ((ah->ibah == NULL) && (errno == ENOMEM) && efa_ah_recycle(table));
    if (ah->ibah == NULL) {
        return (errno == ENOMEM) ? UCS_ERR_NO_RESOURCE : UCS_ERR_INVALID_ADDR;
    }

    memset(&efa_attr, 0, sizeof(efa_attr));
    if (verbs->efa_query_ah(ah->ibah, &efa_attr, sizeof(efa_attr)) != 0) {
        verbs->destroy_ah(ah->ibah);
        return UCS_ERR_INVALID_ADDR;
    }
    ah->number = efa_attr.ahn;
    return UCS_OK;
}

static ucs_status_t
efa_ah_add(efa_ah_table_t *table, const uint8_t *gid, efa_ah_t **ah_p)
{
    unsigned     bucket = efa_ah_hash(table, gid);
    efa_ah_t    *ah;
    ucs_status_t status;

    if ((table->count >= table->limit) && !efa_ah_recycle(table)) {
        return UCS_ERR_NO_RESOURCE;
    }
    ah = calloc(1, sizeof(*ah));
    if (ah == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    memcpy(ah->gid, gid, sizeof(ah->gid));
    status = efa_ah_create(table, ah);
    if (status != UCS_OK) {
        free(ah);
        return status;
    }

    ah->refs               = 1;
    ah->hash_next          = table->buckets[bucket];
    table->buckets[bucket] = ah;
    ++table->count;
    *ah_p = ah;
    return UCS_OK;
}

ucs_status_t
efa_ah_get(efa_ah_table_t *table, const uint8_t *gid, efa_ah_t **ah_p)
{
    efa_ah_t *ah = table->buckets[efa_ah_hash(table, gid)];

    for (; ah != NULL; ah = ah->hash_next) {
        if (memcmp(ah->gid, gid, sizeof(ah->gid)) == 0) {
            if (ah->refs++ == 0) {
                efa_ah_lru_remove(ah);
            }
            *ah_p = ah;
            return UCS_OK;
        }
    }
    return efa_ah_add(table, gid, ah_p);
}

void efa_ah_put(efa_ah_table_t *table, efa_ah_t *ah)
{
    if (--ah->refs == 0) {
        efa_ah_lru_add(table, ah);
    }
}

ucs_status_t
efa_ah_table_init(efa_ah_table_t *table, efa_md_t *md, unsigned limit)
{
    unsigned buckets = 16;

    while (buckets < limit) {
        buckets *= 2;
    }
    memset(table, 0, sizeof(*table));
    table->buckets = calloc(buckets, sizeof(*table->buckets));
    if (table->buckets == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    table->md           = md;
    table->mask         = buckets - 1;
    table->limit        = limit;
    table->lru.lru_prev = &table->lru;
    table->lru.lru_next = &table->lru;
    return UCS_OK;
}

void efa_ah_table_cleanup(efa_ah_table_t *table)
{
    efa_ah_t *ah, *next;
    unsigned  i;

    for (i = 0; i <= table->mask; ++i) {
        for (ah = table->buckets[i]; ah != NULL; ah = next) {
            next = ah->hash_next;
            table->md->device->verbs->destroy_ah(ah->ibah);
            free(ah);
        }
    }
    free(table->buckets);
}
