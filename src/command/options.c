/* SPDX-License-Identifier: BSD-3-Clause */
#include "options.h"

#include <util/nearest.h>

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <config.h>

enum {
    OPTIONS_MAX    = 320, /* rows of a program */
    OPTIONS_ERROR  = 8192, /* bytes of a message: a path and words */
    OPTIONS_LONG   = 256, /* getopt's number of row 0; below are letters */
    OPTIONS_COLUMN = 26,  /* in which the texts begin, ... */
    OPTIONS_WIDTH  = 80   /* ... and before which they end */
};

static char options_name[32] = "";

static const option_row_t options_common[] = {
    {.name = "help", .letter = 'h', .arg = "[=all]", .usual = ""},
    {.name = "version", .letter = 'V', .help = "the release"},
};

enum { OPTIONS_COMMON = sizeof(options_common) / sizeof(options_common[0]) };

const char *options_program(void)
{
    return options_name;
}

/* Bytes of the character at `text`, which a terminal prints; 0: it is a control
 * character, C1 as well, or no UTF-8. */
static size_t options_printed(const char *text)
{
    const unsigned char *byte = (const unsigned char*)text;
    size_t size = (byte[0] < 0x80) ? 1 : (byte[0] < 0xe0) ? 2 :
                  (byte[0] < 0xf0) ? 3 : 4, i;

    if (((size == 1) && iscntrl(byte[0])) || (byte[0] > 0xf4) ||
        ((size == 2) && (byte[0] < 0xc2)) ||
        ((byte[0] == 0xc2) && (byte[1] < 0xa0)) ||
        ((byte[0] == 0xe0) && (byte[1] < 0xa0)) ||
        ((byte[0] == 0xf0) && (byte[1] < 0x90))) {
        return 0;
    }
    for (i = 1; i < size; ++i) {
        if ((byte[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    return size;
}

void options_clean(char *line)
{
    size_t size;

    for (; *line != '\0'; line += size) {
        size = options_printed(line);
        if (size == 0) {
            *line = '?';
            size  = 1;
        }
    }
}

void options_error(const char *fmt, ...)
{
    char line[OPTIONS_ERROR];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(line, sizeof(line), fmt, ap);
    va_end(ap);
    options_clean(line);
    fprintf(stderr, "%s: %s\n", options_name, line);
}

static void options_limit(int sig)
{
    (void)sig;
}

static void options_end(void)
{
    errno = 0;
    if ((fflush(stdout) != 0) || ferror(stdout)) {
        options_error("the report could not all be written%s%s; make room, or "
                      "print elsewhere", errno ? ": " : "",
                      errno ? strerror(errno) : "");
        _exit(OPTIONS_EXIT_USAGE);
    }
}

/* Nothing is cut off in silence: not what is printed, nor by a limit on file
 * sizes, at which a write fails instead. (By a handler: the programs that ours
 * start would inherit that the signal is ignored.) */
static void options_outputs(void)
{
    static int done;
    struct sigaction limit;

    if (!done++) {
        atexit(options_end);
        if ((sigaction(SIGXFSZ, NULL, &limit) == 0) &&
            (limit.sa_handler == SIG_DFL)) {
            signal(SIGXFSZ, options_limit);
        }
    }
}

int options_number(const char *label, const char *text, uint64_t min,
                   uint64_t max, uint64_t *value)
{
    unsigned long long number;
    char *end;

    errno  = 0;
    number = strtoull(text, &end, 0);
    if (!isdigit((unsigned char)*text) || (*end != '\0') || (errno != 0) ||
        (number < min) || (number > max)) {
        options_error("%s=%.64s: allowed is a whole number from %llu to %llu",
                      label, text, (unsigned long long)min,
                      (unsigned long long)max);
        return -1;
    }
    *value = number;
    return 0;
}

/* Row N of the program's and then of the common ones; NULL: there is none. */
static const option_row_t *options_row(const options_t *options, unsigned n)
{
    return (n < options->count) ? &options->rows[n] :
           (n < options->count + OPTIONS_COMMON) ?
           &options_common[n - options->count] : NULL;
}

static int options_has_more(const options_t *options)
{
    unsigned n;

    for (n = 0; n < options->count; ++n) {
        if (options->rows[n].is_more) {
            return 1;
        }
    }
    return 0;
}

/* Whole words, in lines of the column of texts; the cursor stands at `column`.
 */
static void options_text(int column, const char *text)
{
    const char *word = text;
    size_t length;

    if (column >= OPTIONS_COLUMN) {
        puts("");
        column = 0;
    }
    column += printf("%*s", OPTIONS_COLUMN - column, "");
    for (; *word != '\0'; word += length + (word[length] == ' ')) {
        length = strcspn(word, " ");
        if ((word > text) && (column + 1 + length >= OPTIONS_WIDTH)) {
            column = printf("\n%*s", OPTIONS_COLUMN, "") - 1;
        } else if (word > text) {
            column += printf(" ");
        }
        column += printf("%.*s", (int)length, word);
    }
    puts("");
}

static void options_help_row(const option_row_t *row, const char *arg,
                             const char *help)
{
    char text[1024], dflt[48] = "";
    int column;

    if (row->dflt != 0) {
        snprintf(dflt, sizeof(dflt), " (default %llu)",
                 (unsigned long long)row->dflt);
    }
    snprintf(text, sizeof(text), "%s%s", help, dflt);
    column = (row->letter != 0) ? printf("  -%c, ", row->letter) :
                                  printf("  ");
    column += printf("--%s", row->name);
    if (arg != NULL) {
        column += printf("%s%s", (arg[0] == '[') ? "" : " ", arg);
    }
    options_text(column, text);
}

static void options_help(const options_t *options, int all)
{
    const char *usage = options->usage;
    const option_row_t *row;
    unsigned n, length;
    int is_shown = 1, has_more = options_has_more(options);
    int is_titled = (options->count > 0) && (options->rows[0].name == NULL);

    for (; *usage != '\0'; usage += length + (usage[length] == '\n')) {
        length = (unsigned)strcspn(usage, "\n");
        printf("%s %s %.*s\n", (usage == options->usage) ? "Usage:" : "      ",
               options->program, (int)length, usage);
    }
    printf("%s%s", options->about, is_titled ? "" : "\n");
    for (n = 0; (row = options_row(options, n)) != NULL; ++n) {
        is_shown = (row->name == NULL) || (n >= options->count) ?
                   (all || !row->is_more) : is_shown;
        printf("%s", is_titled && (n == options->count) ? "\n" : "");
        if (row->name == NULL) {
            printf("%s%s%s", is_shown ? "\n" : "", is_shown ? row->help : "",
                   is_shown ? ":\n" : "");
        } else if ((row->help != NULL) && is_shown) {
            options_help_row(row, row->arg, row->help);
        } else if (row->letter == 'h') {
            options_help_row(row, has_more ? row->arg : NULL, has_more ?
                             "this text; =all: with the other options" :
                             "this text");
        }
    }
    printf("%s%s", (options->end != NULL) ? "\n" : "",
           (options->end != NULL) ? options->end : "");
}

/* Ends the program: no option is called so. */
static void options_unknown(const options_t *options, const char *word)
{
    const option_row_t *row;
    nearest_t nearest;
    char copy[64];
    unsigned n;

    snprintf(copy, sizeof(copy), "%s", word + strspn(word, "-"));
    copy[strcspn(copy, "=")] = '\0';
    nearest_init(&nearest, copy);
    for (n = 0; (row = options_row(options, n)) != NULL; ++n) {
        if (row->name != NULL) {
            nearest_try(&nearest, row->name);
        }
    }
    options_error("unknown option '%.64s':%s%s%s %s --help%s lists all", word,
                  nearest.name ? " is --" : "",
                  nearest.name ? nearest.name : "",
                  nearest.name ? " meant?" : "", options->program,
                  options_has_more(options) ? "=all" : "");
    exit(OPTIONS_EXIT_USAGE);
}

/* getopt refused a word: ends the program after a line. */
static void options_refuse(const options_t *options, int code, char **argv)
{
    const option_row_t *row = (optopt < OPTIONS_LONG) ? NULL :
                              options_row(options, optopt - OPTIONS_LONG);
    char letter[] = {'-', (char)optopt, '\0'};

    if (row == NULL) {
        options_unknown(options, (optopt == 0) ? argv[optind - 1] : letter);
    }
    if (code == ':') {
        options_error("--%s needs a value: --%s=%s", row->name, row->name,
                      row->arg);
    } else {
        options_error("'%.64s': --%s takes no value", argv[optind - 1],
                      row->name);
    }
    exit(OPTIONS_EXIT_USAGE);
}

/* 0, or -1 after a line. */
static int options_take(const options_t *options, void *to,
                        const option_row_t *row, const char *value)
{
    char label[64];
    void *field = (char*)to + row->at;

    if (row->letter == 'h') {
        options_help(options, (value != NULL) && !strcmp(value, "all"));
        exit(0);
    }
    if (row->letter == 'V') {
        printf("%s " PACKAGE_VERSION "\n", options_name);
        exit(0);
    }
    value = (value == NULL) ? row->usual : value;
    if (row->of != NULL) {
        return options->take(to, row, value);
    }
    if (row->arg == NULL) {
        *(int*)field = 1;
    } else if (row->max != 0) {
        snprintf(label, sizeof(label), "--%s", row->name);
        return options_number(label, value, row->min, row->max, field);
    } else {
        *(const char**)field = value;
    }
    return 0;
}

/* Options that exclude or need others: 0, or -1 after a line. */
static int options_fit(const options_t *options, const uint8_t *given)
{
    const option_row_t *row, *report = NULL;
    unsigned n, k;

    for (n = 0; n < options->count; ++n) {
        row = &options->rows[n];
        if (!given[n]) {
            continue;
        }
        for (k = 0; (row->needs != NULL) && (k < options->count); ++k) {
            if ((options->rows[k].name != NULL) && !given[k] &&
                !strcmp(options->rows[k].name, row->needs)) {
                options_error("--%s has no effect without --%s: add --%s",
                              row->name, row->needs, row->needs);
                return -1;
            }
        }
        if (row->is_report && (report != NULL)) {
            options_error("--%s and --%s are two reports: run %s once for each",
                          report->name, row->name, options->program);
            return -1;
        }
        report = row->is_report ? row : report;
    }
    return 0;
}

/* The table and the letters for getopt. */
static void options_prepare(const options_t *options, struct option *longs,
                            char *letters)
{
    const option_row_t *row;
    unsigned n;

    letters += sprintf(letters, "%s:", options->is_wrapper ? "+" : "");
    for (n = 0; (row = options_row(options, n)) != NULL; ++n) {
        if (row->name != NULL) {
            *longs++ = (struct option){row->name, (row->arg == NULL) ? 0 :
                                       (row->arg[0] == '[') ? 2 : 1, NULL,
                                       (int)n + OPTIONS_LONG};
        }
        if (row->letter != 0) {
            *letters++ = row->letter;
        }
    }
    *letters = '\0';
    *longs   = (struct option){0};
}

int options_parse(const options_t *options, void *to, int argc, char **argv)
{
    struct option longs[OPTIONS_MAX + 1];
    char letters[OPTIONS_MAX];
    uint8_t given[OPTIONS_MAX] = {0};
    const option_row_t *row;
    unsigned n;
    int code;

    snprintf(options_name, sizeof(options_name), "%.*s",
             (int)strcspn(options->program, " "), options->program);
    options_outputs();
    options_prepare(options, longs, letters);
    opterr = 0;
    optind = 0; /* anew: a subcommand has options of its own */
    while ((code = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
        if ((code == '?') || (code == ':')) {
            options_refuse(options, code, argv);
        }
        for (n = 0; (row = options_row(options, n)) != NULL; ++n) {
            if ((code == (int)n + OPTIONS_LONG) ||
                ((row->letter != 0) && (code == row->letter))) {
                break;
            }
        }
        if (options_take(options, to, row, optarg) != 0) {
            exit(OPTIONS_EXIT_USAGE);
        }
        given[n] = 1;
    }
    if (options_fit(options, given) != 0) {
        exit(OPTIONS_EXIT_USAGE);
    }
    return optind;
}
