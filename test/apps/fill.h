/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Contents of test messages: every byte depends on a 64-bit key and on its
 * offset, so a lost, doubled, shifted, swapped or stale byte shows itself.
 */
#ifndef TEST_APPS_FILL_H
#define TEST_APPS_FILL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A bijective mixer of 64 bits; also the step of fill_rand(). */
uint64_t fill_mix(uint64_t x);

/* Next number of a seeded sequence; *state is advanced. */
uint64_t fill_rand(uint64_t *state);

/* Key of message @index of stream @stream under @seed. */
uint64_t fill_key(uint64_t seed, uint64_t stream, uint64_t index);

/* Write bytes [offset, offset + len) of the contents named @key to @buf. */
void fill_bytes(void *buf, size_t len, uint64_t key, size_t offset);

/*
 * Compare @buf with bytes [offset, offset + len) of @key.
 * @return -1 when equal, else the position in @buf of the first difference.
 */
ptrdiff_t fill_diff(const void *buf, size_t len, uint64_t key, size_t offset);

/* The byte that belongs at @offset of @key. */
uint8_t fill_byte(uint64_t key, size_t offset);

#ifdef __cplusplus
}
#endif

#endif
