/* SPDX-License-Identifier: BSD-3-Clause */
#include "efa_ah.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct efa_ah_table {
    pthread_mutex_t lock;
    efa_gid_table_t gids;
    efa_ah_t        lru; /* head; lru.lru_next is the oldest unused one */
};

static void efa_ah_lru_add(efa_ah_table_t *table, efa_ah_t *ah)
{
    ah->lru_prev           = table->lru.lru_prev;
    ah->lru_next           = &table->lru;
    ah->lru_prev->lru_next = ah;
    table->lru.lru_prev    = ah;
}

static void efa_ah_lru_remove(efa_ah_t *ah)
{
    ah->lru_prev->lru_next = ah->lru_next;
    ah->lru_next->lru_prev = ah->lru_prev;
}

static void efa_ah_destroy(efa_md_t *md, efa_ah_t *ah)
{
    md->device->verbs->destroy_ah(ah->ibah);
    free(ah);
}

/* Destroys the oldest unused handle. Returns 0 when there is none. */
static int efa_ah_recycle(efa_md_t *md)
{
    efa_ah_table_t *table  = md->ahs;
    efa_ah_t       *oldest = table->lru.lru_next;

    if (oldest == &table->lru) {
        return 0;
    }
    efa_ah_lru_remove(oldest);
    efa_gid_remove(&table->gids, &oldest->link);
    efa_ah_destroy(md, oldest);
    return 1;
}

struct ibv_ah *
efa_ah_make(const efa_device_t *device, struct ibv_pd *pd, const uint8_t *gid)
{
    struct ibv_ah_attr attr = {
        .is_global = 1,
        .port_num  = EFA_PORT,
        .grh       = {.hop_limit = 255}
    };

    memcpy(attr.grh.dgid.raw, gid, sizeof(attr.grh.dgid.raw));
    errno = 0;
    return device->verbs->create_ah(pd, &attr);
}

static ucs_status_t
efa_ah_create(efa_md_t *md, const uint8_t *gid, efa_ah_t *ah)
{
    const efa_verbs_t   *verbs = md->device->verbs;
    struct efadv_ah_attr efa_attr;

    do {
        ah->ibah = efa_ah_make(md->device, md->pd, gid);
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
efa_ah_add(efa_md_t *md, const uint8_t *gid, uint64_t hash, efa_ah_t **ah_p)
{
    efa_ah_t    *ah = calloc(1, sizeof(*ah));
    ucs_status_t status;

    if (ah == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    ah->refs = 1;
    status   = efa_ah_create(md, gid, ah);
    if (status != UCS_OK) {
        free(ah);
        return status;
    }
    efa_gid_insert(&md->ahs->gids, &ah->link, gid, hash);
    *ah_p = ah;
    return UCS_OK;
}

const efa_gid_table_t *efa_ah_gids(const efa_md_t *md)
{
    return &md->ahs->gids;
}

ucs_status_t efa_ah_get(efa_md_t *md, const uint8_t *gid, uint64_t hash,
                        efa_ah_t **ah_p)
{
    ucs_status_t status = UCS_OK;

    pthread_mutex_lock(&md->ahs->lock);
    *ah_p = (efa_ah_t*)efa_gid_find(&md->ahs->gids, gid, hash);
    if (*ah_p == NULL) {
        status = efa_ah_add(md, gid, hash, ah_p);
    } else if ((*ah_p)->refs++ == 0) {
        efa_ah_lru_remove(*ah_p);
    }
    pthread_mutex_unlock(&md->ahs->lock);
    return status;
}

void efa_ah_put(efa_md_t *md, efa_ah_t *ah)
{
    pthread_mutex_lock(&md->ahs->lock);
    if (--ah->refs == 0) {
        efa_ah_lru_add(md->ahs, ah);
    }
    pthread_mutex_unlock(&md->ahs->lock);
}

ucs_status_t efa_ah_table_open(efa_md_t *md)
{
    efa_ah_table_t *table = calloc(1, sizeof(*table));
    ucs_status_t    status;

    if (table == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    status = efa_gid_table_init(&table->gids, EFA_AH_COMMON, NULL);
    if (status != UCS_OK) {
        free(table);
        return status;
    }
    table->lru.lru_prev = &table->lru;
    table->lru.lru_next = &table->lru;
    pthread_mutex_init(&table->lock, NULL);
    md->ahs = table;
    return UCS_OK;
}

void efa_ah_table_close(efa_md_t *md)
{
    efa_gid_link_t *link;
    unsigned        bucket = 0;

    while ((link = efa_gid_pop(&md->ahs->gids, &bucket)) != NULL) {
        efa_ah_destroy(md, (efa_ah_t*)link);
    }
    efa_gid_table_cleanup(&md->ahs->gids);
    pthread_mutex_destroy(&md->ahs->lock);
    free(md->ahs);
}
