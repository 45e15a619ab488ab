/* SPDX-License-Identifier: BSD-3-Clause */
#include "fill.h"

#include <string.h>

/* Odd constant near 2^64 / golden ratio: consecutive states differ widely. */
#define FILL_STEP 0x9e3779b97f4a7c15ULL

uint64_t fill_mix(uint64_t x)
{
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93ULL;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93ULL;
    return x ^ (x >> 32);
}

uint64_t fill_rand(uint64_t *state)
{
    *state += FILL_STEP;
    return fill_mix(*state);
}

uint64_t fill_key(uint64_t seed, uint64_t stream, uint64_t index)
{
    return fill_mix(fill_mix(fill_mix(seed + 1) + stream) + index);
}

static uint64_t fill_word(uint64_t key, size_t word)
{
    return fill_mix(key + FILL_STEP * (word + 1));
}

uint8_t fill_byte(uint64_t key, size_t offset)
{
    return (uint8_t)(fill_word(key, offset / 8) >> (8 * (offset % 8)));
}

void fill_bytes(void *buf, size_t len, uint64_t key, size_t offset)
{
    uint8_t *p = buf;
    size_t i   = 0;
    uint64_t word;

    for (; i < len && (offset + i) % 8; ++i) {
        p[i] = fill_byte(key, offset + i);
    }
    for (; i + 8 <= len; i += 8) {
        word = fill_word(key, (offset + i) / 8);
        memcpy(p + i, &word, 8);
    }
    for (; i < len; ++i) {
        p[i] = fill_byte(key, offset + i);
    }
}

ptrdiff_t fill_diff(const void *buf, size_t len, uint64_t key, size_t offset)
{
    const uint8_t *p = buf;
    size_t i         = 0;
    uint64_t word;

    for (; i < len && (offset + i) % 8; ++i) {
        if (p[i] != fill_byte(key, offset + i)) {
            return i;
        }
    }
    for (; i + 8 <= len; i += 8) {
        word = fill_word(key, (offset + i) / 8);
        if (memcmp(p + i, &word, 8)) {
            break;
        }
    }
    for (; i < len; ++i) {
        if (p[i] != fill_byte(key, offset + i)) {
            return i;
        }
    }
    return -1;
}
