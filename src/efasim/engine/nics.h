/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets of a fabric's NICs. */
#ifndef EFASIM_ENGINE_NICS_H
#define EFASIM_ENGINE_NICS_H

#include "limits.h"

#include <stdint.h>
#include <string.h>

struct sim_nics {
    uint64_t word[SIM_NICS / 64];
};

static inline int sim_nics_has(const struct sim_nics *set, unsigned nic)
{
    return (set->word[nic / 64] >> (nic % 64)) & 1;
}

static inline void sim_nics_add(struct sim_nics *set, unsigned nic)
{
    set->word[nic / 64] |= 1ull << (nic % 64);
}

static inline void
sim_nics_add_set(struct sim_nics *set, const struct sim_nics *other)
{
    unsigned i;

    for (i = 0; i < SIM_NICS / 64; ++i) {
        set->word[i] |= other->word[i];
    }
}

static inline void sim_nics_fill(struct sim_nics *set, int byte)
{
    memset(set, byte, sizeof(*set));
}

#endif
