/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli.h"

#include <config.h>

#include <string.h>

int main(int argc, char **argv)
{
    if (argc < 2) {
        cli_help(stderr);
        return CLI_EXIT_USAGE;
    }

    if (!strcmp(argv[1], "run")) {
        return cli_run(argc - 1, argv + 1);
    }
    if (!strcmp(argv[1], "stat")) {
        return cli_stat(argc - 1, argv + 1);
    }
    if (!strcmp(argv[1], "clean")) {
        return cli_clean(argc - 1, argv + 1);
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") ||
        !strcmp(argv[1], "help")) {
        cli_help(stdout);
        return 0;
    }

    if (!strcmp(argv[1], "--version")) {
        puts("efasim " PACKAGE_VERSION);
        return 0;
    }

    cli_error("unknown command '%.64s': allowed are run, stat and clean; "
              "`efasim run -- %.64s` runs a program", argv[1], argv[1]);
    return CLI_EXIT_USAGE;
}
