#include "cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void cli_stat_print(const struct fabric *fabric, int fd)
{
    const struct dir_node *node;
    unsigned i, n, to;
    uint64_t bytes;

    for (n = 0; n < SIM_NODES; ++n) {
        node = &fabric->dir->node[n];
        if (!atomic_load(&node->up)) {
            continue;
        }
        dprintf(fd, "node=%u device=" FABRIC_DEVICE_NAME, n);
        for (i = 0; i < DIR_COUNTERS; ++i) {
            dprintf(fd, " %s=%llu", dir_counter_names[i],
                    (unsigned long long)atomic_load(&node->counter[i]));
        }
        dprintf(fd, "\n");
    }

    for (n = 0; n < SIM_NODES; ++n) {
        for (to = 0; to < SIM_NODES; ++to) {
            bytes = atomic_load(&fabric->dir->node[n].pair_bytes[to]);
            if (bytes > 0) {
                dprintf(fd, "pair src=%u dst=%u bytes=%llu\n", n, to,
                        (unsigned long long)bytes);
            }
        }
    }
}

/* The only option of stat and clean. Returns 0, or an exit status. */
static int stat_options(int argc, char **argv, const char **name_p)
{
    const char *option = NULL;
    int i;

    for (i = 1; i < argc; ++i) {
        option = cli_option(argc, argv, &i, "fabric");
        if (option == NULL) {
            cli_error("unknown option '%.64s' of %s: allowed is --fabric",
                      argv[i], argv[0]);
            return CLI_EXIT_USAGE;
        }
    }

    *name_p = option;
    return 0;
}

int cli_stat(int argc, char **argv)
{
    char path[FABRIC_PATH_MAX];
    struct fabric *fabric;
    const char *name;
    int ret;

    ret = stat_options(argc, argv, &name);
    if (ret != 0) {
        return ret;
    }
    name = cli_fabric_name(name);
    if (name == NULL) {
        return CLI_EXIT_USAGE;
    }

    fabric_path(name, path);
    fabric = fabric_open(path, 0, -1);
    if (fabric == NULL) {
        cli_error("no fabric named '%s' (%s): it exists while an `efasim run` "
                  "or a program in it does", name, strerror(errno));
        return 1;
    }

    cli_stat_print(fabric, STDOUT_FILENO);
    fabric_forget(fabric);
    return 0;
}

int cli_clean(int argc, char **argv)
{
    char path[FABRIC_PATH_MAX];
    unsigned removed, live;
    const char *name;
    int ret;

    ret = stat_options(argc, argv, &name);
    if (ret != 0) {
        return ret;
    }
    if (name != NULL) {
        name = cli_fabric_name(name);
        if (name == NULL) {
            return CLI_EXIT_USAGE;
        }
        fabric_path(name, path);
    }

    removed = fabric_clean((name != NULL) ? path : NULL, &live);
    printf("removed=%u in_use=%u\n", removed, live);
    return 0;
}
