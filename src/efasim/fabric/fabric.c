/* SPDX-License-Identifier: BSD-3-Clause */
#include "fabric.h"
#include "clock.h"
#include "lock.h"
#include "process.h"

#include "efasim/engine/rng.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
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
             (unsigned)getuid(), name);
}

/* Remove the folder and all that is in it. */
static void fabric_remove_tree(const char *path)
{
    char child[FABRIC_PATH_MAX + 300];
    struct dirent *entry;
    DIR *dir;

    dir = opendir(path);
    if (dir != NULL) {
        while ((entry = readdir(dir)) != NULL) {
            if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) {
                continue;
            }
            snprintf(child, sizeof(child), "%s/%s", path, entry->d_name);
            if ((unlink(child) != 0) &&
                ((errno == EISDIR) || (errno == EPERM))) {
                fabric_remove_tree(child);
            }
        }
        closedir(dir);
    }

    rmdir(path);
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
static struct dir *fabric_map(const char *path, int create)
{
    char file[FABRIC_PATH_MAX + 16];
    struct dir *dir = NULL;
    int err         = 0;
    struct stat st;
    int fd;

    if (create && (fabric_process_check_size(sizeof(*dir)) != 0)) {
        return NULL;
    }
    snprintf(file, sizeof(file), "%s/directory", path);
    fd = open(file, O_RDWR | O_CLOEXEC | (create ? O_CREAT | O_EXCL : 0),
              0600);
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

static int fabric_slot_free(struct fabric *fabric, struct dir_slot *slot)
{
    uint32_t owner = atomic_load(&slot->owner);

    if (slot->is_device) {
        dir_purge(fabric->dir, slot->nic % SIM_NICS, owner);
    }
    atomic_store(&slot->owner, 0);
    atomic_store(&slot->state, DIR_SLOT_FREE);
    return 0;
}

int fabric_slot_is_alive(const struct dir_slot *slot)
{
    return fabric_process_is_alive(slot->pid, slot->start_time, slot->pid_ns);
}

/* Whether this process took it, also before it executed this program. */
static int fabric_slot_is_own(const struct dir_slot *slot)
{
    return (atomic_load(&slot->state) == DIR_SLOT_LIVE) &&
           (slot->pid == getpid()) && (slot->pid_ns == fabric_process_ns()) &&
           (slot->start_time == fabric_process_start(slot->pid));
}

/* With the lock held: take back what dead processes hold. The number of live
 * ones; each with many devices is looked for once. */
static unsigned fabric_reap(struct fabric *fabric)
{
    unsigned live = 0, is_alive = 0, i;
    struct dir_slot *slot, *last = NULL;

    for (i = 0; i < SIM_SLOTS; ++i) {
        slot = &fabric->dir->slot[i];
        if (atomic_load(&slot->state) == DIR_SLOT_FREE) {
            continue;
        }
        if ((last == NULL) || (slot->pid != last->pid) ||
            (slot->start_time != last->start_time) ||
            (slot->pid_ns != last->pid_ns)) {
            is_alive = fabric_slot_is_alive(slot);
        }
        last  = slot;
        live += is_alive;
        if (!is_alive) {
            fabric_slot_free(fabric, slot);
        }
    }
    return live;
}

int fabric_owner_is_alive(struct fabric *fabric, uint32_t owner)
{
    struct dir_slot *slot = &fabric->dir->slot[dir_owner_slot(owner) %
                                               SIM_SLOTS];
    int lock;

    if (atomic_load(&slot->owner) != owner) {
        return 0;
    }
    if (fabric_slot_is_alive(slot)) {
        return 1;
    }

    lock = fabric_lock(fabric->path, 1);
    if (atomic_load(&slot->owner) == owner) {
        fabric_slot_free(fabric, slot);
    }
    if (lock >= 0) {
        fabric_unlock(lock);
    }
    return 0;
}

/* The place that this process took before it executed another program. */
static int fabric_attach_again(struct fabric *fabric, unsigned nic)
{
    struct dir_slot *slot;
    unsigned i;

    for (i = 0; i < SIM_SLOTS; ++i) {
        slot = &fabric->dir->slot[i];
        if (fabric_slot_is_own(slot) && !slot->is_device &&
            (slot->nic == nic)) {
            fabric->slot  = i;
            fabric->nic   = nic;
            fabric->owner = atomic_load(&slot->owner);
            return 1;
        }
    }

    return 0;
}

static int fabric_attach_locked(struct fabric *fabric, unsigned nic,
                                int is_device)
{
    struct dir *dir = fabric->dir;
    struct dir_slot *slot;
    uint32_t index, gen;
    unsigned i;

    if (!is_device && fabric_attach_again(fabric, nic)) {
        return 0;
    }

    for (i = 0; i < SIM_SLOTS; ++i) {
        index = (dir->next_slot + i) % SIM_SLOTS;
        slot  = &dir->slot[index];
        if (atomic_load(&slot->state) == DIR_SLOT_FREE) {
            break;
        }
    }
    if (i == SIM_SLOTS) {
        errno = ENOSPC;
        return -1;
    }

    dir->next_slot   = index + 1;
    slot->pid        = getpid();
    slot->start_time = fabric_process_start(slot->pid);
    slot->pid_ns     = fabric_process_ns();
    slot->nic        = nic;
    slot->is_device  = is_device;
    slot->home       = index;
    atomic_store(&slot->sleeping, DIR_AWAKE);
    memset((void*)slot->inbound, 0, sizeof(slot->inbound));
    memset((void*)slot->ah, 0, sizeof(slot->ah));
    gen = (atomic_fetch_add(&slot->gen, 1) + 1) & 0xffff;

    fabric->slot  = index;
    fabric->nic   = nic;
    fabric->owner = dir_owner(index, gen);
    atomic_store(&slot->owner, fabric->owner);
    atomic_store(&slot->state, DIR_SLOT_LIVE);
    return 0;
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

    fabric_unlock(lock);
    return ret;
}

void fabric_take_back(struct fabric *fabric)
{
    int lock = fabric_lock(fabric->path, 1);

    if (lock >= 0) {
        fabric_reap(fabric);
        fabric_unlock(lock);
    }
}

/* With the lock held: make a new, empty fabric in the folder. */
static int fabric_create(struct fabric *fabric)
{
    int err;

    fabric->dir = fabric_map(fabric->path, 1);
    if (fabric->dir == NULL) {
        err = errno;
        fabric_remove_tree(fabric->path);
        errno = err;
        return -1;
    }
    return 0;
}

/* Everything but the lock itself. */
static void fabric_empty(struct fabric *fabric)
{
    char child[FABRIC_PATH_MAX + 300];
    struct dirent *entry;
    DIR *dir;

    if (fabric->dir != NULL) {
        atomic_store(&fabric->dir->closed, 1);
        munmap(fabric->dir, sizeof(*fabric->dir));
        fabric->dir = NULL;
    }

    dir = opendir(fabric->path);
    if (dir == NULL) {
        return;
    }
    while ((entry = readdir(dir)) != NULL) {
        if ((entry->d_name[0] == '.') || !strcmp(entry->d_name, "lock")) {
            continue;
        }
        snprintf(child, sizeof(child), "%s/%s", fabric->path, entry->d_name);
        if (unlink(child) != 0) {
            fabric_remove_tree(child);
        }
    }
    closedir(dir);
}

static int fabric_open_locked(struct fabric *fabric, unsigned flags, int host)
{
    fabric->dir = fabric_map(fabric->path, 0);
    if ((fabric->dir == NULL) && (errno == EPROTO) &&
        !(flags & FABRIC_CREATE)) {
        return -1;
    }

    if (flags & FABRIC_CREATE) {
        if ((fabric->dir == NULL) || (fabric_reap(fabric) == 0)) {
            fabric_empty(fabric); /* dead, or of another version */
            if (fabric_create(fabric) != 0) {
                return -1;
            }
            fabric->is_new = 1;
        }
        return (host < 0) ? 0 :
               fabric_attach_locked(fabric, dir_nic_of(host, 0), 0);
    }

    return (fabric->dir == NULL) ? -1 : 0;
}

struct fabric *fabric_open(const char *path, unsigned flags, int host)
{
    struct fabric *fabric;
    int lock, ret, err;

