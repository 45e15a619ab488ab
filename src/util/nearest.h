/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which of several names a user meant by a word that is none of them: the one
 * with the fewest letters changed, added, dropped or swapped, if those are few.
 */
#ifndef UTIL_NEAREST_H_
#define UTIL_NEAREST_H_

#include <string.h>

enum {
    NEAREST_LENGTH = 48, /* longer words are near to nothing */
    NEAREST_COST   = 2   /* letters that may differ, and a third of the word */
};

typedef struct nearest {
    const char *word;
    const char *name;    /* the nearest so far; NULL: none is near */
    size_t      cost;    /* a name must differ by less */
    int         is_same; /* one is the word itself */
} nearest_t;

/* Letters are the same in both cases, '-' is '_'. */
static inline int nearest_same(char a, char b)
{
    a = (a == '-') ? '_' : ((a >= 'A') && (a <= 'Z')) ? (char)(a + 32) : a;
    b = (b == '-') ? '_' : ((b >= 'A') && (b <= 'Z')) ? (char)(b + 32) : b;
    return a == b;
}

static inline size_t nearest_least(size_t a, size_t b)
{
    return (a < b) ? a : b;
}

/* The number of changes between two words of at most NEAREST_LENGTH bytes. */
static inline size_t nearest_changes(const char *a, const char *b)
{
    size_t cost[3][NEAREST_LENGTH + 1], n = strlen(a), m = strlen(b), i, k;
    size_t *now, *last, *before;

    for (k = 0; k <= m; ++k) {
        cost[0][k] = k;
    }
    for (i = 1; i <= n; ++i) {
        now    = cost[i % 3];
        last   = cost[(i + 2) % 3];
        before = cost[(i + 1) % 3];
        now[0] = i;
        for (k = 1; k <= m; ++k) {
            now[k] = nearest_least(last[k - 1] +
                                           !nearest_same(a[i - 1], b[k - 1]),
                                   nearest_least(last[k], now[k - 1]) + 1);
            if ((i > 1) && (k > 1) && nearest_same(a[i - 1], b[k - 2]) &&
                nearest_same(a[i - 2], b[k - 1])) {
                now[k] = nearest_least(now[k], before[k - 2] + 1);
            }
        }
    }
    return cost[n % 3][m];
}

/* A word without the "no-" in front, by which two names do not differ much. */
static inline const char *nearest_bare(const char *word)
{
    return word + ((nearest_same(word[0], 'n') && nearest_same(word[1], 'o') &&
                    nearest_same(word[2], '-')) ? 3 : 0);
}

static inline void nearest_init(nearest_t *nearest, const char *word)
{
    memset(nearest, 0, sizeof(*nearest));
    nearest->word = word;
    nearest->cost = nearest_least(NEAREST_COST, strlen(word) / 3) + 1;
}

static inline void nearest_try(nearest_t *nearest, const char *name)
{
    size_t cost;

    if ((strlen(nearest->word) > NEAREST_LENGTH) ||
        (strlen(name) > NEAREST_LENGTH)) {
        return;
    }
    nearest->is_same |= nearest_changes(nearest->word, name) == 0;
    cost = nearest_changes(nearest_bare(nearest->word), nearest_bare(name));
    if (cost < nearest->cost) {
        nearest->name = name;
        nearest->cost = cost;
    }
}

#endif
