/* SPDX-License-Identifier: BSD-3-Clause */
#include "efa_ah.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- a table, of either kind */

static efa_ah_t **efa_ah_bucket(const efa_ah_table_t *table,
                                const uint8_t *gid)
{
    uint64_t low, high;

    memcpy(&low, gid, sizeof(low));
    memcpy(&high, gid + sizeof(low), sizeof(high));
    return &table->buckets[((low ^ high) * 0x9e3779b97f4a7c15ull >> 32) &
                           table->mask];
}

static efa_ah_t *efa_ah_find(const efa_ah_table_t *table, const uint8_t *gid)
{
    efa_ah_t *ah = *efa_ah_bucket(table, gid);

    while ((ah != NULL) && (memcmp(ah->gid, gid, sizeof(ah->gid)) != 0)) {
        ah = ah->hash_next;
    }
    return ah;
}

static void efa_ah_insert(efa_ah_table_t *table, efa_ah_t *ah)
{
    efa_ah_t **bucket = efa_ah_bucket(table, ah->gid);

    ah->hash_next = *bucket;
    *bucket       = ah;
    ++table->count;
}

static void efa_ah_remove(efa_ah_table_t *table, const efa_ah_t *ah)
{
    efa_ah_t **link = efa_ah_bucket(table, ah->gid);

    while (*link != ah) {
        link = &(*link)->hash_next;
    }
    *link = ah->hash_next;
    --table->count;
}

/* A handle for `gid`, not in the table yet; NULL: out of memory. */
static efa_ah_t *efa_ah_new(const uint8_t *gid)
{
    efa_ah_t *ah = calloc(1, sizeof(*ah));

    if (ah != NULL) {
        memcpy(ah->gid, gid, sizeof(ah->gid));
        ah->refs = 1;
    }
    return ah;
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
    table->md    = md;
    table->mask  = buckets - 1;
    table->limit = limit;
    return UCS_OK;
}

/* Takes all out, each by `end`. */
static void efa_ah_table_clear(efa_ah_table_t *table,
                               void (*end)(efa_md_t *md, efa_ah_t *ah))
{
    efa_ah_t *ah, *next;
    unsigned  i;

    for (i = 0; i <= table->mask; ++i) {
        for (ah = table->buckets[i]; ah != NULL; ah = next) {
            next = ah->hash_next;
            end(table->md, ah);
            free(ah);
        }
    }
    free(table->buckets);
}

/* ---- the memory domain's */

static void efa_ah_lru_add(efa_ah_shared_t *shared, efa_ah_t *ah)
{
    ah->lru_prev              = shared->lru.lru_prev;
    ah->lru_next              = &shared->lru;
    ah->lru_prev->lru_next    = ah;
    shared->lru.lru_prev      = ah;
}

static void efa_ah_lru_remove(efa_ah_t *ah)
{
    ah->lru_prev->lru_next = ah->lru_next;
    ah->lru_next->lru_prev = ah->lru_prev;
}

static void efa_ah_destroy(efa_md_t *md, efa_ah_t *ah)
{
    md->device->verbs->destroy_ah(ah->ibah);
}

/* Destroys the oldest unused handle. Returns 0 when there is none. */
static int efa_ah_recycle(efa_md_t *md)
{
    efa_ah_shared_t *shared = md->ahs;
    efa_ah_t        *oldest = shared->lru.lru_next;

    if (oldest == &shared->lru) {
        return 0;
    }
    efa_ah_lru_remove(oldest);
    efa_ah_remove(&shared->table, oldest);
    efa_ah_destroy(md, oldest);
    free(oldest);
    return 1;
}

