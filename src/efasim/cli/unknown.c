/* SPDX-License-Identifier: BSD-3-Clause */
/* Variables of the environment that are no setting, and which one is near. */
#include "cli.h"

#include "efasim/engine/knobs.h"
#include "util/nearest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define UNKNOWN_PREFIX "EFASIM_"

/* Settings that are no knobs. */
static const char *const unknown_others[] = {"node", "per-node", "fabric",
                                             "plan", "trace", "stat", NULL};

/* Tells of a variable, EFASIM_WORD=VALUE, if that is none. */
static void unknown_say(const char *variable)
{
    const struct sim_knob *knob;
    char word[64], name[64] = "";
    nearest_t nearest;
    unsigned i;

    snprintf(word, sizeof(word), "%s", variable + strlen(UNKNOWN_PREFIX));
    word[strcspn(word, "=")] = '\0';
    nearest_init(&nearest, word);
    for (i = 0; unknown_others[i] != NULL; ++i) {
        nearest_try(&nearest, unknown_others[i]);
    }
    for (knob = sim_knob_table; knob->name != NULL; ++knob) {
        nearest_try(&nearest, knob->name);
    }
    if (nearest.is_same) {
        return;
    }
    for (i = 0; (nearest.name != NULL) && (nearest.name[i] != '\0') &&
                (i + 1 < sizeof(name)); ++i) {
        name[i] = (nearest.name[i] == '-') ? '_' : toupper(nearest.name[i]);
    }
    options_error("%.64s: no setting has this name, so it changes "
                  "nothing:%s%s%s efasim run --help=all lists all", variable,
                  name[0] ? " is " UNKNOWN_PREFIX : "", name,
                  name[0] ? " meant?" : "");
}

void cli_unknown_variables(void)
{
    char **one;

    for (one = environ; *one != NULL; ++one) {
        if (!strncmp(*one, UNKNOWN_PREFIX, strlen(UNKNOWN_PREFIX))) {
            unknown_say(*one);
        }
    }
}
