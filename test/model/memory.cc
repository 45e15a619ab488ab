/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of the cores. A core is some 250 KB, of which a run of a few messages
 * touches a few KB, so only blocks that may change are saved: those world.cc
 * names. Now and then all is compared with the start: a block that changed
 * without being saved shows, for nobody put it back. (Learning all of them that
 * way was tried: a block that changes and changes back before anybody looks
 * made a sound state look broken.)
 */
#include "model.h"

namespace model {

enum { MEMORY = 1 << 19, BLOCK = 64, BLOCKS = MEMORY / BLOCK };

struct Range {
    uint32_t offset, size;
};

struct Node {
    uint8_t             *memory = nullptr;
    size_t               used   = 0;
    std::vector<uint8_t> start;
    std::vector<Range>   ranges; /* that are saved                            */
    size_t               size;   /* of all of them                            */
    bool                 changes[BLOCKS], ignored[BLOCKS];
};

static Node nodes_of[NODES];

void *memory_take(unsigned id, size_t size)
{
    Node &node = nodes_of[id];
    void *mem;

    if ((node.memory == nullptr) &&
        (posix_memalign((void**)&node.memory, FLOW_ALIGN, MEMORY) != 0)) {
        broken("no memory for the explorer");
    }
    mem        = node.memory + node.used;
    node.used += (size + BLOCK - 1) & ~(size_t)(BLOCK - 1);
    if (node.used > MEMORY) {
        broken("the explorer's memory is too small");
    }
    return mem;
}

static Node &node_at(const void *from)
{
    unsigned id = NODES - 1;

    while ((id != 0) && ((nodes_of[id].memory == nullptr) ||
                         ((const uint8_t*)from < nodes_of[id].memory) ||
                         ((const uint8_t*)from >=
                          nodes_of[id].memory + MEMORY))) {
        --id;
    }
    return nodes_of[id];
}

void memory_may_change(const void *from, size_t size)
{
    Node &node    = node_at(from);
    size_t offset = (size_t)((const uint8_t*)from - node.memory);

    for (size_t block = offset / BLOCK; block * BLOCK < offset + size;
         ++block) {
        node.changes[block] = true;
    }
}

void memory_no_matter(const void *from, size_t size)
{
    Node &node    = node_at(from);
    size_t offset = (size_t)((const uint8_t*)from - node.memory);

    for (size_t block = (offset + BLOCK - 1) / BLOCK;
         (block + 1) * BLOCK <= offset + size; ++block) {
        node.ignored[block] = true;
    }
}

void memory_started()
{
    for (unsigned id = 0; id < bounds.nodes; ++id) {
        Node &node = nodes_of[id];
        node.start.assign(node.memory, node.memory + node.used);
    }
}

void memory_reset()
{
    for (unsigned id = 0; id < bounds.nodes; ++id) {
        Node &node = nodes_of[id];
        memcpy(node.memory, node.start.data(), node.used);
        node.ranges.clear();
        node.size = 0;
        for (uint32_t block = 0; block < BLOCKS; ++block) {
            if (!node.changes[block]) {
                continue;
            }
            if ((block > 0) && node.changes[block - 1]) {
                node.ranges.back().size += BLOCK;
            } else {
                node.ranges.push_back({block * BLOCK, BLOCK});
            }
            node.size += BLOCK;
        }
    }
}

static void save_node(const Node &node, std::vector<uint8_t> *room)
{
    uint8_t *to;

    room->resize(node.size);
    to = room->data();
    for (const Range &range : node.ranges) {
        memcpy(to, node.memory + range.offset, range.size);
        to += range.size;
    }
}

void memory_save(Saved *saved, const Saved *before, unsigned nodes)
{
    for (unsigned id = 0; id < bounds.nodes; ++id) {
        if (nodes & (1u << id)) {
            save_node(nodes_of[id], &saved->room[id]);
            saved->blocks[id] = saved->room[id].data();
        } else {
            saved->blocks[id] = before->blocks[id];
        }
    }
    memcpy(&saved->world, &world,
           offsetof(World, wire) + world.on_wire * sizeof(Packet));
}

void memory_restore(const Saved &saved, unsigned nodes)
{
    for (unsigned id = 0; id < bounds.nodes; ++id) {
        const uint8_t *from = saved.blocks[id];
        if (!(nodes & (1u << id))) {
            continue;
        }
        for (const Range &range : nodes_of[id].ranges) {
            memcpy(nodes_of[id].memory + range.offset, from, range.size);
            from += range.size;
        }
    }
    memcpy(&world, &saved.world,
           offsetof(World, wire) + saved.world.on_wire * sizeof(Packet));
}

bool memory_missed()
{
    bool missed = false;

    for (Node &node : nodes_of) {
        for (size_t block = 0; block * BLOCK < node.used; ++block) {
            if (!node.changes[block] && !node.ignored[block] &&
                (memcmp(node.memory + block * BLOCK,
                        &node.start[block * BLOCK], BLOCK) != 0)) {
                node.changes[block] = true;
                missed              = true;
            }
        }
    }
    return missed;
}

} /* namespace model */
