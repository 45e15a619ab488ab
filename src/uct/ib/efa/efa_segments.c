/* SPDX-License-Identifier: BSD-3-Clause */
#include "efa_mr_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define EFA_SEGMENT_MIN   (2 * EFA_OVERLAP)
#define EFA_SEGMENT_ALIGN ((uintptr_t)2 << 20) /* no huge page is cut */

/* How memory is cut: segment i begins at start + i * (size - EFA_OVERLAP), but
 * not before the memory. */
typedef struct efa_cut {
    const ucx_mem_reg_t *reg;
    uintptr_t            start, first, last; /* the memory: [first, last) */
    size_t               size;               /* of a segment, a power of 2 */
} efa_cut_t;

static uintptr_t efa_cut_at(const efa_cut_t *cut, size_t i)
{
    return cut->start + i * (cut->size - EFA_OVERLAP);
}

/* Registers the bytes [from, from + cut->size), those of the memory. */
static int efa_segment_reg(efa_md_t *md, const efa_cut_t *cut, uintptr_t from,
                           efa_memh_t **segment_p)
{
    ucx_mem_reg_t part  = *cut->reg;
    uintptr_t     begin = (from > cut->first) ? from : cut->first;
    uintptr_t     end   = (cut->size < cut->last - from) ? from + cut->size :
                                                           cut->last;

    part.address        = (void*)begin;
    part.length         = end - begin;
    part.dmabuf_offset += begin - cut->first;
    return efa_memh_reg(md, &part, EFA_REG_ALONE, segment_p);
}

static void efa_segments_drop(efa_md_t *md, efa_memh_t *memh)
{
    efa_memh_t *segments = memh->before;

    memh->before      = NULL;
    memh->keys->count = 0;
    if (segments != NULL) {
        (void)efa_mem_dereg(&md->super, segments, 0, NULL);
    }
}

/* Segments of one size, until all have been registered or one cannot be. */
static int
efa_segments_fill(efa_md_t *md, efa_memh_t *memh, const efa_cut_t *cut)
{
    efa_keys_t *keys = memh->keys;
    efa_memh_t *segment;
    int         err;

    do {
        if (keys->count == EFA_KEYS_MAX) {
            return EOVERFLOW;
        }
        err = efa_segment_reg(md, cut, efa_cut_at(cut, keys->count), &segment);
        if (err != 0) {
            return err;
        }
        segment->is_segment = 1;
        segment->before     = memh->before;
        memh->before        = segment;
        ++keys->count;
    } while (cut->size < cut->last - efa_cut_at(cut, keys->count - 1));
    keys->start  = cut->start;
    keys->stride = cut->size - EFA_OVERLAP;
    return 0;
}

static int efa_segments_is_size(int err)
{
    return (err == ENOMEM) || (err == EINVAL);
}

/* Ends all, and halves the size until the device takes one where it refused
 * one. 0; or `err`: there is no such size, or it takes the one that it refused,
 * so it is their sum that is too much. */
static int
efa_segments_halve(efa_md_t *md, efa_memh_t *memh, efa_cut_t *cut, int err)
{
    const uintptr_t from    = efa_cut_at(cut, memh->keys->count);
    const size_t    refused = cut->size;
    efa_memh_t     *segment;
    int             tried;

    efa_segments_drop(md, memh);
    while (efa_segments_is_size(
            tried = efa_segment_reg(md, cut, from, &segment))) {
        if (cut->size == EFA_SEGMENT_MIN) {
            return err;
        }
        cut->size /= 2;
    }
    if (tried == 0) {
        (void)efa_mem_dereg(&md->super, segment, 0, NULL);
    }
    return ((tried == 0) && (cut->size == refused)) ? err : tried;
}

static int efa_segments_find(efa_md_t *md, efa_memh_t *memh, efa_cut_t *cut)
{
    int err;

    while (efa_segments_is_size(err = efa_segments_fill(md, memh, cut))) {
        err = efa_segments_halve(md, memh, cut, err);
        if (err != 0) {
            break;
        }
    }
    return err;
}

/* A table that peers may read, as a handle of its own; on a page of its own, as
 * children of the process may lack what is registered. */
static efa_memh_t *efa_segments_table(efa_md_t *md)
{
    const size_t page = sysconf(_SC_PAGESIZE);
    efa_memh_t  *memh = efa_memh_get(md);
    void        *mr;

    if (memh == NULL) {
        return NULL;
    }
    if (posix_memalign((void**)&memh->keys, page, page) == 0) {
        memset(memh->keys, 0, page);
        if (efa_mr_reg(md, memh->keys, page, 1, &mr) == 0) {
            memh->mr   = mr;
            memh->full = NULL; /* its key is for none of the user's bytes */
            return memh;
        }
    }
    efa_memh_put(memh);
    return NULL;
}

/* Up to the size that was found, if those are not too many: it may be of small
 * pages, or of a shortage. */
static int
efa_segments_may_grow(const efa_md_t *md, size_t length, size_t size)
{
    return (size <= (length - 1) / 2) &&
           ((md->segment == 0) || (size < md->segment) ||
            (length / (size - EFA_OVERLAP) >= EFA_KEYS_MAX));
}

int efa_segments_reg(efa_md_t *md, const ucx_mem_reg_t *reg, int err,
                     efa_memh_t **memh_p)
{
    efa_cut_t cut = {
        .reg   = reg,
        .first = (uintptr_t)reg->address,
        .last  = (uintptr_t)reg->address + reg->length,
        .size  = EFA_SEGMENT_MIN
    };
    efa_memh_t *memh;

    if ((reg->length <= EFA_SEGMENT_MIN) || (cut.last < cut.first)) {
        return err;
    }
    memh = efa_segments_table(md);
    if (memh == NULL) {
        return ENOMEM;
    }
    cut.start = cut.first & ~(EFA_SEGMENT_ALIGN - 1);
    while (efa_segments_may_grow(md, reg->length, cut.size)) {
        cut.size *= 2;
    }

    err = efa_segments_find(md, memh, &cut);
    if (err != 0) {
        efa_segments_drop(md, memh);
        (void)efa_mem_dereg(&md->super, memh, 0, NULL);
        return (err == EOVERFLOW) ? ENOMEM : err;
    }
    md->segment   = cut.size;
    memh->address = reg->address;
    memh->length  = reg->length;
    memh->flags   = reg->flags;
    memh->is_host = memh->before->is_host;
    *memh_p       = memh;
    host_debug(md->super.host,
               "%s: %zu bytes at %p are registered in %u segments of %zu bytes",
               md->device->name, reg->length, reg->address,
               (unsigned)memh->keys->count, cut.size);
    return 0;
}

int efa_segments_strengthen(efa_md_t *md, efa_memh_t *memh)
{
    efa_memh_t *segment;
    int         err = 0, one;

    /* A registration that one replaces comes right behind it. */
    for (segment = memh->before; segment != NULL; segment = segment->before) {
        if (segment->is_segment && (segment->full == NULL)) {
            one = efa_memh_strengthen(md, segment);
            err = (one != 0) ? one : err;
        }
    }
    return err;
}

void efa_segments_pack(efa_memh_t *memh, efa_rkey_wire_t *wire)
{
    efa_keys_t       *keys = memh->keys;
    const efa_memh_t *segment;

    for (segment = memh->before; segment != NULL; segment = segment->before) {
        if (segment->is_segment) {
            keys->keys[((uintptr_t)segment->address - keys->start) /
                       keys->stride] = segment->mr->rkey;
        }
    }
    wire->key       = keys->keys[0];
    wire->table_key = memh->mr->rkey;
    wire->table     = (uintptr_t)keys;
}
