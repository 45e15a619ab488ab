/* SPDX-License-Identifier: BSD-3-Clause */
#include "driver.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

struct drv_state drv = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

__thread int drv_inside __attribute__((tls_model("initial-exec")));

void drv_log(const char *fmt, ...)
{
    char line[256];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(line, sizeof(line), fmt, ap);
    va_end(ap);
    fabric_env_ops.log(NULL, line);
}

/*
 * Commands hold signals off while they have the lock: a handler never finds
 * its own thread in one, as it never does in a system call. The data path,
 * which only tries, cannot afford that: a handler may interrupt it, and must
 * look at drv_inside before it locks.
 */
static __thread uint64_t drv_signals
        __attribute__((tls_model("initial-exec")));

static void drv_signals_hold(void)
{
    uint64_t all = ~0ull;

    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &drv_signals, sizeof(all));
}

static void drv_signals_restore(void)
{
    uint64_t old = drv_signals;

    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &old, NULL, sizeof(old));
}

/* Of ThreadSanitizer's run-time library, where the program has one */
void __tsan_acquire(void *addr) __attribute__((weak));
void __tsan_release(void *addr) __attribute__((weak));

void drv_order_before(void)
{
    if (__tsan_release != NULL) {
        __tsan_release(&drv);
    }
}

void drv_order_after(void)
{
    if (__tsan_acquire != NULL) {
        __tsan_acquire(&drv);
    }
}

void drv_lock(void)
{
    drv_signals_hold();
    drv_inside = DRV_INSIDE_COMMAND;
    pthread_mutex_lock(&drv.lock);
    drv_order_after();
}

int drv_trylock(void)
{
    /* a signal handler may interrupt a holder and get here: at any moment the
     * mark says so before the lock is taken, and until it is given back */
    if (drv_inside) {
        return 0;
    }

    drv_inside = DRV_INSIDE_DATA;
    if (pthread_mutex_trylock(&drv.lock) != 0) {
        drv_inside = DRV_OUTSIDE;
        return 0;
    }
    drv_order_after();
    return 1;
}

void drv_unlock(void)
{
    int inside = drv_inside;

    drv_order_before();
    pthread_mutex_unlock(&drv.lock);
    drv_inside = DRV_OUTSIDE;
    if (inside == DRV_INSIDE_COMMAND) {
        drv_signals_restore();
    }
}

int drv_is_interrupted(const char *what)
{
    static _Atomic int said;

    if (!drv_inside) {
        return 0;
    }

    if (!atomic_exchange(&said, 1)) {
        drv_log("%s in a signal handler that interrupted this thread's poll "
                "or post: refused (EBUSY). Hardware would take it; here block "
                "the signal while you poll, or act on it later (said once)",
                what);
    }
    return 1;
}

static const char *drv_fabric_path(char path[FABRIC_PATH_MAX])
{
    const char *name = getenv("EFASIM_FABRIC");

    if ((name == NULL) || !fabric_name_is_valid(name)) {
        return NULL;
    }

    fabric_path(name, path);
    return path;
}

int drv_is_enabled(void)
{
    char path[FABRIC_PATH_MAX];

    return drv_fabric_path(path) != NULL;
}

/* A number from the environment, min ... max; -1: unset or bad. */
static long drv_env_number(const char *name, long min, long max)
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

/* The rank on this machine, as the launchers tell it; 0 without one. */
static long drv_local_rank(void)
{
    static const char *const names[] = {
        "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PMI_LOCAL_RANK",
        "SLURM_LOCALID",
    };
    unsigned i;
    long rank;

    for (i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
        rank = drv_env_number(names[i], 0, 1 << 20);
        if (rank >= 0) {
            return rank;
        }
    }

    return 0;
}

unsigned drv_node(void)
{
    long per_node = drv_env_number("EFASIM_PER_NODE", 1, 1 << 20);
    long node;

    if (per_node > 0) {
        node = drv_local_rank() / per_node;
        if (node >= SIM_HOSTS) {
            drv_log("rank %ld at %ld per node needs node %ld, but a fabric "
                    "has nodes 0 to %d; using node %d", drv_local_rank(),
                    per_node, node, SIM_HOSTS - 1, SIM_HOSTS - 1);
            node = SIM_HOSTS - 1;
        }
        return node;
    }

    node = drv_env_number("EFASIM_NODE", 0, SIM_HOSTS - 1);
    return (node < 0) ? 0 : node;
}

const char *drv_sysfs_root(void)
{
    const char *root = getenv("SYSFS_PATH");

    return (drv_is_enabled() && root) ? root : "";
}

