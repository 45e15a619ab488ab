/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A keyed hash of two words, for tables whose keys a peer may choose. Two words
 * are multiplied to 128 bits and the halves folded, twice, each time under a
 * word of the key: so hash the maps of Go's runtime (hash64.go) where the CPU
 * has no AES. A dozen instructions; without the key, of which nothing is seen
 * but time, nobody finds words of one chain. (SipHash-1-3 was measured: 100
 * instructions each, 550 more for an endpoint and 100 for a limit packet.)
 */
#ifndef UTIL_KEYED_HASH_H_
#define UTIL_KEYED_HASH_H_

#include <stdint.h>

static inline uint64_t keyed_hash_fold(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Any of its bits may be used. The key is random, neither word 0. */
static inline uint64_t keyed_hash(const uint64_t key[2], uint64_t first,
                                  uint64_t second)
{
    uint64_t half = keyed_hash_fold(first ^ key[0], second ^ key[1]);

    return keyed_hash_fold(half ^ key[1], key[0]);
}

#endif
