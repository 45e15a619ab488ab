/* SPDX-License-Identifier: BSD-3-Clause */
#include "fabric.h"
#include "clock.h"
#include "lock.h"
#include "process.h"
#include "slot.h"

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
        if (fabric->users == NULL) {
            munmap(fabric->dir, sizeof(*fabric->dir));
        } /* else threads of this process may look at it */
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
    fabric->like = -1;

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
        if (fabric->dir != NULL) {
            munmap(fabric->dir, sizeof(*fabric->dir));
        }
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
    if (slot->is_device && fabric->has_rings) {
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
    struct fabric fabric = { .slot = -1, .like = -1, .has_rings = 1 };
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
    struct fabric fabric = { .slot = -1, .like = -1 };
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
