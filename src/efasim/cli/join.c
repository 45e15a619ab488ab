/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Surprises that a run may hold, a line each: another user has a fabric of this
 * name, or this one was made with other options, or a variable is no setting.
 * Options hold for the programs of one run, so two runs of a fabric may differ
 * on purpose; a user who forgot them at one side reads it here.
 */
#include "cli.h"

#include "efasim/engine/knobs.h"
#include "efasim/fabric/folder.h"
#include "util/nearest.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { JOIN_TEXT_MAX = 1024 };

#define JOIN_FILE "options" /* in the fabric, of the run that made it */

/* One option as it is given to run. Those of a host need none: its runs must
 * agree. */
static void join_add(char *text, const char *name, int has_arg,
                     const char *value)
{
    size_t used  = strlen(text);
    int is_plain = !has_arg && !strcmp(value, "1");
    int is_off   = !has_arg && !strcmp(value, "0");

    snprintf(text + used, JOIN_TEXT_MAX - used, "%s--%s%s%s%s",
             (used > 0) ? " " : "", is_off ? "no-" : "", name,
             (is_plain || is_off) ? "" : "=",
             (is_plain || is_off) ? "" : value);
}

static void join_options(char *text)
{
    const struct sim_knob *knob;
    const char *value, *plan = getenv("EFASIM_PLAN");
    char name[64];

    text[0] = '\0';
    for (knob = sim_knob_table; knob->name != NULL; ++knob) {
        sim_knob_variable(knob, name, sizeof(name));
        value = getenv(name);
        if ((value != NULL) && (*value != '\0') &&
            (knob->scope != SIM_SCOPE_HOST)) {
            join_add(text, knob->name, knob->arg != NULL, value);
        }
    }
    if ((plan != NULL) && (*plan != '\0')) {
        join_add(text, "plan", 1, plan);
    }
}

/* NULL: not there (yet). */
static FILE *join_open(const struct fabric *fabric, int flags,
                       const char *mode)
{
    int fd = fabric_folder_file(fabric->path, JOIN_FILE, flags);

    return (fd < 0) ? NULL : fdopen(fd, mode);
}

static void join_write(const struct fabric *fabric, const char *text)
{
    FILE *file = join_open(fabric, O_WRONLY | O_CREAT | O_TRUNC, "w");

    if (file != NULL) {
        fprintf(file, "%s\n", text);
        fclose(file);
    }
}

/* 0, or -1: not there (yet). */
static int join_read(const struct fabric *fabric, char *text)
{
    FILE *file = join_open(fabric, O_RDONLY, "r");
    int ret;

    if (file == NULL) {
        return -1;
    }
    ret = (fgets(text, JOIN_TEXT_MAX, file) == NULL) ? -1 : 0;
    fclose(file);
    if (ret == 0) {
        text[strcspn(text, "\n")] = '\0';
    }
    return ret;
}

void cli_join_say(const struct fabric *fabric, const char *name, int is_inner)
{
    char here[JOIN_TEXT_MAX], there[JOIN_TEXT_MAX];
    unsigned uid;

    join_options(here);
    if (fabric->is_new) {
        join_write(fabric, here);
        if (fabric_namesake(name, &uid)) {
            options_error("user %u has a fabric '%s', too: this is another "
                          "one, programs of different users do not reach "
                          "each other; start both as one user, or ignore this",
                          uid, name);
        }
    } else if (!is_inner && (join_read(fabric, there) == 0) &&
               strcmp(here, there)) {
        options_error("fabric '%s' was made with %s%s, this run joins it "
                      "with %s%s: each program keeps its own; end the other "
                      "runs, or use another --fabric, if that is not wanted",
                      name, there[0] ? "" : "no options", there,
                      here[0] ? "" : "no options", here);
    }
}

/* ------------------------------------------------ variables that are none */

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
