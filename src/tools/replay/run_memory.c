/* SPDX-License-Identifier: BSD-3-Clause */
#include "run_memory.h"

#include <stdlib.h>
#include <string.h>

struct run_block {
    run_block_t *next;
    void        *memory;
};

void *run_memory_get(run_t *run, size_t size)
{
    run_block_t *block  = malloc(sizeof(*block));
    void        *memory = NULL;

    if ((block == NULL) || (posix_memalign(&memory, FLOW_ALIGN, size) != 0)) {
        free(block);
        return NULL;
    }
    memset(memory, 0, size);
    block->memory = memory;
    block->next   = run->blocks;
    run->blocks   = block;
    return memory;
}

void run_memory_free(run_t *run)
{
    run_block_t *block;
    run_op_t    *op;
    unsigned     chain;

    while ((block = run->blocks) != NULL) {
        run->blocks = block->next;
        free(block->memory);
        free(block);
    }
    for (chain = 0; chain < RUN_OPS; ++chain) {
        while ((op = run->ops[chain]) != NULL) {
            run->ops[chain] = op->next;
            free(op);
        }
    }
}

run_op_t *run_memory_op(run_t *run, uint64_t id)
{
    run_op_t **chain = &run->ops[(id * 0x9e3779b97f4a7c15ull) >> 48];
    run_op_t  *op;

    for (op = *chain; op != NULL; op = op->next) {
        if (op->in.id == id) {
            return op;
        }
    }
    op = calloc(1, sizeof(*op));
    if (op != NULL) {
        op->in.id = id;
        op->next  = *chain;
        *chain    = op;
    }
    return op;
}
