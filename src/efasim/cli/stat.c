/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * efasim stat: the counters of a fabric, as a table for a person, once or again
 * and again, or as lines for scripts. efasim clean.
 */
#include "cli.h"

#include "command/json.h"
#include "efasim/fabric/folder.h"
#include "efasim/fabric/sysfs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct stat_options {
    const char *fabric;
    int         qps, raw;
    uint64_t    watch;  /* seconds; 0: once */
    const char *json;
};

/* A device was attached here once. */
#define stat_for_each_up(_fabric, _nic) \
    for ((_nic) = 0; (_nic) < SIM_NICS; ++(_nic)) \
        if (atomic_load(&(_fabric)->dir->nic[_nic].up))

/* Counters as they were at the last look */
struct stat_seen {
    uint64_t counter[SIM_NICS][DIR_COUNTERS];
    uint64_t pair[SIM_NICS][SIM_NICS];
};

static void stat_print_counters(const struct fabric *fabric, FILE *out)
{
    unsigned i, n;

    stat_for_each_up(fabric, n) {
        fprintf(out, "node=%u device=%s", dir_nic_host(n),
                fabric_sysfs_nic_name(fabric, n));
        for (i = 0; i < DIR_COUNTERS; ++i) {
            fprintf(out, " %s=%llu", dir_counter_names[i],
                    (unsigned long long)dir_counter(fabric->dir, n, i));
        }
        fprintf(out, "\n");
    }
}

/* Bytes that went from any device of host `src` to any of host `dst` */
static uint64_t stat_pair(const struct fabric *fabric, unsigned src,
                          unsigned dst)
{
    uint64_t bytes = 0;
    unsigned i, k;

    for (i = 0; i < SIM_DEVICES; ++i) {
        for (k = 0; k < SIM_DEVICES; ++k) {
            bytes += dir_pair(fabric->dir, dir_nic_of(src, i),
                              dir_nic_of(dst, k));
        }
    }

    return bytes;
}

void cli_stat_print(const struct fabric *fabric, FILE *out)
{
    unsigned src, dst;
    uint64_t bytes;

    stat_print_counters(fabric, out);
    for (src = 0; src < SIM_HOSTS; ++src) {
        for (dst = 0; dst < SIM_HOSTS; ++dst) {
            bytes = stat_pair(fabric, src, dst);
            if (bytes > 0) {
                fprintf(out, "pair src=%u dst=%u bytes=%llu\n", src, dst,
                        (unsigned long long)bytes);
            }
        }
    }

    for (src = 0; src < SIM_NICS; ++src) {
        for (dst = 0; dst < SIM_NICS; ++dst) {
            bytes = dir_pair(fabric->dir, src, dst);
            if (bytes > 0) {
                fprintf(out, "rail src=%u src_device=%s dst=%u dst_device=%s "
                        "bytes=%llu\n", dir_nic_host(src),
                        fabric_sysfs_nic_name(fabric, src), dir_nic_host(dst),
                        fabric_sysfs_nic_name(fabric, dst),
                        (unsigned long long)bytes);
            }
        }
    }
}

static void stat_json(json_t *json, const struct fabric *fabric)
{
    unsigned src, dst, i;

    json_array(json, "devices");
    stat_for_each_up(fabric, src) {
        json_object(json, NULL);
        json_count(json, "host", dir_nic_host(src));
        json_text(json, "device", fabric_sysfs_nic_name(fabric, src));
        for (i = 0; i < DIR_COUNTERS; ++i) {
            json_count(json, dir_counter_names[i],
                       dir_counter(fabric->dir, src, i));
        }
        json_object(json, "bytes_to");
        for (dst = 0; dst < SIM_NICS; ++dst) {
            char name[64];

            if (dir_pair(fabric->dir, src, dst) > 0) {
                snprintf(name, sizeof(name), "%u %s", dir_nic_host(dst),
                         fabric_sysfs_nic_name(fabric, dst));
                json_count(json, name, dir_pair(fabric->dir, src, dst));
            }
        }
        json_end_object(json);
        json_end_object(json);
    }
    json_end_array(json);
}

