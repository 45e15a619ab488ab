/* SPDX-License-Identifier: BSD-3-Clause */
/* Seeded randomness (splitmix64): same seed, same sequence, everywhere. */
#ifndef EFASIM_ENGINE_RNG_H
#define EFASIM_ENGINE_RNG_H

#include <stdint.h>

struct sim_rng {
    uint64_t state;
};

static inline uint64_t rng_next(struct sim_rng *rng)
{
    uint64_t x = (rng->state += 0x9e3779b97f4a7c15ull);

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

/* True with probability p. */
static inline int rng_chance(struct sim_rng *rng, double p)
{
    return (p > 0) && ((double)(rng_next(rng) >> 11) * 0x1p-53 < p);
}

/* min ... max, both included; min <= max. */
static inline uint64_t rng_range(struct sim_rng *rng, uint64_t min,
                                 uint64_t max)
{
    return min + rng_next(rng) % (max - min + 1);
}

#endif
