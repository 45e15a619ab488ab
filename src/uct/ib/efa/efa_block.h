/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocks of small records that are given back all together, at the owner's end:
 * a list through their first word.
 */
#ifndef EFA_BLOCK_H_
#define EFA_BLOCK_H_

#include <stdlib.h>

/*
 * Put a zeroed block with room for @count records of @size bytes on the list
 * @head. The records (aligned as a pointer is), or NULL: no memory.
 */
static inline void *efa_block_add(void **head, size_t count, size_t size)
{
    void **block = calloc(1, sizeof(void*) + (count * size));

    if (block == NULL) {
        return NULL;
    }
    *block = *head;
    __atomic_store_n(head, (void*)block, __ATOMIC_RELEASE); /* some read it
                                                               any time */
    return block + 1;
}

/* Free every block of the list @head, which then is empty. */
static inline void efa_block_list_free(void **head)
{
    void *block;

    while ((block = *head) != NULL) {
        *head = *(void**)block;
        free(block);
    }
}

#endif