/* The counters that have a column; the others are told where they are not 0. */
static const struct {
    enum dir_counter counter;
    const char      *title;
    int              width;
} table_columns[] = {
    { DIR_TX_PKTS, "packets sent", 13 },
    { DIR_TX_BYTES, "bytes sent", 15 },
    { DIR_RX_PKTS, "received", 13 },
    { DIR_RX_BYTES, "bytes received", 15 },
    { DIR_RDMA_READ_BYTES, "bytes read", 15 },
    { DIR_RDMA_WRITE_BYTES, "bytes written", 15 },
};

enum { TABLE_COLUMNS = sizeof(table_columns) / sizeof(table_columns[0]) };

/* Counters that need attention */
static const enum dir_counter table_trouble[] = {
    DIR_RDMA_READ_WR_ERR, DIR_RDMA_WRITE_WR_ERR, DIR_UNRESPONSIVE,
    DIR_RETRANS_PKTS, DIR_RETRANS_TIMEOUTS, DIR_IMPAIRED,
    DIR_RX_DROPS, DIR_RNR, DIR_CQ_OVERRUNS, DIR_LOST, DIR_DUPLICATED,
};

static void table_head(FILE *out)
{
    unsigned i;

    fprintf(out, "%-4s  %-10s", "host", "device");
    for (i = 0; i < TABLE_COLUMNS; ++i) {
        fprintf(out, " %*s", table_columns[i].width, table_columns[i].title);
    }
    fprintf(out, "\n");
}

static void table_row(const struct fabric *fabric, unsigned nic, FILE *out)
{
    unsigned i;

    fprintf(out, "%4u  %-10s", dir_nic_host(nic),
            fabric_sysfs_nic_name(fabric, nic));
    for (i = 0; i < TABLE_COLUMNS; ++i) {
        fprintf(out, " %*llu", table_columns[i].width,
                (unsigned long long)dir_counter(fabric->dir, nic,
                                                table_columns[i].counter));
    }
    fprintf(out, "\n");
}

static void table_ways(const struct fabric *fabric, FILE *out)
{
    unsigned src, dst, count = 0;
    const char *from, *to;
    uint64_t bytes;

    for (src = 0; src < SIM_NICS; ++src) {
        for (dst = 0; dst < SIM_NICS; ++dst) {
            bytes = dir_pair(fabric->dir, src, dst);
            if (bytes > 0) {
                from = fabric_sysfs_nic_name(fabric, src);
                to   = fabric_sysfs_nic_name(fabric, dst);
                fprintf(out, "%shost %u %-10s to host %u %-10s %15llu bytes\n",
                        (count++ == 0) ? "\n" : "", dir_nic_host(src), from,
                        dir_nic_host(dst), to, (unsigned long long)bytes);
            }
        }
    }
}

static void table_troubles(const struct fabric *fabric, FILE *out)
{
    unsigned nic, i, count = 0;
    uint64_t value;

    for (nic = 0; nic < SIM_NICS; ++nic) {
        for (i = 0; i < sizeof(table_trouble) / sizeof(table_trouble[0]); ++i) {
            value = dir_counter(fabric->dir, nic, table_trouble[i]);
            if (value > 0) {
                fprintf(out, "%shost %u %-10s %-26s %15llu\n",
                        (count++ == 0) ? "\n" : "", dir_nic_host(nic),
                        fabric_sysfs_nic_name(fabric, nic),
                        dir_counter_names[table_trouble[i]],
                        (unsigned long long)value);
            }
        }
    }
}

/* For a person: traffic, and errors. */
static void table_print(const struct fabric *fabric, FILE *out)
{
    unsigned nic, count = 0;

    stat_for_each_up(fabric, nic) {
        if (count++ == 0) {
            table_head(out);
        }
        table_row(fabric, nic, out);
    }
    if (count == 0) {
        fprintf(out, "no program has opened a device of this fabric yet\n");
    }
    table_ways(fabric, out);
    table_troubles(fabric, out);
    fflush(out);
}

