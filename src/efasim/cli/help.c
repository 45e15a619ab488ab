/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Help: common options first, and only those unless all are asked for; options
 * that make the device fail stand apart.
 */
#include "cli.h"

#include "efasim/engine/knobs.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *title;
    int         is_common;
} help_groups[SIM_GROUPS] = {
    [SIM_GROUP_HOST]         = { "The host", 1 },
    [SIM_GROUP_NETWORK]      = { "The network (P: a share, from 0 to 1)", 1 },
    [SIM_GROUP_NETWORK_MORE] = { "More of the network", 0 },
    [SIM_GROUP_DEVICE]       = { "The device and its driver", 0 },
    [SIM_GROUP_FAULTS]       = { "Faults", 0 },
    [SIM_GROUP_NO_EFA]       = { "Faults that no EFA should have "
                                 "(srd_info --selftest notices them)", 0 },
};

static const char help_commands[] =
    "usage: efasim run [OPTION]... -- COMMAND [ARG]...\n"
    "       efasim stat [--fabric NAME] [--qps] [--watch[=SECONDS]] [--raw]\n"
    "       efasim clean [--fabric NAME]\n"
    "       efasim --version\n"
    "\n"
    "run    give COMMAND an EFA device, rdmap0s6, under the real libibverbs\n"
    "stat   show the traffic of the devices of a fabric\n"
    "clean  remove the leftovers of killed programs\n"
    "\n"
    "  efasim run -- ibv_devinfo                          one host\n"
    "  efasim run --node 0 -- ib_send_lat -c SRD -x 0 &   two hosts\n"
    "  efasim run --node 1 -- ib_send_lat -c SRD -x 0 localhost\n"
    "  efasim run --per-node 2 -- mpirun -n 4 ...         four ranks\n"
    "\n"
    "efasim run --help lists the options of run (stat and clean likewise); "
    "efasim(1)\nhas the rest.\n";

static const char help_run[] =
    "usage: efasim run [OPTION]... -- COMMAND [ARG]...\n"
    "Gives COMMAND an EFA device, rdmap0s6, under the real libibverbs. Options "
    "of\nwhich no default is told are 0, or off.\n"
    "\n"
    "Host, fabric, and reports:\n"
    "  --node N                be host N of the fabric, 0 to 7 (default 0)\n"
    "  --per-node K            before mpirun or srun, or what it starts:\n"
    "                          ranks 0 to K-1 on host 0, the next on 1, ...\n"
    "  --fabric NAME           network to join or make (default: \"default\")\n"
    "  --stat[=FILE]           write counters to stderr, or FILE, at the end\n"
    "  --trace FILE            a line in FILE for each command and packet\n"
    "  --plan FILE             faults by time or count: efasim(1), PLANS\n";

static const char help_run_more[] =
    "\nefasim run --help=all lists the others: limits of the device, and "
    "faults.\n";

static const char help_run_end[] =
    "\nEach option outside the first group is also a variable, for one process "
    "alone:\nEFASIM_TIMEOUT_MS=250 is --timeout-ms 250, EFASIM_EAGER=1 "
    "--eager, EFASIM_DMABUF=0\n--no-dmabuf. With EFASIM_STAT=FILE each run "
    "appends its counters to FILE.\n";

static const char help_stat[] =
    "usage: efasim stat [--fabric NAME] [--qps] [--watch[=SECONDS]] [--raw]\n"
    "Shows the traffic of the devices of a fabric so far.\n"
    "\n"
    "  --fabric NAME           the fabric (default: \"default\")\n"
    "  --qps                   show each queue pair, too\n"
    "  --watch[=SECONDS]       repeat it each SECONDS (default: 1)\n"
    "  --raw                   all counters as NAME=VALUE, for scripts\n";

static const char help_clean[] =
    "usage: efasim clean [--fabric NAME]\n"
    "Removes the leftovers of killed programs; the next run does so, too.\n"
    "\n"
    "  --fabric NAME           only this fabric (default: all of this user)\n";

/* Column in which the texts begin, and that before which they end */
enum { HELP_COLUMN = 26, HELP_WIDTH = 80 };

/* One knob: its option, and its text in lines of whole words behind it. */
static void help_knob(FILE *out, const struct sim_knob *knob)
{
    char option[64], usual[48] = "", text[512];
    const char *word = text;
    size_t length;
    int column;

    sim_knob_option(knob, option, sizeof(option));
    if ((knob->type == SIM_KNOB_UINT) && (knob->usual != 0)) {
        snprintf(usual, sizeof(usual), " (default %llu)",
                 (unsigned long long)knob->usual);
    }
    snprintf(text, sizeof(text), "%s%s", knob->help, usual);
    column = fprintf(out, "  %s", option);
    if (column >= HELP_COLUMN) {
        column = fprintf(out, "\n") - 1;
    }
    column += fprintf(out, "%*s", HELP_COLUMN - column, "");
    for (; *word != '\0'; word += length + (word[length] == ' ')) {
        length = strcspn(word, " ");
        if ((word > text) && (column + 1 + length >= HELP_WIDTH)) {
            column = fprintf(out, "\n%*s", HELP_COLUMN, "") - 1;
        } else if (word > text) {
            column += fprintf(out, " ");
        }
        column += fprintf(out, "%.*s", (int)length, word);
    }
    fprintf(out, "\n");
}

void cli_help(FILE *out)
{
    fputs(help_commands, out);
}

void cli_help_run(FILE *out, int all)
{
    const struct sim_knob *knob;
    int group;

    fputs(help_run, out);
    for (group = 0; group < SIM_GROUPS; ++group) {
        if (!all && !help_groups[group].is_common) {
            continue;
        }
        fprintf(out, "\n%s:\n", help_groups[group].title);
        for (knob = sim_knob_table; knob->name != NULL; ++knob) {
            if ((int)knob->group == group) {
                help_knob(out, knob);
            }
        }
    }
    fputs(all ? help_run_end : help_run_more, out);
}

void cli_help_stat(FILE *out)
{
    fputs(help_stat, out);
}

void cli_help_clean(FILE *out)
{
    fputs(help_clean, out);
}
