/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Settings in the environment: the fabric, the host in it, the knobs, and the
 * files of a plan and a trace.
 */
#include "config.h"
#include "lock.h"
#include "state.h"

#include "efasim/fabric/folder.h"
#include "efasim/fabric/plan_file.h"
#include "files/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *drv_config_fabric_path(char path[FABRIC_PATH_MAX])
{
    const char *name = getenv("EFASIM_FABRIC");

    if ((name == NULL) || !fabric_name_is_valid(name)) {
        return NULL;
    }

    fabric_path(name, path);
    return path;
}

int drv_config_is_enabled(void)
{
    char path[FABRIC_PATH_MAX];

    return drv_config_fabric_path(path) != NULL;
}

/* A number from the environment, min ... max; -1: unset or bad. */
static long config_number(const char *name, long min, long max)
{
    const char *value = getenv(name);
    char *end;
    long number;

    if ((value == NULL) || (*value == '\0')) {
        return -1;
    }

    errno  = 0;
    number = strtol(value, &end, 10);
    if ((errno != 0) || (*end != '\0') || (number < min) || (number > max)) {
        drv_log("%s=%.64s: allowed is a whole number from %ld to %ld", name,
                value, min, max);
        return -1;
    }

    return number;
}

/* The rank on this machine, as the launchers tell it; -1 without one. */
static long config_local_rank(void)
{
    static const char *const names[] = {
        "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PMI_LOCAL_RANK",
        "SLURM_LOCALID",
    };
    unsigned i;
    long rank;

    for (i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
        rank = config_number(names[i], 0, 1 << 20);
        if (rank >= 0) {
            return rank;
        }
    }

    return -1;
}

unsigned drv_config_node(void)
{
    long per_node = config_number("EFASIM_PER_NODE", 1, 1 << 20);
    long node, rank;

    if (per_node > 0) {
        rank = config_local_rank();
        node = (rank < 0) ? 0 : rank / per_node;
        if (node >= SIM_HOSTS) {
            drv_log("rank %ld at %ld per node needs node %ld, but a fabric "
                    "has nodes 0 to %d; using node %d", rank, per_node,
                    node, SIM_HOSTS - 1, SIM_HOSTS - 1);
            node = SIM_HOSTS - 1;
        }
        return node;
    }

    node = config_number("EFASIM_NODE", 0, SIM_HOSTS - 1);
    return (node < 0) ? 0 : node;
}

void drv_config_check_rank(void)
{
    static int said;

    if ((config_number("EFASIM_PER_NODE", 1, 1 << 20) > 0) &&
        (config_local_rank() < 0) &&
        !__atomic_exchange_n(&said, 1, __ATOMIC_RELAXED)) {
        drv_log("--per-node=%.16s: no launcher numbers this program "
                "(OMPI_COMM_WORLD_LOCAL_RANK, SLURM_LOCALID, ... are not set), "
                "so it is on host 0: start it by mpirun or srun, or give "
                "--node N", getenv("EFASIM_PER_NODE"));
    }
}

/* Where a run has ended another user may have taken the fabric's name. */
static int config_is_believed(const char *path)
{
    int inside = drv_lock_inside, saved = errno, folder;

    drv_lock_inside = DRV_LOCK_DATA; /* it opens a file of its own */
    folder          = fabric_folder_open(path);
    if (folder >= 0) {
        output_close(folder);
    }
    drv_lock_inside = inside;
    errno           = saved;
    return folder >= 0;
}

const char *drv_config_sysfs_root(void)
{
    const char *root = getenv("SYSFS_PATH");
    char path[FABRIC_PATH_MAX];

    if ((drv_config_fabric_path(path) == NULL) || (root == NULL)) {
        return "";
    }
    return (strncmp(root, path, strlen(path)) || config_is_believed(path)) ?
                   root :
                   DRV_CONFIG_NOWHERE;
}

void drv_config_knobs(void)
{
    struct sim_knobs *knobs = &drv.device[0].knobs;
    const struct sim_knob *knob;
    char name[64], err[512];
    struct drv_dev *dev;
    const char *value;

    sim_knobs_init(knobs);
    for (knob = sim_knob_table; knob->name != NULL; ++knob) {
        sim_knob_variable(knob, name, sizeof(name));
        value = getenv(name);
        if ((value != NULL) && (*value != '\0') &&
            (sim_knob_set(knobs, knob, name, value, err, sizeof(err)) != 0)) {
            drv_log("%s; the default is used", err);
        }
    }
    drv_for_each_device(dev) {
        dev->knobs = *knobs;
    }
}

static void config_plan(const char *file)
{
    struct drv_dev *dev;
    char err[600];

    drv.plan = fabric_plan_file_read(file, err, sizeof(err));
    if (drv.plan == NULL) {
        drv_log("EFASIM_PLAN: %s; no plan is followed", err);
        return;
    }
    drv_for_each_device(dev) {
        sim_plan_knobs(drv.plan, dir_nic_of(drv_config_node(), dev->index),
                       &dev->knobs);
    }
}

static void config_trace(const char *file)
{
    int fd = output_open(file, O_APPEND);
    struct drv_dev *dev;
    int high;

    if (fd < 0) {
        drv_log("EFASIM_TRACE=%.100s: %s; nothing is traced", file,
                output_error(errno));
        return;
    }

    /* out of the way of programs that count on low numbers */
    high = fcntl(fd, F_DUPFD_CLOEXEC, DRV_HIGH_FD);
    close(fd);
    drv_for_each_device(dev) {
        dev->env.trace_fd = high;
    }
}

void drv_config_files(void)
{
    const char *plan  = getenv("EFASIM_PLAN");
    const char *trace = getenv("EFASIM_TRACE");

    if ((plan != NULL) && (*plan != '\0')) {
        config_plan(plan);
    }
    if ((trace != NULL) && (*trace != '\0')) {
        config_trace(trace);
    }
}
