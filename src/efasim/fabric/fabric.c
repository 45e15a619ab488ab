/* SPDX-License-Identifier: BSD-3-Clause */
#include "fabric.h"
#include "clock.h"
#include "folder.h"
#include "process.h"
#include "slot.h"

#include "efasim/engine/named.h"
#include "efasim/engine/rng.h"
#include "files/output.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define FABRIC_ROOT    "/dev/shm"
#define FABRIC_STR(_x) #_x
#define FABRIC_XSTR(_x) FABRIC_STR(_x)
#define FABRIC_PREFIX  "efasim" FABRIC_XSTR(DIR_LAYOUT) "-"

int fabric_name_is_valid(const char *name)
{
    size_t length = strlen(name);
    size_t i;

    if ((length == 0) || (length >= FABRIC_NAME_MAX)) {
        return 0;
    }

    for (i = 0; i < length; ++i) {
        if (!isalnum((unsigned char)name[i]) && !strchr("._-", name[i])) {
            return 0;
        }
    }

    return 1;
}

void fabric_path(const char *name, char path[FABRIC_PATH_MAX])
{
    snprintf(path, FABRIC_PATH_MAX, FABRIC_ROOT "/" FABRIC_PREFIX "%u-%s",
             (unsigned)geteuid(), name);
}

static uint32_t fabric_new_id(void)
{
    struct timespec now;
    struct sim_rng rng;

    clock_gettime(CLOCK_REALTIME, &now);
    rng.state = (uint64_t)now.tv_nsec ^ ((uint64_t)now.tv_sec << 30) ^
                ((uint64_t)getpid() << 12);
    return (uint32_t)rng_next(&rng) | 1;
}

/* Map the directory file; with `create` give it its size and first content.
 * The used part is allocated, so that a full /dev/shm is an error here and
 * not a SIGBUS later. */
static struct dir *fabric_map(int folder, int create)
{
    struct dir *dir = NULL;
    int err         = 0;
    struct stat st;
    int fd;

    if (create && (fabric_process_check_size(sizeof(*dir)) != 0)) {
        return NULL;
    }
    fd = openat(folder, FABRIC_DIRECTORY, O_RDWR | O_NOFOLLOW | O_CLOEXEC |
                (create ? O_CREAT | O_EXCL : 0), 0600);
    if (fd < 0) {
        return NULL;
    }

    if (create && (ftruncate(fd, sizeof(*dir)) == 0)) {
        err = posix_fallocate(fd, 0, DIR_FIXED_BYTES);
    }
    if ((err == 0) && (fstat(fd, &st) == 0)) {
        if ((size_t)st.st_size != sizeof(*dir)) {
            err = EPROTO;
        } else {
            dir = mmap(NULL, sizeof(*dir), PROT_READ | PROT_WRITE, MAP_SHARED,
                       fd, 0);
        }
    }

    close(fd);
    if ((dir == NULL) || (dir == MAP_FAILED)) {
        errno = err ? err : errno;
        return NULL;
    }

    if (create) {
        dir->id    = fabric_new_id();
        dir->size  = sizeof(*dir);
        dir->epoch = fabric_clock();
        dir->magic = DIR_MAGIC;
    } else if ((dir->magic != DIR_MAGIC) || (dir->size != sizeof(*dir))) {
        munmap(dir, sizeof(*dir));
        errno = EPROTO;
        return NULL;
    }

    return dir;
}

int fabric_attach(struct fabric *fabric, unsigned nic, int is_device)
{
    int lock = fabric_lock(fabric->path, 1);
    int ret  = -1;

    if (lock < 0) {
        return -1;
    }
    if (atomic_load(&fabric->dir->closed)) {
        errno = ENOENT;
    } else {
        ret = fabric_attach_locked(fabric, nic, is_device);
        if ((ret != 0) && (errno == ENOSPC)) {
            fabric_reap(fabric);
            ret = fabric_attach_locked(fabric, nic, is_device);
        }
    }

    output_close(lock);
    return ret;
}

void fabric_take_back(struct fabric *fabric)
{
    int lock = fabric_lock(fabric->path, 1);

    if (lock >= 0) {
        fabric_reap(fabric);
    }
    output_close(lock);
}

/* With the lock held, which is `folder`. */
static void fabric_empty(struct fabric *fabric, int folder)
{
    if (fabric->dir != NULL) {
        atomic_store(&fabric->dir->closed, 1);
        if (fabric->users == NULL) {
            munmap(fabric->dir, sizeof(*fabric->dir));
        } /* else threads of this process may look at it */
        fabric->dir = NULL;
    }
    fabric_folder_empty(folder, "");
}

