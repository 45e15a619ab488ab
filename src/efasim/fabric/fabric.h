/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fabric: up to SIM_HOSTS emulated hosts on this machine, with up to
 * SIM_DEVICES devices each, all of which reach each other. It is a folder in
 * shared memory:
 *
 *   /dev/shm/efasimL-UID-NAME/   (L: version of the layout)
 *     lock       flock()ed for everything but the data path; the kernel frees
 *                it when its holder dies
 *     directory  struct dir, mapped by all
 *     ring.S.D   packets from slot S (a device that a process has open) to
 *                D; the receiver maps it and removes the name, so nothing
 *                is left when both end
 *     nodeN/     what stands for /sys on host N
 *
 * A fabric lives while a process is attached to it. The last to leave removes
 * it. What killed processes leave is found by pid and start time.
 */
#ifndef EFASIM_FABRIC_FABRIC_H
#define EFASIM_FABRIC_FABRIC_H

#include "efasim/engine/dir.h"
#include "efasim/engine/engine.h"

#include <stddef.h>

enum {
    FABRIC_NAME_MAX = 40,
    FABRIC_PATH_MAX = 160,
    FABRIC_RINGS    = 2 * SIM_SLOTS,
};

struct fabric {
    char        path[FABRIC_PATH_MAX];
    struct dir *dir;
    int         slot;  /* of this process; -1: not attached */
    uint32_t    owner;
    uint32_t    nic;   /* as it is attached */
};

/* 1: letters, digits, dot, dash, underscore; at most FABRIC_NAME_MAX - 1. */
int fabric_name_is_valid(const char *name);

/* The folder of the fabric of this name and user. */
void fabric_path(const char *name, char path[FABRIC_PATH_MAX]);

enum {
    FABRIC_CREATE = 1 << 0, /* make it when it is missing or dead */
};

/*
 * Map a fabric. What dead processes left in it is taken back first. Returns
 * NULL with errno: ENOENT (none of this name), EPROTO (made by another
 * version of efasim, in use), ENOSPC (shared memory is full), or the error of
 * the call that failed. With FABRIC_CREATE and `host` >= 0 the caller is
 * attached in the same step, so the fabric cannot vanish in between.
 */
struct fabric *fabric_open(const char *path, unsigned flags, int host);

/*
 * Attach to `nic` (again, after a fork). `is_device` 0: this process only keeps
 * the fabric alive, on the host of `nic`. Returns 0, or -1 with errno ENOSPC:
 * SIM_SLOTS are attached.
 */
int fabric_attach(struct fabric *fabric, unsigned nic, int is_device);

/*
 * Give back all that this process holds; remove the fabric when it was the
 * last. The directory stays mapped, for threads that still look at it.
 * Harmless in a forked child, which holds nothing.
 */
void fabric_leave(struct fabric *fabric);

/*
 * exec() closes a device, but the process goes on: the new program gives back
 * what the one before it held in the fabric at `path`. Without that nothing
 * happens. Call while single-threaded, before attaching a device.
 */
void fabric_leave_executed(const char *path);

/* Leave, unmap, free. */
void fabric_close(struct fabric *fabric);

/* Unmap and free without detaching: for a forked child. */
void fabric_forget(struct fabric *fabric);

/* Take back what dead processes hold. Returns the number of live ones. */
unsigned fabric_reap(struct fabric *fabric);

/* 1: pid runs and is the process that started at start_time. */
int fabric_process_is_alive(int pid, uint64_t start_time);

/* Start time of a process in clock ticks since boot; 0: no such process. */
uint64_t fabric_process_start(int pid);

/*
 * Remove the fabrics of this user that nobody uses, or only the one at `path`.
 * Returns the number removed; *live the number left in use.
 */
unsigned fabric_clean(const char *path, unsigned *live);

/* Is the process with this owner number alive? If not, take back what it
 * held. */
int fabric_owner_is_alive(struct fabric *fabric, uint32_t owner);

/*
 * Make this process part of a host: an IPC namespace of its own, shared
 * by the processes of that host, so that shared-memory transports see other
 * hosts as other hosts. Needs root or user namespaces; call while single-
 * threaded. Returns 0; or -1 with one line in `err`: then the process stays
 * where it was.
 */
int fabric_enter_host(struct fabric *fabric, unsigned host, char *err,
                      size_t err_size);

/*
 * Make nodeN/ for one host, if it is not there, with so many devices of this
 * profile (0: the default, or what is there). Returns 0 or -1 with errno;
 * EEXIST: the host is up with other devices.
 */
int fabric_sysfs_create(struct fabric *fabric, unsigned host,
                        unsigned profile, unsigned devices);

/* Name of a host's device 0 ... SIM_DEVICES - 1, after its place on the PCI
 * bus, as hosts show it: "rdmap0s6", "rdmap16s6", ... */
const char *fabric_device_name(unsigned device);

/* The device of this name (its first `length` characters), or -1. */
int fabric_device_find(const char *name, size_t length);

/* "uverbsN" is the character device of device N, its minor number follows. */
#define FABRIC_UVERBS_NAME  "uverbs"
#define FABRIC_UVERBS_MAJOR 231
#define FABRIC_UVERBS_MINOR 192

/*
 * Have pages for the registrations of a NIC before one is entered: a full
 * /dev/shm is then an error and not a SIGBUS. *reserved is the number of
 * entries known to have pages. Returns 0 or -1 with errno.
 */
int fabric_mr_reserve(struct fabric *fabric, unsigned nic,
                      uint32_t *reserved);

/* One counter of a NIC; for hw_counters files. -1: no such counter. */
int fabric_counter(const struct fabric *fabric, unsigned nic,
                   const char *name, uint64_t *value);

/* The environment of an engine on this fabric: rings, memory, clock. */
extern const struct sim_env_ops fabric_env_ops;

struct fabric_env {
    struct fabric *fabric;
    void (*event)(struct sim_cq *cq);
    void (*removed)(struct fabric_env *env);
    int      trace_fd;   /* open for appending, if the device traces */
    uint64_t virtual_ns; /* the time, if it is not the clock's; 0: it is */
};

/* lock.c: a descriptor, or -1 with errno. With `wait` 0: EWOULDBLOCK when
 * somebody holds it. */
int fabric_lock(const char *path, int wait);
void fabric_unlock(int fd);

/* Nanoseconds of the monotonic clock. */
uint64_t fabric_clock(void);

/*
 * Read a plan from a file. Returns it (free() it), or NULL with one line in
 * `err` that names the file, the line, and what is allowed there.
 */
struct sim_plan *fabric_plan_read(const char *file, char *err,
                                  size_t err_size);

/* Remove the folder and all that is in it. */
void fabric_remove_tree(const char *path);

#endif
