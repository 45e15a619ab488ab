/* SPDX-License-Identifier: BSD-3-Clause */
/* The counters of a fabric for a person: traffic, and errors. */
#include "cli.h"

#include "efasim/fabric/sysfs.h"

#include <stdio.h>

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

void cli_stat_table(const struct fabric *fabric, FILE *out)
{
    unsigned nic, count = 0;

    for (nic = 0; nic < SIM_NICS; ++nic) {
        if (!atomic_load(&fabric->dir->nic[nic].up)) {
            continue;
        }
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
