/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli.h"

#include "util/nearest.h"

#include <stdio.h>
#include <string.h>

static const options_t main_options = {
    .program    = "efasim",
    .usage      = "run [OPTION]... -- COMMAND [ARG]...\n"
                  "stat [OPTION]...\n"
                  "clean [--fabric NAME]",
    .about      =
        "\n"
        "  run    gives COMMAND an EFA device, rdmap0s6, under the real "
        "libibverbs\n"
        "  stat   shows the traffic of the devices of a fabric\n"
        "  clean  removes the leftovers of killed programs\n",
    .end        =
        "  efasim run -- ibv_devinfo                          one host\n"
        "  efasim run --node 0 -- ib_send_lat -c SRD -x 0 &   two hosts\n"
        "  efasim run --node 1 -- ib_send_lat -c SRD -x 0 localhost\n"
        "  efasim run --per-node 2 -- mpirun -n 4 ...         four ranks\n"
        "\n"
        "efasim run --help lists the options of run (stat and clean "
        "likewise); efasim(1)\nhas the rest.\n",
    .is_wrapper = 1,
};

static const struct {
    const char *name;
    int       (*run)(int argc, char **argv);
} main_commands[] = {
    { "run", cli_run }, { "stat", cli_stat }, { "clean", cli_clean },
};

int main(int argc, char **argv)
{
    int first = options_parse(&main_options, NULL, argc, argv);
    nearest_t nearest;
    unsigned i;

    if (first == argc) {
        options_error("no command is given: name run, stat or clean; efasim "
                      "--help tells of them");
        return OPTIONS_EXIT_USAGE;
    }
    nearest_init(&nearest, argv[first]);
    for (i = 0; i < sizeof(main_commands) / sizeof(main_commands[0]); ++i) {
        if (!strcmp(argv[first], main_commands[i].name)) {
            return main_commands[i].run(argc - first, argv + first);
        }
        nearest_try(&nearest, main_commands[i].name);
    }
    options_error("unknown command '%.64s': %s%s%s`efasim run -- %.64s` runs a "
                  "program; efasim --help lists the commands", argv[first],
                  nearest.name ? "is " : "", nearest.name ? nearest.name : "",
                  nearest.name ? " meant? " : "", argv[first]);
    return OPTIONS_EXIT_USAGE;
}