/* Likewise. Another has this name only if this user removed the first. */
static void fabric_remove(struct fabric *fabric, int folder)
{
    int err = errno;

    fabric_empty(fabric, folder);
    rmdir(fabric->path);
    errno = err;
}

/* Nonzero: fabric_map() found no directory of this version. Else it could not
 * look (descriptors, address space): there may be one, in use. */
static int fabric_is_none(int err)
{
    return (err == ENOENT) || (err == EPROTO) || (err == ELOOP) ||
           (err == EISDIR);
}

static int fabric_open_locked(struct fabric *fabric, int folder,
                              unsigned flags, int host)
{
    fabric->dir = fabric_map(folder, 0);
    if ((fabric->dir == NULL) &&
        (!(flags & FABRIC_CREATE) || !fabric_is_none(errno))) {
        return -1;
    }

    if (flags & FABRIC_CREATE) {
        if ((fabric->dir == NULL) || (fabric_reap(fabric) == 0)) {
            fabric_empty(fabric, folder); /* dead, or of another version */
            fabric->dir = fabric_map(folder, 1);
            if (fabric->dir == NULL) {
                fabric_remove(fabric, folder);
                return -1;
            }
            fabric->is_new = 1;
        }
        return (host < 0) ? 0 :
               fabric_attach_locked(fabric, dir_nic_of(host, 0), 0);
    }

    return 0;
}

struct fabric *fabric_open(const char *path, unsigned flags, int host)
{
    struct fabric *fabric;
    int lock, ret, err;

    if ((flags & FABRIC_CREATE) && (mkdir(path, 0700) != 0) &&
        (errno != EEXIST)) {
        return NULL;
    }

    fabric = calloc(1, sizeof(*fabric));
    if (fabric == NULL) {
        return NULL;
    }
    snprintf(fabric->path, sizeof(fabric->path), "%s", path);
    fabric->slot = -1;
    fabric->like = -1;

    do {
        lock = fabric_lock(path, 1);
    } while ((lock < 0) && (errno == ENOENT) && (flags & FABRIC_CREATE) &&
             ((mkdir(path, 0700) == 0) || (errno == EEXIST)));
    if (lock < 0) {
        free(fabric);
        return NULL;
    }

    ret = fabric_open_locked(fabric, lock, flags, host);
    err = errno;
    output_close(lock);
    if (ret != 0) {
        fabric_forget(fabric);
        errno = err;
        return NULL;
    }

    return fabric;
}

struct fabric *fabric_share(struct fabric *other)
{
    struct fabric *fabric = calloc(1, sizeof(*fabric));

    if (other->users == NULL) {
        other->users = malloc(sizeof(*other->users));
        if (other->users != NULL) {
            *other->users = 1;
        }
    }
    if ((fabric == NULL) || (other->users == NULL)) {
        free(fabric);
        return NULL;
    }

    memcpy(fabric->path, other->path, sizeof(fabric->path));
    fabric->dir   = other->dir;
    fabric->slot  = -1;
    fabric->like  = other->slot;
    fabric->users = other->users;
    ++*fabric->users;
    return fabric;
}

void fabric_forget(struct fabric *fabric)
{
    int is_last = (fabric->users == NULL) || (--*fabric->users == 0);

    if (is_last) {
        free(fabric->users);
        /* not by munmap(), which UCX watches, with locks that the parent's
         * threads may hold at a fork */
        if (fabric->dir != NULL) {
            syscall(SYS_munmap, fabric->dir, sizeof(*fabric->dir));
        }
    }
    free(fabric);
}

static void fabric_unlink_rings(const struct fabric *fabric, int folder)
{
    char prefix[32];

    snprintf(prefix, sizeof(prefix), "ring.%08x.", fabric->owner);
    fabric_folder_empty(folder, prefix);
}

void fabric_leave(struct fabric *fabric, int is_last)
{
    struct dir_slot *slot;
    int lock;

    if (fabric->slot < 0) {
        return;
    }

    slot = &fabric->dir->slot[fabric->slot];
    lock = fabric_lock(fabric->path, 1);
    if ((lock >= 0) && slot->is_device && fabric->has_rings) {
        fabric_unlink_rings(fabric, lock);
    }
    if ((atomic_load(&slot->owner) == fabric->owner) &&
        (slot->pid == getpid())) {
        fabric_slot_free(fabric, slot);
    }
    if ((lock >= 0) && is_last && (fabric_reap(fabric) == 0)) {
        fabric_remove(fabric, lock);
    }
    output_close(lock);
    fabric->slot = -1;
}

