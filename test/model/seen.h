/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which states were seen, by 64 bits each. Two different ones are taken for the
 * same with a chance of n^2 / 2^65: among 10^8 of them, 1 in 3700.
 *
 * Open addressing, at most 3/4 full, in shards that grow one by one: so only a
 * small part of the memory is needed twice while it grows.
 */
#ifndef MODEL_SEEN_H_
#define MODEL_SEEN_H_

#include <cmath>
#include <cstdint>
#include <cstddef>
#include <vector>

namespace model {

class Seen {
public:
    Seen() { clear(); }
    void clear()
    {
        for (Shard &shard : m_shards) {
            shard.slots.assign(256, 0);
            shard.count = 0;
        }
        m_count = 0;
    }
    uint64_t count() const { return m_count; }
    /* That somewhere two states were taken for one. */
    double chance() const { return std::ldexp((double)m_count, -33) *
                                   std::ldexp((double)m_count, -32); }
    /* false: it was there */
    bool add(uint64_t word)
    {
        Shard &shard   = m_shards[word >> 56];
        uint64_t *slot = find(shard, word += (word == 0));
        if (*slot == word) {
            return false;
        }
        *slot = word;
        ++m_count;
        if (++shard.count * 4 > shard.slots.size() * 3) {
            grow(shard);
        }
        return true;
    }

private:
    struct Shard {
        std::vector<uint64_t> slots;
        size_t                count;
    };
    static uint64_t *find(Shard &shard, uint64_t word)
    {
        size_t mask = shard.slots.size() - 1;
        size_t i    = (word * 0xff51afd7ed558ccdull) >> 24;
        while ((shard.slots[i & mask] != 0) &&
               (shard.slots[i & mask] != word)) {
            ++i;
        }
        return &shard.slots[i & mask];
    }
    static void grow(Shard &shard)
    {
        std::vector<uint64_t> old(shard.slots.size() * 2, 0);
        old.swap(shard.slots);
        for (uint64_t word : old) {
            if (word != 0) {
                *find(shard, word) = word;
            }
        }
    }
    Shard    m_shards[256];
    uint64_t m_count;
};

} /* namespace model */

#endif