static void stat_print_qps(const struct fabric *fabric, FILE *out)
{
    static const char *const states[] = {
        "reset", "init", "rtr", "rts", "sqd", "sqe", "error",
    };
    const struct dir_qp_count *count;
    const struct dir_qp *qp;
    uint32_t owner, state;
    unsigned n, i;

    for (n = 0; n < SIM_NICS; ++n) {
        for (i = 0; i < SIM_MAX_QP; ++i) {
            qp    = &fabric->dir->nic[n].qp[i];
            count = &fabric->dir->nic[n].qp_count[i];
            owner = atomic_load(&qp->owner);
            state = atomic_load(&qp->state);
            if (owner == 0) {
                continue;
            }
            fprintf(out, "qp node=%u device=%s qpn=%u pid=%d state=%s "
                    "sent=%llu sent_bytes=%llu received=%llu "
                    "received_bytes=%llu errors=%llu\n", dir_nic_host(n),
                    fabric_sysfs_nic_name(fabric, n), i,
                    fabric->dir->slot[dir_owner_slot(owner) % SIM_SLOTS].pid,
                    (state < 7) ? states[state] : "?",
                    (unsigned long long)atomic_load(&count->sent),
                    (unsigned long long)atomic_load(&count->sent_bytes),
                    (unsigned long long)atomic_load(&count->received),
                    (unsigned long long)atomic_load(&count->received_bytes),
                    (unsigned long long)atomic_load(&count->errors));
        }
    }
}

/* One line of a watched counter, if anything ever moved there. */
static void stat_row(const char *what, uint64_t value, uint64_t *seen,
                     unsigned seconds)
{
    if (value != 0) {
        printf("%-44s %20llu %14llu\n", what, (unsigned long long)value,
               (unsigned long long)(value - *seen) / seconds);
    }
    *seen = value;
}

