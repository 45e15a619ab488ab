/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Help: common options first, and only those unless all are asked for; options
 * that make the device fail stand apart.
 */
#include "cli.h"

#include "efasim/engine/knobs.h"

#include <stdio.h>
#include <string.h>

/* Knobs under one title, in this order. Those that no group names are in the
 * last. */
struct help_group {
    const char        *title;
    int                is_common;
    const char *const *names; /* NULL: the rest */
};

static const char *const help_host[] = {
    "devices", "device", "gpus", "eager", NULL
};
static const char *const help_network[] = {
    "delay-us", "jitter-us", "rate-mbps", "reorder", "loss", "duplicate",
    "timeout-ms", "seed", NULL
};
static const char *const help_network_more[] = {
    "ud-rate-mbps", "ud-buffer", "ud-mtu", "receive-us", "rnr-retry",
    "rnr-us", "reorder-reach", NULL
};
static const char *const help_device[] = {
    "max-ah", "max-cqe", "cq-divide", "comp-vectors", "sub-cqs", "ic-id",
    "port-gbps", "reg-us", "post-us", "ud-prefix", "strict-batch",
    "strict-ah", "no-rdma-read", "dmabuf", "peer-memory", "memlock-root", NULL
};
static const char *const help_faults[] = {
    "inject", "fail-command", "refuse-open", "killed-status", "qkey-status",
    NULL
};

static const struct help_group help_groups[] = {
    { "The host", 1, help_host },
    { "The network (P: a share, from 0 to 1)", 1, help_network },
    { "More of the network", 0, help_network_more },
    { "The device and its driver", 0, help_device },
    { "Faults", 0, help_faults },
    { "Faults that no EFA should have (srd_info --selftest notices them)", 0,
      NULL },
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
    "efasim(1)\nexplains them.\n";

static const char help_run[] =
    "usage: efasim run [OPTION]... -- COMMAND [ARG]...\n"
    "Gives COMMAND an EFA device, rdmap0s6, under the real libibverbs.\n"
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

/* Column in which the texts begin */
enum { HELP_COLUMN = 26 };

static void help_knob(FILE *out, const struct sim_knob *knob)
{
    const char *line = knob->help;
    char option[64];
    size_t length;
    int column;

    sim_knob_option(knob, option, sizeof(option));
    column = fprintf(out, "  %s", option);
    if (column >= HELP_COLUMN) {
        fputc('\n', out);
        column = 0;
    }
    for (; *line != '\0'; line += length + (line[length] == '\n')) {
        length = strcspn(line, "\n");
        fprintf(out, "%*s%.*s\n", HELP_COLUMN - column, "", (int)length, line);
        column = 0;
    }
}

static int help_has(const struct help_group *group, const char *name)
{
    const char *const *at;

    for (at = group->names; (at != NULL) && (*at != NULL); ++at) {
        if (!strcmp(*at, name)) {
            return 1;
        }
    }
    return 0;
}

/* Nonzero: no group names it. */
static int help_is_rest(const struct sim_knob *knob)
{
    size_t i;

    for (i = 0; i < sizeof(help_groups) / sizeof(help_groups[0]); ++i) {
        if (help_has(&help_groups[i], knob->name)) {
            return 0;
        }
    }
    return 1;
}

static void help_group(FILE *out, const struct help_group *group)
{
    const struct sim_knob *knob;
    const char *const *name;

    fprintf(out, "\n%s:\n", group->title);
    for (name = group->names; (name != NULL) && (*name != NULL); ++name) {
        help_knob(out, sim_knob_find(*name));
    }
    for (knob = sim_knob_table; (group->names == NULL) && (knob->name != NULL);
         ++knob) {
        if (help_is_rest(knob)) {
            help_knob(out, knob);
        }
    }
}

void cli_help(FILE *out)
{
    fputs(help_commands, out);
}

void cli_help_run(FILE *out, int all)
{
    size_t i;

    fputs(help_run, out);
    for (i = 0; i < sizeof(help_groups) / sizeof(help_groups[0]); ++i) {
        if (all || help_groups[i].is_common) {
            help_group(out, &help_groups[i]);
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
