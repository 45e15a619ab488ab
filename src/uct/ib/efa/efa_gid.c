/* SPDX-License-Identifier: BSD-3-Clause */
#include "efa_gid.h"
#include "efa_random.h"

#include <util/keyed_hash.h>

#include <stdlib.h>
#include <string.h>

static efa_gid_link_t **
efa_gid_bucket(const efa_gid_table_t *table, uint64_t hash)
{
    return &table->buckets[hash & table->mask];
}

uint64_t efa_gid_hash(const efa_gid_table_t *table, const uint8_t *gid)
{
    uint64_t low, high;

    memcpy(&low, gid, sizeof(low));
    memcpy(&high, gid + sizeof(low), sizeof(high));
    return keyed_hash(table->key, low, high);
}

unsigned efa_gid_buckets(unsigned most)
{
    unsigned buckets = 16;

    while (buckets < most) {
        buckets *= 2;
    }
    return buckets;
}

ucs_status_t efa_gid_table_init(efa_gid_table_t *table, unsigned most,
                                const efa_gid_table_t *like)
{
    unsigned buckets = efa_gid_buckets(most);

    if (like != NULL) {
        memcpy(table->key, like->key, sizeof(table->key));
    } else if (efa_random(table->key, sizeof(table->key)) != 0) {
        return UCS_ERR_IO_ERROR;
    }
    table->buckets = calloc(buckets, sizeof(*table->buckets));
    table->mask    = buckets - 1;
    table->count   = 0;
    return (table->buckets != NULL) ? UCS_OK : UCS_ERR_NO_MEMORY;
}

void efa_gid_table_cleanup(efa_gid_table_t *table)
{
    free(table->buckets);
}

efa_gid_link_t *efa_gid_find(const efa_gid_table_t *table, const uint8_t *gid,
                             uint64_t hash)
{
    efa_gid_link_t *link = *efa_gid_bucket(table, hash);

    while ((link != NULL) &&
           ((link->hash != hash) ||
            (memcmp(link->gid, gid, sizeof(link->gid)) != 0))) {
        link = link->next;
    }
    return link;
}

void efa_gid_insert(efa_gid_table_t *table, efa_gid_link_t *link,
                    const uint8_t *gid, uint64_t hash)
{
    efa_gid_link_t **bucket = efa_gid_bucket(table, hash);

    memcpy(link->gid, gid, sizeof(link->gid));
    link->hash = hash;
    link->next = *bucket;
    *bucket    = link;
    ++table->count;
}

void efa_gid_remove(efa_gid_table_t *table, const efa_gid_link_t *link)
{
    efa_gid_link_t **at = efa_gid_bucket(table, link->hash);

    while (*at != link) {
        at = &(*at)->next;
    }
    *at = link->next;
    --table->count;
}

efa_gid_link_t *efa_gid_pop(efa_gid_table_t *table, unsigned *bucket)
{
    efa_gid_link_t *link = NULL;

    for (; *bucket <= table->mask; ++*bucket) {
        link = table->buckets[*bucket];
        if (link != NULL) {
            efa_gid_remove(table, link);
            break;
        }
    }
    return link;
}
