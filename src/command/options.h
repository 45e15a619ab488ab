/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command line of every program here: one table of options makes the parser
 * and the help. -h, --help and -V, --version are everybody's; a word that is no
 * option is answered by the nearest one; a wrong command line ends the program
 * with OPTIONS_EXIT_USAGE after one line; so ends one whose output was cut off.
 */
#ifndef COMMAND_OPTIONS_H_
#define COMMAND_OPTIONS_H_

#include <stddef.h>
#include <stdint.h>

enum { OPTIONS_EXIT_USAGE = 2 };

/* One option; its field in the program's struct is an int, set to 1, without an
 * argument, a uint64_t with a `max`, else a const char *. */
typedef struct option_row {
    const char *name;      /* without "--"; NULL: `help` is a title */
    const char *arg;       /* "FILE"; "[=FILE]": it may be left out; or NULL */
    const char *help;      /* NULL: it is not shown */
    size_t      at;        /* of the field */
    uint64_t    min, max;
    uint64_t    dflt;      /* told in the help, unless 0 */
    const char *usual;     /* the argument where it is left out */
    const char *needs;     /* the option without which it has no effect */
    const void *of;        /* not NULL: options_t.take takes it */
    char        letter;    /* 0: none */
    uint8_t     is_report; /* only one of these in a run */
    uint8_t     is_more;   /* of a title: what follows is for --help=all */
} option_row_t;

typedef struct options {
    const char         *program; /* "srd_info", "efasim run" */
    const char         *usage;   /* behind the program; lines */
    const char         *about;   /* below that; ends with a newline */
    const char         *end;     /* below the options, likewise, or NULL */
    const option_row_t *rows;
    unsigned            count;
    int                 is_wrapper; /* what is no option is another program,
                                       whose options are not ours */
    /* Takes an option of which `of` is set; a value of NULL: it has none. 0; or
     * -1 after a line. */
    int (*take)(void *to, const option_row_t *row, const char *value);
} options_t;

/* Sets the fields of the struct `to`. Returns the index of the first word that
 * is no option, those in front of which may have been moved there. Ends the
 * program after help, version, or an error. */
int options_parse(const options_t *options, void *to, int argc, char **argv);

/* A whole number from min to max, the value of `label`, as "--node". 0; or -1
 * after one line that has all of it. */
int options_number(const char *label, const char *text, uint64_t min,
                   uint64_t max, uint64_t *value);

/* The first word of the program, and a line of it on stderr. */
const char *options_program(void);
/* Masks in a line whatever a terminal may take for a command: it has words of a
 * file, or its name, which may be another user's. */
void options_clean(char *line);
void options_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
