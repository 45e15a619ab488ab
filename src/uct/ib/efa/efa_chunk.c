/* SPDX-License-Identifier: BSD-3-Clause */
#include "efa_chunk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Kinds of mappings that older headers do not name (madvise(2), mmap(2)) */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MAP_HUGE_2MB
#define MAP_HUGE_2MB (21 << 26)
#endif

/* Maps with further flags, registers, and puts it first in the list. Returns 0
 * or an errno value. */
static int efa_chunk_try(efa_md_t *md, efa_chunk_t **list_p, size_t size,
                         int flags)
{
    efa_chunk_t *chunk = calloc(1, sizeof(*chunk));
    int          err   = ENOMEM;

    if (chunk == NULL) {
        return err;
    }
    chunk->size   = size;
    chunk->memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    if (chunk->memory == MAP_FAILED) {
        err = errno;
        goto err_free;
    }
    /* A fork would copy huge pages that a device writes to at once, and fail
     * where none is free. And a container's limit of huge pages is no limit of
     * mappings: a process that touches one too many gets SIGBUS. Old kernels
     * lack the second advice; there registration finds it. */
    if ((flags & MAP_HUGETLB) &&
        ((madvise(chunk->memory, size, MADV_DONTFORK) != 0) ||
         ((madvise(chunk->memory, size, MADV_POPULATE_WRITE) != 0) &&
          (errno != EINVAL)))) {
        err = errno;
        goto err_unmap;
    }
    chunk->mr = md->device->verbs->reg_mr(md->pd, chunk->memory, size,
                                          IBV_ACCESS_LOCAL_WRITE);
    if (chunk->mr == NULL) {
        err = errno;
        goto err_unmap;
    }
    chunk->next = *list_p;
    *list_p     = chunk;
    return 0;

err_unmap:
    munmap(chunk->memory, size);
err_free:
    free(chunk);
    return err;
}

static ucs_status_t efa_chunk_report(efa_md_t *md, size_t size, int err)
{
    char limit[64];

    if ((err == ENOMEM) || (err == EPERM) || (err == EAGAIN)) {
        efa_report_absent(md->super.host,
                          "%s: cannot register %zu bytes of message buffers: "
                          "%s; the limit on locked memory is %s: raise it "
                          "with 'ulimit -l unlimited' or memlock in "
                          "limits.conf",
                          md->device->name, size, strerror(err),
                          efa_memlock_text(limit, sizeof(limit)));
    } else {
        efa_report_absent(md->super.host,
                          "%s: cannot register %zu bytes of message buffers: "
                          "%s; the kernel's log (dmesg) may say why",
                          md->device->name, size, strerror(err));
    }
    return UCS_ERR_NO_MEMORY;
}

ucs_status_t efa_chunk_add(efa_md_t *md, efa_chunk_t **list_p, size_t size)
{
    int err = efa_chunk_try(md, list_p, size, 0);

    return (err == 0) ? UCS_OK : efa_chunk_report(md, size, err);
}

/* Bytes that are registered, memory that is registered twice counted twice. */
static size_t efa_chunk_list_size(const efa_chunk_t *chunk)
{
    size_t size = 0;

    for (; chunk != NULL; chunk = chunk->next) {
        size += chunk->size;
    }
    return size;
}

ucs_status_t efa_chunk_add_again(efa_md_t *md, efa_chunk_t **list_p)
{
    efa_chunk_t *chunk = calloc(1, sizeof(*chunk));
    efa_chunk_t *first = *list_p;
    size_t       all   = efa_chunk_list_size(first) + first->size;
    int          err;

    if (chunk == NULL) {
        return efa_chunk_report(md, all, ENOMEM);
    }
    while (first->memory == NULL) {
        first = first->next;
    }
    chunk->size = first->size;
    chunk->mr   = md->device->verbs->reg_mr(md->pd, first->memory, first->size,
                                            IBV_ACCESS_LOCAL_WRITE);
    if (chunk->mr == NULL) {
        err = errno;
        free(chunk);
        return efa_chunk_report(md, all, err);
    }
    chunk->next = *list_p;
    *list_p     = chunk;
    return UCS_OK;
}

ucs_status_t efa_chunk_add_huge(efa_md_t *md, efa_chunk_t **list_p)
{
    int err;

    if (md->huge_pages == UCS_NO) {
        return UCS_ERR_UNSUPPORTED;
    }
    err = efa_chunk_try(md, list_p, EFA_HUGE_PAGE, MAP_HUGETLB | MAP_HUGE_2MB);
    if (err == 0) {
        return UCS_OK;
    }
    if (md->huge_pages == UCS_YES) {
        host_warn(md->super.host,
                  "%s: UCX_EFA_HUGE_PAGES=y: no huge page of 2 MB: %s; the "
                  "receive buffers lie on small ones ('sysctl "
                  "vm.nr_hugepages' tells how many the host has)",
                  md->device->name, strerror(err));
    } else {
        host_debug(md->super.host, "%s: no huge page for receive buffers: %s",
                   md->device->name, strerror(err));
    }
    return UCS_ERR_UNSUPPORTED;
}

void efa_chunk_list_free(efa_md_t *md, efa_chunk_t **list_p)
{
    efa_chunk_t *chunk;

    while ((chunk = *list_p) != NULL) {
        *list_p = chunk->next;
        md->device->verbs->dereg_mr(chunk->mr);
        if (chunk->memory != NULL) {
            munmap(chunk->memory, chunk->size);
        }
        free(chunk);
    }
}
