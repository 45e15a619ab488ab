/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fabric: up to SIM_HOSTS emulated hosts on this machine, with up to
 * SIM_DEVICES devices each, all of which reach each other. It is a folder in
 * shared memory:
 *
 *   /dev/shm/efasimL-UID-NAME/   (L: version of the layout)
 *                flock()ed for everything but the data path; the kernel frees
 *                it when its holder dies (folder.h: whose it must be)
 *     directory  struct dir, mapped by all
 *     ring.S.D   packets from slot S (a device that a process has open) to
 *                D; the receiver maps it and removes the name, so nothing
 *                is left when both end
 *     nodeN/     the emulated /sys of host N
 *
 * A fabric lives while a process is attached to it. The last to leave removes
 * it. Leftovers of killed processes are found by pid and start time, in their
 * PID namespace.
 */
#ifndef EFASIM_FABRIC_FABRIC_H
#define EFASIM_FABRIC_FABRIC_H

#include "efasim/engine/dir.h"

#include <stdint.h>

enum {
    FABRIC_NAME_MAX = 40,
    FABRIC_PATH_MAX = 160,
};

#define FABRIC_DIRECTORY "directory"

struct fabric {
    char        path[FABRIC_PATH_MAX];
    struct dir *dir;
    int         slot;  /* of this process; -1: not attached */
    uint32_t    owner;
    uint32_t    nic;   /* as it is attached */
    int         is_new; /* fabric_open() made it */
    int         has_rings; /* files of its own rings may be there */
    int         like;   /* the slot of another device of this process; -1 */
    unsigned   *users;  /* of `dir`, in this process; NULL: only this one */
};

/* Whether the process of a taken slot lives, as far as one can see from here
 * (process.h). */
int fabric_slot_is_alive(const struct dir_slot *slot);

/* 1: letters, digits, dot, dash, underscore; at most FABRIC_NAME_MAX - 1. */
int fabric_name_is_valid(const char *name);

/* The folder of the fabric of this name and user. */
void fabric_path(const char *name, char path[FABRIC_PATH_MAX]);

enum {
    FABRIC_CREATE = 1 << 0, /* make it when it is missing or dead */
};

/*
 * Map a fabric, after leftovers of dead processes are taken back. Returns
 * NULL with errno: ENOENT (none of this name), EPERM (what has the name is
 * another user's, see fabric_folder_say()), EPROTO (made by another
 * version of efasim, in use), ENOSPC (shared memory is full), EFBIG (see
 * fabric_process_check_size()), or the error of the call that failed. With
 * FABRIC_CREATE and `host` >= 0 the caller is attached in the same step, so the
 * fabric cannot vanish in between.
 */
struct fabric *fabric_open(const char *path, unsigned flags, int host);

/*
 * For a further device of this process: the directory of `other`, which is
 * attached, mapped once for both. Not thread-safe, nor is fabric_forget() of
 * these. NULL: out of memory.
 */
struct fabric *fabric_share(struct fabric *other);

/*
 * Attach to `nic` (again, after a fork). `is_device` 0: this process only keeps
 * the fabric alive, on the host of `nic`. Returns 0, or -1 with errno ENOSPC:
 * SIM_SLOTS are attached.
 */
int fabric_attach(struct fabric *fabric, unsigned nic, int is_device);

/* Take back all that processes hold which have ended without giving it back. */
void fabric_take_back(struct fabric *fabric);

/*
 * Give back all that this process holds; remove the fabric when it was the
 * last, which is asked with the last of several devices (`is_last`). The
 * directory stays mapped, for threads that still look at it.
 * Harmless in a forked child, which holds nothing.
 */
void fabric_leave(struct fabric *fabric, int is_last);

/*
 * exec() closes a device, but the process goes on: the new program gives back
 * all that the one before it held in the fabric at `path`. Call while
 * single-threaded, before attaching a device.
 */
void fabric_leave_executed(const char *path);

/* Leave, unmap, free. */
void fabric_close(struct fabric *fabric);

/* Unmap and free without detaching: for a forked child. */
void fabric_forget(struct fabric *fabric);

/*
 * Remove the fabrics of this user that nobody uses, or only the one at `path`:
 * their number, and that of those left in use. Others' are passed by. Returns
 * 0; -1 with errno EPERM: the one at `path` is such a one.
 */
int fabric_clean(const char *path, unsigned *removed, unsigned *live);

/* Is the process with this owner number alive? If not, take back what it
 * held. */
int fabric_owner_is_alive(struct fabric *fabric, uint32_t owner);

/* Nonzero if another user has a fabric of this name, or had one whose programs
 * were killed (only its owner can tell); then *uid is that user. */
int fabric_namesake(const char *name, unsigned *uid);

/* One counter of a NIC; for hw_counters files. -1: no such counter. */
int fabric_counter(const struct fabric *fabric, unsigned nic,
                   const char *name, uint64_t *value);

#endif