    if ((flags & FABRIC_CREATE) && (mkdir(path, 0700) != 0) &&
        (errno != EEXIST)) {
        return NULL;
    }
    if (!(flags & FABRIC_CREATE) && (access(path, F_OK) != 0)) {
        return NULL;
    }

    fabric = calloc(1, sizeof(*fabric));
    if (fabric == NULL) {
        return NULL;
    }
    snprintf(fabric->path, sizeof(fabric->path), "%s", path);
    fabric->slot = -1;

    do {
        lock = fabric_lock(path, 1);
    } while ((lock < 0) && (errno == ENOENT) && (flags & FABRIC_CREATE) &&
             ((mkdir(path, 0700) == 0) || (errno == EEXIST)));
    if (lock < 0) {
        free(fabric);
        return NULL;
    }

    ret = fabric_open_locked(fabric, flags, host);
    err = errno;
    fabric_unlock(lock);
    if (ret != 0) {
        fabric_forget(fabric);
        errno = err;
        return NULL;
    }

    return fabric;
}

void fabric_forget(struct fabric *fabric)
{
    if (fabric->dir != NULL) {
        munmap(fabric->dir, sizeof(*fabric->dir));
    }
    free(fabric);
}

static void fabric_unlink_rings(const struct fabric *fabric)
{
    char prefix[32], file[FABRIC_PATH_MAX + 300];
    struct dirent *entry;
    DIR *dir;

    dir = opendir(fabric->path);
    if (dir == NULL) {
        return;
    }

    snprintf(prefix, sizeof(prefix), "ring.%08x.", fabric->owner);
    while ((entry = readdir(dir)) != NULL) {
        if (!strncmp(entry->d_name, prefix, strlen(prefix))) {
            snprintf(file, sizeof(file), "%s/%s", fabric->path,
                     entry->d_name);
            unlink(file);
        }
    }
    closedir(dir);
}

void fabric_leave(struct fabric *fabric, int is_last)
{
    struct dir_slot *slot;
    int lock;

    if (fabric->slot < 0) {
        return;
    }

    slot = &fabric->dir->slot[fabric->slot];
    if (slot->is_device) {
        fabric_unlink_rings(fabric);
    }

    lock = fabric_lock(fabric->path, 1);
    if ((atomic_load(&slot->owner) == fabric->owner) &&
        (slot->pid == getpid())) {
        fabric_slot_free(fabric, slot);
    }
    if (lock >= 0) {
        if (is_last && (fabric_reap(fabric) == 0)) {
            fabric_empty(fabric);
            fabric_remove_tree(fabric->path);
        }
        fabric_unlock(lock);
    }
    fabric->slot = -1;
}

/* A device that this process had before it executed this program. */
static struct dir_slot *fabric_slot_executed(const struct fabric *fabric)
{
    struct dir_slot *slot;
    unsigned i;

