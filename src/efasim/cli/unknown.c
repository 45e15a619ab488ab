/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of options and variables that are none, and which one is near. */
#include "cli.h"

#include "efasim/engine/knobs.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define UNKNOWN_PREFIX "EFASIM_"

/* Options that are no knobs, and may stand in the environment as well. */
static const char *const unknown_others[] = {"node", "per-node", "fabric",
                                             "plan", "trace", "stat", NULL};

/* "no-rdma-read" behind its "no-" */
static const char *unknown_bare(const char *name)
{
    return name + (strncmp(name, "no-", 3) ? 0 : 3);
}

/* Nonzero if one letter was changed, added or dropped between the two words, or
 * a "no-". */
static int unknown_is_near(const char *word, const char *other)
{
    size_t same = 0, rest, others;

    word   = unknown_bare(word);
    other  = unknown_bare(other);
    rest   = strlen(word);
    others = strlen(other);
    while ((word[same] != '\0') && (word[same] == other[same])) {
        ++same;
    }
    rest   -= same;
    others -= same;
    return ((rest == 0) && (others == 0)) ||
           ((rest == others) &&
            !strcmp(word + same + 1, other + same + 1)) ||
           ((rest == others + 1) && !strcmp(word + same + 1, other + same)) ||
           ((rest + 1 == others) && !strcmp(word + same, other + same + 1));
}

/* The option that is near, or NULL. */
static const char *unknown_near(const char *word)
{
    const struct sim_knob *knob;
    const char *near = NULL;
    unsigned i;

    for (i = 0; unknown_others[i] != NULL; ++i) {
        near = unknown_is_near(word, unknown_others[i]) ? unknown_others[i] :
                                                          near;
    }
    for (knob = sim_knob_table; knob->name != NULL; ++knob) {
        near = unknown_is_near(word, knob->name) ? knob->name : near;
    }
    return near;
}

void cli_unknown_option(const char *option)
{
    const char *near;
    char word[64];

    snprintf(word, sizeof(word), "%s", option + strspn(option, "-"));
    word[strcspn(word, "=")] = '\0';
    near = unknown_near(word);
    cli_error("unknown option '%.64s':%s%s%s efasim run --help=all lists all",
              option, (near != NULL) ? " is --" : "",
              (near != NULL) ? near : "", (near != NULL) ? " meant?" : "");
}

/* EFASIM_RDMA_READ=0 as "rdma-read"; or "rdma-read" as RDMA_READ. */
static void unknown_turn(char *to, size_t size, const char *from, char blank,
                         char other, int (*letter)(int))
{
    size_t i;

    for (i = 0; (from[i] != '\0') && (from[i] != '=') && (i + 1 < size); ++i) {
        to[i] = (from[i] == blank) ? other : (char)letter(from[i]);
    }
    to[i] = '\0';
}

static int unknown_is_known(const char *word)
{
    unsigned i;

    for (i = 0; unknown_others[i] != NULL; ++i) {
        if (!strcmp(word, unknown_others[i])) {
            return 1;
        }
    }
    return sim_knob_find(word) != NULL;
}

void cli_unknown_variables(void)
{
    size_t length = strlen(UNKNOWN_PREFIX);
    char word[64], name[64] = "";
    const char *near;
    char **one;

    for (one = environ; *one != NULL; ++one) {
        if (strncmp(*one, UNKNOWN_PREFIX, length)) {
            continue;
        }
        unknown_turn(word, sizeof(word), *one + length, '_', '-', tolower);
        if (unknown_is_known(word)) {
            continue;
        }
        near = unknown_near(word);
        if (near != NULL) {
            unknown_turn(name, sizeof(name), near, '-', '_', toupper);
        }
        cli_error("%.64s: no setting has this name, so it changes nothing:"
                  "%s%s%s efasim run --help=all lists all", *one,
                  (near != NULL) ? " is " UNKNOWN_PREFIX : "",
                  (near != NULL) ? name : "", (near != NULL) ? " meant?" : "");
    }
}
