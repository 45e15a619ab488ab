/* SPDX-License-Identifier: BSD-3-Clause */
#include "efa_chunk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

ucs_status_t efa_chunk_add(efa_md_t *md, efa_chunk_t **list_p, size_t size)
{
    efa_chunk_t *chunk;
    char         limit[64];

    chunk = calloc(1, sizeof(*chunk));
    if (chunk == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    chunk->size   = size;
    chunk->memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (chunk->memory == MAP_FAILED) {
        goto err_free;
    }
    chunk->mr = md->device->verbs->reg_mr(md->pd, chunk->memory, size,
                                          IBV_ACCESS_LOCAL_WRITE);
    if (chunk->mr == NULL) {
        efa_report_absent(md->super.host,
                          "%s: cannot register %zu bytes of message buffers: "
                          "%s; the limit on locked memory is %s: raise it "
                          "with 'ulimit -l unlimited' or memlock in "
                          "limits.conf",
                          md->device->name, size, strerror(errno),
                          efa_memlock_text(limit, sizeof(limit)));
        goto err_unmap;
    }

    chunk->next = *list_p;
    *list_p     = chunk;
    return UCS_OK;

err_unmap:
    munmap(chunk->memory, size);
err_free:
    free(chunk);
    return UCS_ERR_NO_MEMORY;
}

void efa_chunk_list_free(efa_md_t *md, efa_chunk_t **list_p)
{
    efa_chunk_t *chunk;

    while ((chunk = *list_p) != NULL) {
        *list_p = chunk->next;
        md->device->verbs->dereg_mr(chunk->mr);
        munmap(chunk->memory, chunk->size);
        free(chunk);
    }
}
