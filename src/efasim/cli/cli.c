/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli.h"

#include "efasim/engine/knobs.h"
#include "efasim/engine/number.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char cli_usage[] =
    "usage: efasim run [OPTION]... -- COMMAND [ARG]...\n"
    "       efasim stat [--fabric NAME] [--qps] [--watch[=SECONDS]]\n"
    "       efasim clean [--fabric NAME]\n"
    "\n"
    "run: COMMAND sees an EFA device, rdmap0s6, under the real libibverbs.\n"
    "  --node N                be host N of the fabric, 0 to 7 (default 0)\n"
    "  --per-node K            of the ranks that a launcher starts, K per\n"
    "                          host\n"
    "  --fabric NAME           fabric to join or make (default: default)\n"
    "  --stat[=FILE]           counters to stderr, or FILE, at the end\n"
    "  --plan FILE             faults by time and count; see efasim(1)\n"
    "  --trace FILE            commands and packets, one line each\n";

/* A flag that is set unless somebody says --no-NAME */
static int cli_is_set(const struct sim_knob *knob)
{
    struct sim_knobs knobs;
    uint64_t value;

    sim_knobs_init(&knobs);
    memcpy(&value, (const char*)&knobs + knob->offset, sizeof(value));
    return (knob->type == SIM_KNOB_FLAG) && (value != 0);
}

void cli_help(FILE *out)
{
    const struct sim_knob *knob;
    char option[64];

    fputs(cli_usage, out);
    for (knob = sim_knob_table; knob->name != NULL; ++knob) {
        snprintf(option, sizeof(option), "--%s%s%s%s",
                 cli_is_set(knob) ? "no-" : "", knob->name,
                 knob->arg ? " " : "", knob->arg ? knob->arg : "");
        if (strlen(option) > 23) {
            fprintf(out, "  %s\n                          %s\n", option,
                    knob->help);
        } else {
            fprintf(out, "  %-24s%s\n", option, knob->help);
        }
    }
    fputs("  Each of these is also an environment variable, for one process "
          "alone:\n  --timeout-ms is EFASIM_TIMEOUT_MS. EFASIM_STAT=FILE: each "
          "run appends its\n  fabric's counters.\n"
          "stat: counters of each host that has a device, and bytes from host "
          "to host;\n      --qps: of each queue pair, --watch: again and "
          "again.\n"
          "clean: remove what killed processes left.\n", out);
}

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
