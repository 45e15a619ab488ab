/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFA_CHUNK_H_
#define EFA_CHUNK_H_

#include "efa_md.h"

/* A piece of registered memory of ours; pools are lists of them. */
typedef struct efa_chunk efa_chunk_t;

struct efa_chunk {
    efa_chunk_t   *next;
    struct ibv_mr *mr;
    void          *memory; /* page aligned, zeroed; NULL: the next chunk's */
    size_t         size;
};

/*
 * Allocates and registers at least `size` bytes and puts the chunk first in
 * *list_p. A failure is reported with its remedy, at warning level if the user
 * asked for srd by name, else at debug level. UCS_OK; UCS_ERR_NO_MEMORY, then
 * the list is as before.
 */
ucs_status_t efa_chunk_add(efa_md_t *md, efa_chunk_t **list_p, size_t size);

/* The first chunk's memory once more, for a list that is tried, not used: the
 * kernel counts it again, and its pages are there. As efa_chunk_add; a failure
 * is told with the bytes of the whole list, which the limit did not allow. */
ucs_status_t efa_chunk_add_again(efa_md_t *md, efa_chunk_t **list_p);

/*
 * The same of a huge page, EFA_HUGE_PAGE bytes, which a device walks with fewer
 * translations. UCS_OK; UCS_ERR_UNSUPPORTED, with a line at debug level, where
 * none is free or the user wants none.
 */
ucs_status_t efa_chunk_add_huge(efa_md_t *md, efa_chunk_t **list_p);

#define EFA_HUGE_PAGE ((size_t)2 << 20)

/* Frees every chunk of a list. The device must have no use for them. */
void efa_chunk_list_free(efa_md_t *md, efa_chunk_t **list_p);

#endif