/* A line per counter that moves or has moved: total, and per second. */
static void stat_table(const struct fabric *fabric, struct stat_seen *seen,
                       unsigned seconds)
{
    char what[96];
    unsigned n, i;

    printf("%-44s %20s %14s\n", "", "total", "per second");
    stat_for_each_up(fabric, n) {
        for (i = 0; i < DIR_COUNTERS; ++i) {
            snprintf(what, sizeof(what), "host %u %s %s", dir_nic_host(n),
                     fabric_sysfs_nic_name(fabric, n), dir_counter_names[i]);
            stat_row(what, dir_counter(fabric->dir, n, i),
                     &seen->counter[n][i], seconds);
        }
        stat_for_each_up(fabric, i) {
            snprintf(what, sizeof(what), "host %u %s to host %u %s bytes",
                     dir_nic_host(n), fabric_sysfs_nic_name(fabric, n),
                     dir_nic_host(i), fabric_sysfs_nic_name(fabric, i));
            stat_row(what, dir_pair(fabric->dir, n, i),
                     &seen->pair[n][i], seconds);
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
        if (options->qps) {
            stat_print_qps(fabric, stdout);
        }
        fflush(stdout);
        sleep(options->watch);
    }
}

#define AT(_field) offsetof(struct stat_options, _field)

static const option_row_t stat_rows[] = {
    { .name = "fabric", .arg = "NAME", .at = AT(fabric),
      .help = "the fabric (default: \"default\")" },
    { .name = "qps", .at = AT(qps), .help = "show each queue pair, too" },
    { .name = "watch", .arg = "[=SECONDS]", .usual = "1", .at = AT(watch),
      .min = 1, .max = 3600, .help = "repeat it each SECONDS (default: 1)" },
    { .name = "raw", .at = AT(raw),
      .help = "all counters as NAME=VALUE, for scripts" },
    { .name = "json", .arg = "FILE", .at = AT(json),
      .help = "all counters as JSON; -: to standard output" },
};

static const option_row_t clean_rows[] = {
    { .name = "fabric", .arg = "NAME", .at = AT(fabric),
      .help = "only this fabric (default: all of this user)" },
};

static const options_t stat_command = {
    .program = "efasim stat", .usage = "[OPTION]...",
    .about   = "Shows the traffic of the devices of a fabric so far.\n",
    .rows    = stat_rows, .count = sizeof(stat_rows) / sizeof(stat_rows[0]),
};

static const options_t clean_command = {
    .program = "efasim clean", .usage = "[--fabric NAME]",
    .about   = "Removes the leftovers of killed programs; the next run does "
               "so, too.\n",
    .rows    = clean_rows, .count = 1,
};

static void stat_parse(const options_t *command, int argc, char **argv,
                       struct stat_options *options)
{
    int next = options_parse(command, options, argc, argv);

    if (next < argc) {
        options_error("'%.64s': nothing is expected after the options; %s "
                      "--help lists them", argv[next], command->program);
        exit(OPTIONS_EXIT_USAGE);
    }
}

const char *cli_fabric_name(const char *option)
{
    const char *variable = getenv("EFASIM_FABRIC");
    const char *name     = (option != NULL) ? option :
                           (variable != NULL) && (*variable != '\0') ?
                           variable : "default";

    if (!fabric_name_is_valid(name)) {
        options_error("%s=%.64s: allowed are letters, digits, '.', '_' and "
                      "'-', at most %d", option ? "--fabric" : "EFASIM_FABRIC",
                      name, FABRIC_NAME_MAX - 1);
        return NULL;
    }

    return name;
}

static void stat_no_fabric(json_t *json, const char *name, const char *path)
{
    int err         = errno;
    const char *why = (err == EPERM) ? fabric_folder_say(path) : NULL;
    char line[FABRIC_PATH_MAX + 200];

    if (why == NULL) {
        snprintf(line, sizeof(line), (err == EPROTO) ?
                 "fabric '%s' is of another version of efasim (%s): use the "
                 "efasim of its programs" :
                 "no fabric named '%s' (%s): one exists only while an `efasim "
                 "run` or a program in it runs; start one, or name another by "
                 "--fabric", name, strerror(err));
        why = line;
    }
    options_error("%s", why);
    json_text(json, "error", why);
    json_close(json);
}

int cli_stat(int argc, char **argv)
{
    struct stat_options options = { 0 };
    char path[FABRIC_PATH_MAX];
    struct fabric *fabric;
    const char *name;
    int status = 0;
    json_t json;

    stat_parse(&stat_command, argc, argv, &options);
    name = cli_fabric_name(options.fabric);
    if (name == NULL) {
        return OPTIONS_EXIT_USAGE;
    }
    if (json_open(&json, "json", options.json) != 0) {
        return 1;
    }

    json_report(&json);
    fabric_path(name, path);
    fabric = fabric_open(path, 0, -1);
    if (fabric == NULL) {
        stat_no_fabric(&json, name, path);
        return 1;
    }

    if (options.json != NULL) {
        stat_json(&json, fabric);
        status = (json_close(&json) != 0);
    } else if (options.watch) {
        stat_watch(fabric, &options);
    } else {
        if (options.raw) {
            cli_stat_print(fabric, stdout);
        } else {
            table_print(fabric, stdout);
        }
        if (options.qps) {
            stat_print_qps(fabric, stdout);
        }
    }
    fabric_forget(fabric);
    return status;
}

int cli_clean(int argc, char **argv)
{
    struct stat_options options = { 0 };
    char path[FABRIC_PATH_MAX];
    unsigned removed, live;
    const char *name;

    stat_parse(&clean_command, argc, argv, &options);
    name = options.fabric;
    if (name != NULL) {
        name = cli_fabric_name(name);
        if (name == NULL) {
            return OPTIONS_EXIT_USAGE;
        }
        fabric_path(name, path);
    }

    if (fabric_clean((name != NULL) ? path : NULL, &removed, &live) != 0) {
        options_error("%s", fabric_folder_say(path));
        return 1;
    }
    printf("removed=%u in_use=%u\n", removed, live);
    return 0;
}
