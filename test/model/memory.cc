/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of both cores, in one piece. A core is some 250 KB, of which a run of
 * a few messages touches a few KB, so only blocks that may change are saved:
 * those world.cc names. Now and then all is compared with the start: a block
 * that changed without being saved shows, for nobody put it back. (Learning all
 * of them that way was tried: a block that changes and changes back before
 * anybody looks made a sound state look broken.)
 */
#include "model.h"

namespace model {

enum { MEMORY = 1 << 20, BLOCK = 64 };

static uint8_t              *memory;
static size_t                used;
static std::vector<uint8_t>  start;
static std::vector<uint32_t> touched; /* offsets of blocks that are saved     */
static std::vector<bool>     known;   /* the same, and those to be saved      */

void *memory_take(size_t size)
{
    void *mem;

    if ((memory == nullptr) &&
        (posix_memalign((void**)&memory, FLOW_ALIGN, MEMORY) != 0)) {
        broken("no memory for the explorer");
    }
    mem   = memory + used;
    used += (size + BLOCK - 1) & ~(size_t)(BLOCK - 1);
    if (used > MEMORY) {
        broken("the explorer's memory is too small");
    }
    return mem;
}

void memory_may_change(const void *from, size_t size)
{
    size_t offset = (size_t)((const uint8_t*)from - memory);

    known.resize(MEMORY / BLOCK);
    for (size_t block = offset / BLOCK; block * BLOCK < offset + size;
         ++block) {
        known[block] = true;
    }
}

void memory_started()
{
    start.assign(memory, memory + used);
}

void memory_reset()
{
    memcpy(memory, start.data(), used);
    touched.clear();
    for (size_t block = 0; block < known.size(); ++block) {
        if (known[block]) {
            touched.push_back((uint32_t)(block * BLOCK));
        }
    }
}

void memory_save(Saved *saved)
{
    uint8_t *to;

    saved->blocks.resize(touched.size() * BLOCK);
    to = saved->blocks.data();
    for (uint32_t offset : touched) {
        memcpy(to, memory + offset, BLOCK);
        to += BLOCK;
    }
    memcpy(&saved->world, &world,
           offsetof(World, wire) + world.on_wire * sizeof(Packet));
}

void memory_restore(const Saved &saved)
{
    const uint8_t *from = saved.blocks.data();

    for (uint32_t offset : touched) {
        memcpy(memory + offset, from, BLOCK);
        from += BLOCK;
    }
    memcpy(&world, &saved.world,
           offsetof(World, wire) + saved.world.on_wire * sizeof(Packet));
}

bool memory_missed()
{
    bool missed = false;

    for (size_t offset = 0; offset < used; offset += BLOCK) {
        if (!known[offset / BLOCK] &&
            (memcmp(memory + offset, &start[offset], BLOCK) != 0)) {
            known[offset / BLOCK] = true;
            missed = true;
        }
    }
    return missed;
}

} /* namespace model */
