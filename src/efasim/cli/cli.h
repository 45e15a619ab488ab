/* SPDX-License-Identifier: BSD-3-Clause */
/* The efasim command: one function per subcommand, each the exit status. */
#ifndef EFASIM_CLI_CLI_H
#define EFASIM_CLI_CLI_H

#include "command/options.h"
#include "efasim/fabric/fabric.h"

#include <stdio.h>

enum {
    CLI_EXIT_FAILED  = 125, /* efasim itself failed, nothing was run */
    CLI_EXIT_NO_EXEC = 126, /* the command cannot be executed */
    CLI_EXIT_NO_CMD  = 127, /* the command was not found */
};

int cli_run(int argc, char **argv);
int cli_stat(int argc, char **argv);
int cli_clean(int argc, char **argv);

/* A run has opened the fabric `name`: tell its user of another user's fabric of
 * that name, and of options that differ, in a line each on stderr. `is_inner`:
 * the run is started by another run of this fabric, whose options it has. */
void cli_join_say(const struct fabric *fabric, const char *name, int is_inner);

/* A line on each EFASIM_* variable of the environment that is none, with the
 * one that is near. */
void cli_unknown_variables(void);

/* A line, if the program of a run will start without the device: it is static,
 * or has rights of another user. */
void cli_program_say(const char *name);

/* The program could not be started, with this errno: a line. Returns the exit
 * status that shells use. */
int cli_program_failed(const char *name, int err);

/* Name of the fabric from --fabric or EFASIM_FABRIC; NULL after an error. */
const char *cli_fabric_name(const char *option);

/* All counters of a fabric as lines of NAME=VALUE. */
void cli_stat_print(const struct fabric *fabric, FILE *out);

#endif
