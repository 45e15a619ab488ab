/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The common part of the proofs. A harness is a main() for CBMC: nondet_
 * functions return any value at all, PROVE holds for each of them, ASSUME
 * leaves some out. Reads and writes out of bounds are found by CBMC itself.
 */
#ifndef TEST_PROOF_PROOF_H_
#define TEST_PROOF_PROOF_H_

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum { PROOF_PACKET_MAX = 64 }; /* bytes of a packet, at most */

uint8_t  nondet_u8(void);
uint16_t nondet_u16(void);
uint32_t nondet_u32(void);
uint64_t nondet_u64(void);
size_t   nondet_size(void);

#define ASSUME(_condition) __CPROVER_assume(_condition)
#define PROVE(_condition)  __CPROVER_assert(_condition, #_condition)

/* The end of a proof. With PROOF_REACHED it fails there: else what stands
 * before it holds because nothing gets so far. */
#ifdef PROOF_REACHED
#define PROOF_END() PROVE(!"the end is reached")
#else
#define PROOF_END() ((void)0)
#endif

/* A packet of any length up to most, with any bytes, in memory of just that
 * length. */
static inline uint8_t *proof_packet(size_t *len, size_t most)
{
    uint8_t *bytes;

    *len = nondet_size();
    ASSUME(*len <= most);
    bytes = malloc(*len); /* its bytes are any */
    ASSUME(bytes != NULL);
    return bytes;
}

#endif
