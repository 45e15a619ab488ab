/* SPDX-License-Identifier: BSD-3-Clause */
/* src/flow/psn.h says what its comments say: for all numbers. */
#include "proof.h"

#include "flow/psn.h"

enum { HALF = 1 << 15 };

/* Two numbers of which the second is `ahead` of the first, round the wrap. */
static void prove_order(flow_psn_t first, unsigned ahead)
{
    flow_psn_t second = (flow_psn_t)(first + ahead);

    PROVE(flow_psn_diff(second, first) == (int)ahead);
    PROVE(flow_psn_diff(first, second) == -(int)ahead);
    PROVE(!flow_psn_lt(second, first));
    PROVE(flow_psn_lt(first, second) == (ahead != 0));
    PROVE(flow_psn_min(first, second) == first);
    PROVE(flow_psn_min(second, first) == first);
}

/* A number has a bit of its own among those of one window. */
static void prove_bit(flow_psn_t first, unsigned ahead)
{
    uint64_t bit = flow_psn_bit(first);

    PROVE((bit != 0) && ((bit & (bit - 1)) == 0));
    PROVE((ahead >= FLOW_MAP_BITS) ||
          ((flow_psn_bit((flow_psn_t)(first + ahead)) == bit) ==
           (ahead == 0)));
}

/* Bit i of a map that was rotated down is bit n + i of the map; and back. */
static void prove_rotate(uint64_t map, unsigned n, unsigned i)
{
    uint64_t down = flow_psn_rotate_down(map, n);

    PROVE(flow_psn_rotate_up(down, n) == map);
    PROVE(((down >> i) & 1) == ((map >> ((n + i) % FLOW_MAP_BITS)) & 1));
}

int main(void)
{
    unsigned ahead = nondet_u16();
    unsigned n     = nondet_u8(), i = nondet_u8();

    ASSUME(ahead < HALF);
    ASSUME((n < FLOW_MAP_BITS) && (i < FLOW_MAP_BITS));
    prove_order(nondet_u16(), ahead);
    prove_bit(nondet_u16(), ahead);
    prove_rotate(nondet_u64(), n, i);
    PROOF_END();
    return 0;
}
