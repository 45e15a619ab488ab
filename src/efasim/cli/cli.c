/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli.h"

#include "efasim/engine/number.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cli_error(const char *fmt, ...)
{
    va_list ap;

    fputs("efasim: ", stderr);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
}

const char *cli_option(int argc, char **argv, int *i, const char *name)
{
    size_t length    = strlen(name);
    const char *text = argv[*i];

    if (strncmp(text, "--", 2) || strncmp(text + 2, name, length)) {
        return NULL;
    }
    text += 2 + length;
    if (*text == '=') {
        return text + 1;
    }
    if (*text != '\0') {
        return NULL;
    }
    if (*i + 1 >= argc) {
        cli_error("--%s needs a value", name);
        exit(CLI_EXIT_USAGE);
    }

    return argv[++*i];
}

int cli_number(const char *option, const char *text, unsigned min,
               unsigned max, unsigned *value)
{
    const char *end;
    uint64_t number;

    if ((sim_number(text, max, &number, &end) != 0) || (*end != '\0') ||
        (number < min)) {
        cli_error("%s=%.64s: allowed is a whole number from %u to %u", option,
                  text, min, max);
        return -1;
    }

    *value = number;
    return 0;
}

const char *cli_fabric_name(const char *option)
{
    const char *name = option;

    if (name == NULL) {
        name = getenv("EFASIM_FABRIC");
    }
    if ((name == NULL) || (*name == '\0')) {
        name = "default";
    }
    if (!fabric_name_is_valid(name)) {
        cli_error("%s=%.64s: allowed are letters, digits, '.', '_' and '-', "
                  "at most %d", option ? "--fabric" : "EFASIM_FABRIC", name,
                  FABRIC_NAME_MAX - 1);
        return NULL;
    }

    return name;
}
