/* SPDX-License-Identifier: BSD-3-Clause */
#include "efa_gid.h"

#include <stdlib.h>
#include <string.h>

static efa_gid_link_t **
efa_gid_bucket(const efa_gid_table_t *table, const uint8_t *gid)
{
    uint64_t low, high;

    memcpy(&low, gid, sizeof(low));
    memcpy(&high, gid + sizeof(low), sizeof(high));
    return &table->buckets[((low ^ high) * 0x9e3779b97f4a7c15ull >> 32) &
                           table->mask];
}

ucs_status_t efa_gid_table_init(efa_gid_table_t *table, unsigned most)
{
    unsigned buckets = 16;

    while (buckets < most) {
        buckets *= 2;
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

efa_gid_link_t *efa_gid_find(const efa_gid_table_t *table, const uint8_t *gid)
{
    efa_gid_link_t *link = *efa_gid_bucket(table, gid);

    while ((link != NULL) && (memcmp(link->gid, gid, sizeof(link->gid)) != 0)) {
        link = link->next;
    }
    return link;
}

void efa_gid_insert(efa_gid_table_t *table, efa_gid_link_t *link)
{
    efa_gid_link_t **bucket = efa_gid_bucket(table, link->gid);

    link->next = *bucket;
    *bucket    = link;
    ++table->count;
}

void efa_gid_remove(efa_gid_table_t *table, const efa_gid_link_t *link)
{
    efa_gid_link_t **at = efa_gid_bucket(table, link->gid);

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