void fabric_leave_executed(const char *path)
{
    struct fabric fabric = { .slot = -1, .like = -1, .has_rings = 1 };
    struct dir_slot *slot;
    int folder = fabric_folder_open(path);

    if (folder < 0) {
        return;
    }
    snprintf(fabric.path, sizeof(fabric.path), "%s", path);
    fabric.dir = fabric_map(folder, 0);
    close(folder);
    while ((fabric.dir != NULL) &&
           ((slot = fabric_slot_own(&fabric, 1)) != NULL)) {
        fabric.slot  = slot - fabric.dir->slot;
        fabric.owner = atomic_load(&slot->owner);
        fabric_leave(&fabric, 1);
    }
    if (fabric.dir != NULL) {
        munmap(fabric.dir, sizeof(*fabric.dir));
    }
}

void fabric_close(struct fabric *fabric)
{
    fabric_leave(fabric, 1);
    fabric_forget(fabric);
}

/* Count the fabric at `path` as removed or live; one whose lock is taken is.
 * Returns 0, or -1: there is none to be believed. */
static int fabric_clean_one(const char *path, unsigned *removed,
                            unsigned *live)
{
    struct fabric fabric = { .slot = -1, .like = -1 };
    int lock             = fabric_lock(path, 0);

    if (lock < 0) {
        *live += errno == EWOULDBLOCK;
        return (errno == EWOULDBLOCK) ? 0 : -1;
    }

    snprintf(fabric.path, sizeof(fabric.path), "%s", path);
    fabric.dir = fabric_map(lock, 0);
    if ((fabric.dir == NULL) ? fabric_is_none(errno) :
                               (fabric_reap(&fabric) == 0)) {
        fabric_remove(&fabric, lock);
        ++*removed;
    } else {
        if (fabric.dir != NULL) {
            munmap(fabric.dir, sizeof(*fabric.dir));
        }
        ++*live;
    }

    output_close(lock);
    return 0;
}

int fabric_clean(const char *path, unsigned *removed, unsigned *live)
{
    char prefix[32], child[FABRIC_PATH_MAX + 300];
    struct dirent *entry;
    DIR *dir;

    *removed = 0;
    *live    = 0;
    if (path != NULL) {
        return ((fabric_clean_one(path, removed, live) == 0) ||
                (errno != EPERM)) ? 0 : -1;
    }

    dir = opendir(FABRIC_ROOT);
    if (dir == NULL) {
        return 0;
    }
    snprintf(prefix, sizeof(prefix), FABRIC_PREFIX "%u-", (unsigned)geteuid());
    while ((entry = readdir(dir)) != NULL) {
        snprintf(child, sizeof(child), FABRIC_ROOT "/%s", entry->d_name);
        if (!strncmp(entry->d_name, prefix, strlen(prefix)) &&
            (strlen(child) < FABRIC_PATH_MAX)) {
            (void)fabric_clean_one(child, removed, live);
        }
    }

    closedir(dir);
    return 0;
}

int fabric_counter(const struct fabric *fabric, unsigned nic,
                   const char *name, uint64_t *value)
{
    size_t length = strlen(name);
    unsigned i    = sim_named_find(dir_counter_names, DIR_COUNTERS, name,
                                   length);

    if (i < DIR_COUNTERS) {
        *value = dir_counter(fabric->dir, nic, i);
        return 0;
    }
    i = sim_named_find(dir_driver_counter_names, DIR_DRIVER_COUNTERS, name,
                       length);
    if (i < DIR_DRIVER_COUNTERS) {
        *value = atomic_load(&fabric->dir->nic[nic].driver[i]);
        return 0;
    }
    return -1;
}

/* Nonzero if the folder `entry` of `root` is such a fabric. Anybody may make a
 * folder there: it counts only as its owner's. A file system of his that is
 * mounted there, and may never answer, is not asked. */
static int fabric_is_namesake(int root, const char *entry, const char *name,
                              unsigned *uid)
{
    unsigned layout;
    struct statx st;
    int length = 0;

    return (sscanf(entry, "efasim%u-%u-%n", &layout, uid, &length) == 2) &&
           (length > 0) && !strcmp(entry + length, name) &&
           (*uid != (unsigned)geteuid()) &&
           output_look(root, entry, &st) &&
           S_ISDIR(st.stx_mode) && (st.stx_uid == *uid);
}

int fabric_namesake(const char *name, unsigned *uid)
{
    char path[FABRIC_PATH_MAX];
    struct dirent *entry;
    int found = 0;
    DIR *dir;

    fabric_path(name, path);
    *strrchr(path, '/') = '\0';
    dir                 = opendir(path);
    while ((dir != NULL) && !found && ((entry = readdir(dir)) != NULL)) {
        found = fabric_is_namesake(dirfd(dir), entry->d_name, name, uid);
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return found;
}