static ucs_status_t efa_ah_create(efa_md_t *md, efa_ah_t *ah)
{
    const efa_verbs_t   *verbs = md->device->verbs;
    struct ibv_ah_attr   attr;
    struct efadv_ah_attr efa_attr;

    memset(&attr, 0, sizeof(attr));
    attr.is_global     = 1;
    attr.port_num      = EFA_PORT;
    attr.grh.hop_limit = 255;
    memcpy(attr.grh.dgid.raw, ah->gid, sizeof(ah->gid));
    do {
        errno    = 0;
        ah->ibah = verbs->create_ah(md->pd, &attr);
    } while ((ah->ibah == NULL) && (errno == ENOMEM) && efa_ah_recycle(md));
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
efa_ah_shared_add(efa_md_t *md, const uint8_t *gid, efa_ah_t **ah_p)
{
    efa_ah_t    *ah = efa_ah_new(gid);
    ucs_status_t status;

    if (ah == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    status = efa_ah_create(md, ah);
    if (status != UCS_OK) {
        free(ah);
        return status;
    }
    efa_ah_insert(&md->ahs->table, ah);
    *ah_p = ah;
    return UCS_OK;
}

static ucs_status_t
efa_ah_shared_get(efa_md_t *md, const uint8_t *gid, efa_ah_t **ah_p)
{
    ucs_status_t status = UCS_OK;

    pthread_mutex_lock(&md->ahs->lock);
    *ah_p = efa_ah_find(&md->ahs->table, gid);
    if (*ah_p == NULL) {
        status = efa_ah_shared_add(md, gid, ah_p);
    } else if ((*ah_p)->refs++ == 0) {
        efa_ah_lru_remove(*ah_p);
    }
    pthread_mutex_unlock(&md->ahs->lock);
    return status;
}

static void efa_ah_shared_put(efa_md_t *md, efa_ah_t *ah)
{
    pthread_mutex_lock(&md->ahs->lock);
    if (--ah->refs == 0) {
        efa_ah_lru_add(md->ahs, ah);
    }
    pthread_mutex_unlock(&md->ahs->lock);
}

ucs_status_t efa_ah_shared_open(efa_md_t *md)
{
    efa_ah_shared_t *shared = calloc(1, sizeof(*shared));
    ucs_status_t     status;

    if (shared == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    status = efa_ah_table_init(&shared->table, md, EFA_AH_BUCKETS);
    if (status != UCS_OK) {
        free(shared);
        return status;
    }
    shared->lru.lru_prev = &shared->lru;
    shared->lru.lru_next = &shared->lru;
    pthread_mutex_init(&shared->lock, NULL);
    md->ahs = shared;
    return UCS_OK;
}

void efa_ah_shared_close(efa_md_t *md)
{
    efa_ah_table_clear(&md->ahs->table, efa_ah_destroy);
    pthread_mutex_destroy(&md->ahs->lock);
    free(md->ahs);
}

/* ---- an interface's */

static void efa_ah_give_back(efa_md_t *md, efa_ah_t *ah)
{
    efa_ah_shared_put(md, ah->shared);
}

static ucs_status_t
efa_ah_add(efa_ah_table_t *table, const uint8_t *gid, efa_ah_t **ah_p)
{
    efa_ah_t    *ah;
    ucs_status_t status;

    if (table->count >= table->limit) {
        return UCS_ERR_NO_RESOURCE;
    }
    ah = efa_ah_new(gid);
    if (ah == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    status = efa_ah_shared_get(table->md, gid, &ah->shared);
    if (status != UCS_OK) {
        free(ah);
        return status;
    }

    ah->ibah   = ah->shared->ibah;
    ah->number = ah->shared->number;
    efa_ah_insert(table, ah);
    *ah_p = ah;
    return UCS_OK;
}

ucs_status_t
efa_ah_get(efa_ah_table_t *table, const uint8_t *gid, efa_ah_t **ah_p)
{
    *ah_p = efa_ah_find(table, gid);
    if (*ah_p != NULL) {
        ++(*ah_p)->refs;
        return UCS_OK;
    }
    return efa_ah_add(table, gid, ah_p);
}

void efa_ah_put(efa_ah_table_t *table, efa_ah_t *ah)
{
    if (--ah->refs == 0) {
        efa_ah_remove(table, ah);
        efa_ah_give_back(table->md, ah);
        free(ah);
    }
}

void efa_ah_table_cleanup(efa_ah_table_t *table)
{
    efa_ah_table_clear(table, efa_ah_give_back);
}
