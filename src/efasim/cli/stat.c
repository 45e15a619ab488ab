/*
 * efasim stat: the counters of a fabric, as lines that scripts read, or as a
 * table that a person watches. efasim clean.
 */
#include "cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct stat_options {
    const char *fabric;
    int         qps;
    unsigned    watch;  /* seconds; 0: once */
};

/* Counters as they were at the last look */
struct stat_seen {
    uint64_t counter[SIM_NODES][DIR_COUNTERS];
    uint64_t pair[SIM_NODES][SIM_NODES];
};

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

static void stat_print_qps(const struct fabric *fabric, int fd)
{
    static const char *const states[] = {
        "reset", "init", "rtr", "rts", "sqd", "sqe", "error",
    };
    const struct dir_qp *qp;
    uint32_t owner, state;
    unsigned n, i;

    for (n = 0; n < SIM_NODES; ++n) {
        for (i = 0; i < SIM_MAX_QP; ++i) {
            qp    = &fabric->dir->node[n].qp[i];
            owner = atomic_load(&qp->owner);
            state = atomic_load(&qp->state);
            if (owner == 0) {
                continue;
            }
            dprintf(fd, "qp node=%u qpn=%u pid=%d state=%s sent=%llu "
                    "sent_bytes=%llu received=%llu received_bytes=%llu "
                    "errors=%llu\n", n, i,
                    fabric->dir->slot[dir_owner_slot(owner) % SIM_SLOTS].pid,
                    (state < 7) ? states[state] : "?",
                    (unsigned long long)atomic_load(&qp->sent),
                    (unsigned long long)atomic_load(&qp->sent_bytes),
                    (unsigned long long)atomic_load(&qp->received),
                    (unsigned long long)atomic_load(&qp->received_bytes),
                    (unsigned long long)atomic_load(&qp->errors));
        }
    }
}

/* A line per counter that moves or has moved: total, and per second. */
static void stat_table(const struct fabric *fabric, struct stat_seen *seen,
                       unsigned seconds)
{
    const struct dir_node *node;
    uint64_t value;
    unsigned n, i;

    printf("%-28s %20s %14s\n", "", "total", "per second");
    for (n = 0; n < SIM_NODES; ++n) {
        node = &fabric->dir->node[n];
        for (i = 0; i < DIR_COUNTERS; ++i) {
            value = atomic_load(&node->counter[i]);
            if (value != 0) {
                printf("host %u %-21s %20llu %14llu\n", n,
                       dir_counter_names[i], (unsigned long long)value,
                       (unsigned long long)(value - seen->counter[n][i]) /
                       seconds);
            }
            seen->counter[n][i] = value;
        }
        for (i = 0; i < SIM_NODES; ++i) {
            value = atomic_load(&node->pair_bytes[i]);
            if (value != 0) {
                printf("host %u to host %u bytes       %20llu %14llu\n", n, i,
                       (unsigned long long)value,
                       (unsigned long long)(value - seen->pair[n][i]) /
                       seconds);
            }
            seen->pair[n][i] = value;
        }
    }
}

/* Until the fabric is removed or somebody interrupts us. */
static void stat_watch(const struct fabric *fabric,
                       const struct stat_options *options)
{
    struct stat_seen seen = { 0 };

    while (!atomic_load(&fabric->dir->closed)) {
        if (isatty(STDOUT_FILENO)) {
            fputs("\033[H\033[J", stdout);
        }
        stat_table(fabric, &seen, options->watch);
        fflush(stdout);
        if (options->qps) {
            stat_print_qps(fabric, STDOUT_FILENO);
        }
        sleep(options->watch);
    }
}

static int stat_seconds(const char *text, unsigned *seconds)
{
    char *end;
    unsigned long number = strtoul(text, &end, 10);

    if ((end == text) || (*end != '\0') || (*text == '-') || (number < 1) ||
        (number > 3600)) {
        cli_error("--watch=%.64s: allowed is a whole number of seconds from "
                  "1 to 3600", text);
        return -1;
    }

    *seconds = number;
    return 0;
}

/* Returns 0, or an exit status. */
static int stat_options(int argc, char **argv, struct stat_options *options)
{
    int is_stat = !strcmp(argv[0], "stat");
    const char *value;
    int i;

    for (i = 1; i < argc; ++i) {
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            cli_help(stdout);
            exit(0);
        }
        value = cli_option(argc, argv, &i, "fabric");
        if (value != NULL) {
            options->fabric = value;
        } else if (is_stat && !strcmp(argv[i], "--qps")) {
            options->qps = 1;
        } else if (is_stat && !strcmp(argv[i], "--watch")) {
            options->watch = 1;
        } else if (is_stat && !strncmp(argv[i], "--watch=", 8)) {
            if (stat_seconds(argv[i] + 8, &options->watch) != 0) {
                return CLI_EXIT_USAGE;
            }
        } else {
            cli_error("unknown option '%.64s' of %s: allowed is --fabric%s",
                      argv[i], argv[0], is_stat ? ", --qps and --watch" : "");
            return CLI_EXIT_USAGE;
        }
    }

    return 0;
}

int cli_stat(int argc, char **argv)
{
    struct stat_options options = { 0 };
    char path[FABRIC_PATH_MAX];
    struct fabric *fabric;
    const char *name;
    int ret;

    ret = stat_options(argc, argv, &options);
    if (ret != 0) {
        return ret;
    }
    name = cli_fabric_name(options.fabric);
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

    if (options.watch) {
        stat_watch(fabric, &options);
    } else {
        cli_stat_print(fabric, STDOUT_FILENO);
        if (options.qps) {
            stat_print_qps(fabric, STDOUT_FILENO);
        }
    }
    fabric_forget(fabric);
    return 0;
}

int cli_clean(int argc, char **argv)
{
    struct stat_options options = { 0 };
    char path[FABRIC_PATH_MAX];
    unsigned removed, live;
    const char *name;
    int ret;

    ret = stat_options(argc, argv, &options);
    if (ret != 0) {
        return ret;
    }
    name = options.fabric;
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