    for (i = 0; i < SIM_SLOTS; ++i) {
        slot = &fabric->dir->slot[i];
        if (fabric_slot_is_own(slot) && slot->is_device) {
            return slot;
        }
    }

    return NULL;
}

void fabric_leave_executed(const char *path)
{
    struct fabric fabric = { .slot = -1 };
    struct dir_slot *slot;

    snprintf(fabric.path, sizeof(fabric.path), "%s", path);
    fabric.dir = fabric_map(path, 0);
    while ((fabric.dir != NULL) &&
           ((slot = fabric_slot_executed(&fabric)) != NULL)) {
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

/* Returns 1 when the fabric at path was removed, 0 when it lives; one whose
 * lock is taken does. */
static int fabric_clean_one(const char *path)
{
    struct fabric fabric = { .slot = -1 };
    int lock, dead;

    lock = fabric_lock(path, 0);
    if (lock < 0) {
        return 0;
    }

    snprintf(fabric.path, sizeof(fabric.path), "%s", path);
    fabric.dir = fabric_map(path, 0);
    dead       = (fabric.dir == NULL) || (fabric_reap(&fabric) == 0);
    if (dead) {
        fabric_empty(&fabric);
        fabric_remove_tree(path);
    } else {
        munmap(fabric.dir, sizeof(*fabric.dir));
    }

    fabric_unlock(lock);
    return dead;
}

unsigned fabric_clean(const char *path, unsigned *live)
{
    char prefix[32], child[FABRIC_PATH_MAX + 300];
    unsigned removed = 0;
    struct dirent *entry;
    DIR *dir;

    *live = 0;
    if (path != NULL) {
        if (access(path, F_OK) == 0) {
            removed = fabric_clean_one(path);
            *live   = !removed;
        }
        return removed;
    }

    dir = opendir(FABRIC_ROOT);
    if (dir == NULL) {
        return 0;
    }
    snprintf(prefix, sizeof(prefix), FABRIC_PREFIX "%u-", (unsigned)getuid());
    while ((entry = readdir(dir)) != NULL) {
        if (strncmp(entry->d_name, prefix, strlen(prefix))) {
            continue;
        }
        snprintf(child, sizeof(child), FABRIC_ROOT "/%s", entry->d_name);
        if (strlen(child) < FABRIC_PATH_MAX) {
            if (fabric_clean_one(child)) {
                ++removed;
            } else {
                ++*live;
            }
        }
    }

    closedir(dir);
    return removed;
}

int fabric_counter(const struct fabric *fabric, unsigned nic,
                   const char *name, uint64_t *value)
{
    unsigned i;

    for (i = 0; i < DIR_COUNTERS; ++i) {
        if (!strcmp(name, dir_counter_names[i])) {
            *value = dir_counter(fabric->dir, nic, i);
            return 0;
        }
    }
    for (i = 0; i < DIR_DRIVER_COUNTERS; ++i) {
        if (!strcmp(name, dir_driver_counter_names[i])) {
            *value = atomic_load(&fabric->dir->nic[nic].driver[i]);
            return 0;
        }
    }

    return -1;
}