/* EFASIM_*: a bad value is reported and keeps the default. */
static void drv_knobs_read(void)
{
    struct sim_knobs *knobs = &drv.device[0].knobs;
    const struct sim_knob *knob;
    char name[64], err[320];
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

static void drv_plan_open(const char *file)
{
    struct drv_dev *dev;
    char err[400];

    drv.plan = fabric_plan_read(file, err, sizeof(err));
    if (drv.plan == NULL) {
        drv_log("EFASIM_PLAN: %s; no plan is followed", err);
        return;
    }
    drv_for_each_device(dev) {
        sim_plan_knobs(drv.plan, dir_nic_of(drv_node(), dev->index),
                       &dev->knobs);
    }
}

static void drv_trace_open(const char *file)
{
    int fd = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    struct drv_dev *dev;
    int high;

    if (fd < 0) {
        drv_log("EFASIM_TRACE=%.100s: %s; nothing is traced", file,
                strerror(errno));
        return;
    }

    /* out of the way of programs that count on low numbers */
    high = fcntl(fd, F_DUPFD_CLOEXEC, DRV_HIGH_FD);
    close(fd);
    drv_for_each_device(dev) {
        dev->env.trace_fd = high;
    }
}

/* EFASIM_PLAN and EFASIM_TRACE name files. */
static void drv_files_open(void)
{
    const char *plan  = getenv("EFASIM_PLAN");
    const char *trace = getenv("EFASIM_TRACE");

    if ((plan != NULL) && (*plan != '\0')) {
        drv_plan_open(plan);
    }
    if ((trace != NULL) && (*trace != '\0')) {
        drv_trace_open(trace);
    }
}

static int drv_tables_alloc(struct drv_dev *dev)
{
    if (dev->mr == NULL) {
        dev->mr = calloc(SIM_MAX_MR, sizeof(*dev->mr));
    }
    if (dev->ah_ctx == NULL) {
        dev->ah_ctx = calloc(dev->knobs.max_ah, sizeof(*dev->ah_ctx));
    }

    return ((dev->mr != NULL) && (dev->ah_ctx != NULL)) ? 0 : -ENOMEM;
}

static int drv_fabric_attach(struct drv_dev *dev)
{
    char path[FABRIC_PATH_MAX];
    int err;

    if (drv_fabric_path(path) == NULL) {
        return -ENODEV;
    }

    dev->fabric = fabric_open(path, 0, -1);
    if ((dev->fabric != NULL) &&
        (fabric_attach(dev->fabric, dir_nic_of(drv_node(), dev->index),
                       1) == 0)) {
        return 0;
    }

    err = errno;
    drv_log("no fabric at %s (%s): has the `efasim run` that made it ended, "
            "or are %d processes and devices attached?", path, strerror(err),
            SIM_SLOTS);
    if (dev->fabric != NULL) {
        fabric_forget(dev->fabric);
        dev->fabric = NULL;
    }
    return -ENODEV;
}

int drv_is_open(void)
{
    const struct drv_dev *dev;

    drv_for_each_device(dev) {
        if (dev->sim != NULL) {
            return 1;
        }
    }

    return 0;
}

/* The process sleeps at one place for all its devices: at the first one's. */
static void drv_device_home(struct drv_dev *dev)
{
    struct dir *dir = dev->fabric->dir;
    const struct drv_dev *other;

    drv_for_each_device(other) {
        if (other->sim != NULL) {
            dir->slot[dev->fabric->slot].home =
                    dir->slot[other->fabric->slot].home;
            fabric_env_ops.wake(&dev->env, dev->fabric->slot);
            break; /* the sleeper now knows of one more */
        }
    }
}

int drv_device_start(struct drv_dev *dev)
{
    int ret;

    if (dev->sim != NULL) {
        return 0;
    }

    ret = drv_tables_alloc(dev);
    if (ret == 0) {
        ret = drv_fabric_attach(dev);
    }
    if (ret != 0) {
        return ret;
    }

    /* others read our registered memory; Yama asks for this */
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    dev->env.fabric  = dev->fabric;
    dev->env.event   = drv_channel_event;
    dev->env.removed = drv_async_fatal;
    drv.pid          = getpid();
    drv_device_home(dev);
    dev->sim = sim_dev_open(dev->fabric->dir, dev->fabric->slot,
                            dev->fabric->nic, &fabric_env_ops, &dev->env,
                            &dev->knobs);
    if (dev->sim == NULL) {
        fabric_close(dev->fabric);
        dev->fabric = NULL;
        return -ENOMEM;
    }

    if (drv.plan != NULL) {
        sim_fault_plan(dev->sim, drv.plan);
    }
    dev->sim->tracing = (dev->env.trace_fd >= 0);
    return 0;
}

/* fork() in a handler may find its own thread in the data path: then the lock
 * is ours already, and stays. */
static void drv_fork_prepare(void)
{
    if (!drv_inside) {
        drv_lock();
    }
}

static void drv_fork_parent(void)
{
    if (drv_inside == DRV_INSIDE_COMMAND) {
        drv_unlock();
    }
}

/* In a forked child: the parent's memory is only dropped. */
static void drv_device_forget(struct drv_dev *dev)
{
    dev->dropped[0] = dev->sim;
    dev->dropped[1] = dev->ah_ctx;
    dev->dropped[2] = dev->mr;
    dev->sim         = NULL;
    dev->ah_ctx      = NULL;
    dev->mr          = NULL;
    dev->mr_reserved = 0;
    memset(dev->pd, 0, sizeof(dev->pd));
    memset(dev->cntr, 0, sizeof(dev->cntr));
    if (dev->fabric != NULL) {
        fabric_forget(dev->fabric);
        dev->fabric = NULL;
    }
}

/* A forked child has none of the parent's devices: not their slots, not the
 * thread. What it opens itself is new. */
static void drv_fork_child(void)
{
    int inside = drv_inside;
    struct drv_dev *dev;
    unsigned end;

    pthread_mutex_init(&drv.lock, NULL);
    drv_inside = DRV_OUTSIDE;
    drv.pid    = 0;
    drv.pinned = 0;
    drv_for_each_device(dev) {
        drv_device_forget(dev);
    }
    if (drv.host != NULL) {
        fabric_forget(drv.host);
        drv.host = NULL;
    }

    list_init(&drv.channels);
    atomic_store(&drv.contexts, 0);
    end = atomic_exchange(&drv.ctx_end, 0); /* their files are the parent's */
    memset(drv.ctx, 0, end * sizeof(drv.ctx[0]));
    memset(drv.cq, 0, sizeof(drv.cq));
    memset(drv.qp, 0, sizeof(drv.qp));
    if (inside == DRV_INSIDE_COMMAND) {
        drv_signals_restore();
    }
}

/*
 * --per-node: this process is a rank, and only now is known on which host. It
 * attaches, so that the next rank of the host finds it and joins it.
 */
static void drv_host_enter(const char *path)
{
    char err[320], root[FABRIC_PATH_MAX + 16];
    unsigned node = drv_node();

    snprintf(root, sizeof(root), "%s/node%u", path, node);
    setenv("SYSFS_PATH", root, 1);
    drv.host = fabric_open(path, 0, -1);
    if ((drv.host == NULL) ||
        (fabric_attach(drv.host, dir_nic_of(node, 0), 0) != 0)) {
        return; /* opening the device will say why */
    }
    if ((fabric_sysfs_create(drv.host, node, drv.device[0].knobs.device,
                             drv.device[0].knobs.devices) != 0) &&
        (errno != EEXIST)) {
        drv_log("cannot write %s: %s", root, strerror(errno));
    }
    if (fabric_enter_host(drv.host, node, err, sizeof(err)) != 0) {
        drv_log("%s", err);
    }
}

__attribute__((constructor)) static void drv_init(void)
{
    char path[FABRIC_PATH_MAX];
    struct drv_dev *dev;

    list_init(&drv.channels);
    drv_for_each_device(dev) {
        dev->index        = dev - drv.device;
        dev->env.trace_fd = -1;
    }
    if (drv_fabric_path(path) == NULL) {
        return;
    }

    fabric_leave_executed(path);
    drv_knobs_read();
    drv_inside = DRV_INSIDE_DATA; /* the files it opens are its own */
    drv_files_open();
    drv_inside = DRV_OUTSIDE;
    pthread_atfork(drv_fork_prepare, drv_fork_parent, drv_fork_child);
    if (getenv("EFASIM_PER_NODE") == NULL) {
        return; /* `efasim run` has placed us */
    }

    drv_inside = DRV_INSIDE_DATA;
    drv_host_enter(path);
    drv_inside = DRV_OUTSIDE;
}

__attribute__((destructor)) static void drv_fini(void)
{
    struct drv_dev *dev;

    if (drv.host != NULL) {
        fabric_close(drv.host);
        drv.host = NULL;
    }
    if (!drv_is_open() || (drv.pid != getpid())) {
        return;
    }

    /* Threads may still run, the backstop among them: the devices stay
     * mapped, only the fabric is told that we leave. */
    if (drv_trylock()) {
        drv_for_each_device(dev) {
            if (dev->sim != NULL) {
                dev->dropped[0] = dev->sim;
                dev->sim        = NULL;
                dev->left       = dev->fabric;
                fabric_leave(dev->fabric);
                dev->fabric = NULL;
            }
        }
        drv_unlock();
    }
}
