/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* O_PATH */
#endif
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/stat.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#ifndef AT_STATX_DONT_SYNC
#define AT_STATX_DONT_SYNC 0x4000 /* the C library is older than the call */
#endif

enum {
    OUTPUT_PLACE = O_PATH | O_CLOEXEC,
    OUTPUT_LINKS = 40, /* on the way to a file, as many as the kernel follows */

    /* linux/stat.h since 5.8: stx_mnt_id */
    OUTPUT_STATX_MOUNT    = 0x1000,
    OUTPUT_STATX_MOUNT_AT = 0x90
};

/* Nonzero: root alone has made what is in this folder. */
static int output_is_roots(const struct stat *folder)
{
    static const char *const roots[] = { "/", "/dev", "/proc" };
    struct stat st;
    size_t i;

    for (i = 0; i < sizeof(roots) / sizeof(roots[0]); ++i) {
        if ((stat(roots[i], &st) == 0) && (folder->st_dev == st.st_dev) &&
            (folder->st_ino == st.st_ino)) {
            return 1;
        }
    }
    return 0;
}

void output_close(int fd)
{
    int err = errno;

    if (fd >= 0) {
        close(fd);
    }
    errno = err;
}

int output_look(int dir, const char *name, struct statx *st)
{
    int flags = AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH;
    struct stat asked;

    if (syscall(SYS_statx, dir, name, flags | AT_STATX_DONT_SYNC,
                STATX_BASIC_STATS, st) == 0) {
        return 1;
    }
    if (((errno != ENOSYS) && (errno != EPERM)) ||
        (fstatat(dir, name, &asked, flags) != 0)) {
        return 0;
    }
    st->stx_ino       = asked.st_ino;
    st->stx_mode      = asked.st_mode;
    st->stx_uid       = asked.st_uid;
    st->stx_dev_major = major(asked.st_dev);
    st->stx_dev_minor = minor(asked.st_dev);
    return 1;
}

/* A file of /proc on this thread; the program's first one may have ended. */
static FILE *output_proc(const char *name)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/self/task/%ld/%s",
             (long)syscall(SYS_gettid), name);
    return fopen(path, "re");
}

/* The number of the mount that it is in; 0: unknown. */
static unsigned output_mount_of(int fd)
{
    unsigned number = 0;
    struct statx st;
    uint64_t asked;
    char name[32];
    FILE *info;

    if ((syscall(SYS_statx, fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
                 OUTPUT_STATX_MOUNT, &st) == 0) &&
        (st.stx_mask & OUTPUT_STATX_MOUNT)) { /* Linux 5.8 */
        memcpy(&asked, (char*)&st + OUTPUT_STATX_MOUNT_AT, sizeof(asked));
        return (unsigned)asked;
    }
    snprintf(name, sizeof(name), "fdinfo/%d", fd);
    info = output_proc(name);
    if (info != NULL) {
        (void)!fscanf(info, "pos: %*d flags: %*o mnt_id: %u", &number);
        fclose(info);
    }
    return number;
}

/* This user's number outside of its user namespace, as mounts have it. */
static unsigned output_user(void)
{
    unsigned user = geteuid(), inside, outside, count;
    FILE *map     = output_proc("uid_map");

    while ((map != NULL) &&
           (fscanf(map, "%u %u %u", &inside, &outside, &count) == 3)) {
        if (user - inside < count) {
            user += outside - inside;
            break;
        }
    }
    if (map != NULL) {
        fclose(map);
    }
    return user;
}

/* Nonzero: another user has mounted it (FUSE), and says of owners what he
 * likes, or never answers; or it was unmounted since. The mount of "/" is
 * nobody's, and in no list where the root was changed. The last word of a line
 * is the file system's options; other words may be his. */
static int output_is_mounted(int fd)
{
    static const char option[] = ",user_id=";
    FILE *mounts    = output_proc("mountinfo");
    int root        = open("/", OUTPUT_PLACE);
    unsigned number = output_mount_of(fd), one;
    int is_known    = number == output_mount_of(root);
    char *line      = NULL;
    const char *by  = NULL;
    size_t size     = 0;
    unsigned user   = 0;

    close(root);
    while ((mounts != NULL) && !is_known &&
           (getline(&line, &size, mounts) > 0)) {
        if ((sscanf(line, "%u", &one) == 1) && (one == number)) {
            is_known = 1;
            by       = strstr(strrchr(line, ' '), option);
            user     = (by == NULL) ? 0 : (unsigned)atol(by + strlen(option));
        }
    }
    free(line);
    if (mounts != NULL) {
        fclose(mounts);
    }
    if (is_known && ((user == 0) || (user == output_user()))) {
        return 0;
    }
    errno = (is_known || (mounts != NULL)) ? EPERM : ENOSYS;
    return 1;
}

/* The number of all who have none in this user namespace; 0: each has one. */
static unsigned output_nobody(int is_group)
{
    static const char *const names[] = { "/proc/sys/kernel/overflowuid",
                                         "/proc/sys/kernel/overflowgid" };
    unsigned nobody = 65534, inside, outside, count;
    uint64_t known  = 0;
    FILE *map       = output_proc(is_group ? "gid_map" : "uid_map");
    FILE *file      = fopen(names[is_group], "re");

    while ((map != NULL) &&
           (fscanf(map, "%u %u %u", &inside, &outside, &count) == 3)) {
        known += count;
    }
    if (map != NULL) {
        fclose(map);
    }
    if (file != NULL) {
        (void)!fscanf(file, "%u", &nobody);
        fclose(file);
    }
    return (known < UINT32_MAX) ? nobody : 0;
}

/* A number that may be another's as well is none of this user's. */
static int output_is_user(uid_t user)
{
    return (user == geteuid()) && ((user == 0) || (user != output_nobody(0)));
}

static int output_is_group(gid_t group)
{
    return (group == getegid()) &&
           ((group == 0) || (group != output_nobody(1)));
}

/* Neither this user nor root, of what is in `folder`. In a user namespace
 * without root his files look like other users'. */
static int output_is_other(uid_t user, const struct stat *folder)
{
    return (user != 0) && !output_is_user(user) && !output_is_roots(folder);
}

/* Puts what the link `fd` says in front of the rest of the way. 0, or -1. */
static int output_expand(int fd, char *way, const char *rest)
{
    char text[PATH_MAX];
    ssize_t length = readlinkat(fd, "", text, sizeof(text));
    size_t more    = strlen(rest) + 1;

    if (length < 0) {
        return -1;
    }
    if ((size_t)length + 1 + more > PATH_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memmove(way + length + 1, rest, more);
    memcpy(way, text, (size_t)length);
    way[length] = '/';
    return 0;
}

/* One part of the way, from the folder *at_p, which is closed. 1: *at_p is the
 * next folder; 0: it was a link, and `way` is the way from *at_p on; -1. A file
 * system that another user has mounted is asked nothing. */
static int output_step(int *at_p, const char *part, char *way, const char *rest)
{
    int next = openat(*at_p, part, OUTPUT_PLACE | O_NOFOLLOW | O_DIRECTORY);
    int ret  = -1, kept = *at_p;
    struct stat folder, st;

    if ((next < 0) && (errno == ENOTDIR)) { /* a link, and no automount */
        next = openat(kept, part, OUTPUT_PLACE | O_NOFOLLOW);
    }
    if ((next >= 0) && !output_is_mounted(next) &&
        (fstat(kept, &folder) == 0) && (fstat(next, &st) == 0)) {
        if (!S_ISLNK(st.st_mode)) {
            *at_p = next;
            next  = kept;
            ret   = 1;
        } else if (output_is_other(st.st_uid, &folder)) {
            errno = EPERM;
        } else if (output_expand(next, way, rest) == 0) {
            if (*way == '/') {
                *at_p = open("/", OUTPUT_PLACE);
                close(kept);
            }
            ret = 0;
        }
    }
    output_close(next);
    return ret;
}

/* output_folder() from the folder `at`, which is closed. */
static int output_from(int at, const char *path, const char **name_p)
{
    int ret         = 0;
    unsigned links  = 0;
    char way[PATH_MAX], *part, *rest;

    *name_p = strrchr(path, '/');
    *name_p = (*name_p == NULL) ? path : *name_p + 1;
    if ((at >= 0) && output_is_mounted(at)) {
        ret = -1;
    } else if ((size_t)(*name_p - path) >= sizeof(way)) {
        ret   = -1;
        errno = ENAMETOOLONG;
    } else {
        memcpy(way, path, (size_t)(*name_p - path));
        way[*name_p - path] = '\0';
    }
    for (rest = way; (at >= 0) && (ret >= 0);) {
        part = rest + strspn(rest, "/");
        rest = part + strcspn(part, "/");
        if (rest == part) {
            return at;
        }
        if (*rest != '\0') {
            *rest++ = '\0';
        }
        ret = output_step(&at, part, way, rest);
        if (ret == 0) {
            rest = way;
            if (++links > OUTPUT_LINKS) {
                ret   = -1;
                errno = ELOOP;
            }
        }
    }
    output_close(at);
    return -1;
}

int output_folder(const char *path, const char **name_p)
{
    return output_from(open((*path == '/') ? "/" : ".", OUTPUT_PLACE), path,
                       name_p);
}

void output_remove(const char *path)
{
    const char *name;
    int at = output_folder(path, &name);
    struct stat file;

    if (at >= 0) {
        if ((fstatat(at, name, &file, AT_SYMLINK_NOFOLLOW) == 0) &&
            S_ISREG(file.st_mode)) {
            unlinkat(at, name, 0);
        }
        close(at);
    }
}

int output_is_public(const char *folder)
{
    struct stat st;

    return (stat(folder, &st) == 0) && (st.st_mode & S_ISVTX);
}

/* Nonzero: an access control list says who may write. */
static int output_has_list(int at)
{
    char path[32];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", at);
    return getxattr(path, "system.posix_acl_access", NULL, 0) > 0;
}

/* Nonzero: others may make a name there; those of this user's own group (which
 * many may have) count where he has not allowed it himself. The group's right
 * to write may be that of others in a list, which a folder gets from the one
 * that it is made in. */
static int output_is_shared(int at, const struct stat *folder)
{
    return (folder->st_mode & S_IWOTH) ||
           ((folder->st_mode & S_IWGRP) && (!output_is_group(folder->st_gid) ||
                                            !output_is_user(folder->st_uid) ||
                                            output_has_list(at))) ||
           output_is_other(folder->st_uid, folder);
}

/* A file of this user, or of him whose alone the folder `at` is; another name
 * of it elsewhere would be a link, and one that is mounted there may lie, or
 * never answer. 0 with errno: it is none. */
static int output_is_own(int fd, const struct stat *folder)
{
    struct stat file = { 0 };
    int ret;

    if (output_is_mounted(fd)) {
        return 0;
    }
    ret = (fstat(fd, &file) == 0) &&
          S_ISREG(file.st_mode) && (file.st_nlink == 1) &&
          ((file.st_uid == geteuid()) ||
           (!(folder->st_mode & (S_IWOTH | S_IWGRP)) &&
            (file.st_uid == folder->st_uid)));
    errno = S_ISDIR(file.st_mode) ? EISDIR : EPERM;
    return ret;
}

/* The file of that name is held, looked at, and then opened, whatever has the
 * name by then; where nothing has, it is made. O_NOATIME is its owner's alone:
 * the kernel tells whose it is where numbers do not. */
static int output_shared_file(int at, const char *name, int flags,
                              const struct stat *folder)
{
    int fd = -1, place, made;
    char path[32];

    do {
        place = openat(at, name, OUTPUT_PLACE | O_NOFOLLOW);
        made  = (place < 0) && (errno == ENOENT);
        place = made ? openat(at, name, flags | O_EXCL, 0644) : place;
    } while (made && (place < 0) && (errno == EEXIST));
    if ((place >= 0) && output_is_own(place, folder)) {
        if (made) {
            return place;
        }
        snprintf(path, sizeof(path), "/proc/self/fd/%d", place);
        fd = open(path, O_NONBLOCK | (flags & ~O_CREAT) |
                        (output_is_user(geteuid()) ? 0 : O_NOATIME));
        errno = ((fd < 0) && (errno == ENOENT)) ? ENOSYS : errno;
    }
    output_close(place);
    return fd;
}

/* In a folder of this user's alone. Another who may write to a file there may
 * have mounted his file system on it, which may never answer. */
static int output_own_file(int at, const char *name, int flags)
{
    int place = openat(at, name, OUTPUT_PLACE | O_NOFOLLOW);
    int fd = -1, is_file;
    struct stat file;
    char path[32];

    if ((place < 0) || !output_is_mounted(place)) {
        is_file = (place >= 0) && (fstat(place, &file) == 0) &&
                  S_ISREG(file.st_mode); /* on others nobody can mount */
        snprintf(path, sizeof(path), "/proc/self/fd/%d", place);
        fd = is_file ? open(path, flags & ~(O_CREAT | O_NOFOLLOW)) : -1;
        if (!is_file || ((fd < 0) && (errno == ENOENT))) { /* no /proc */
            fd = openat(at, name, flags, 0644);
        }
    }
    output_close(place);
    return fd;
}

/* Opens what has the name in *at_p. 1: it is a link, `way` is what it says, and
 * *at_p where that begins; 0: opened, or not. */
static int output_last(int *at_p, const char *name, int flags, char *way,
                       int *fd_p)
{
    struct stat folder;
    struct statfs system;

    *fd_p = -1;
    if ((fstat(*at_p, &folder) != 0) || (fstatfs(*at_p, &system) != 0)) {
        return 0;
    }
    if (output_is_shared(*at_p, &folder)) {
        *fd_p = output_shared_file(*at_p, name, flags, &folder);
        return 0;
    }
    /* /dev/stdout leads to a link there, whose text is no path */
    flags |= (system.f_type == PROC_SUPER_MAGIC) ? 0 : O_NOFOLLOW;
    *fd_p  = output_own_file(*at_p, name, flags);
    if ((*fd_p >= 0) || (errno != ELOOP) ||
        (output_step(at_p, name, way, "") != 0)) {
        return 0;
    }
    way[strlen(way) - 1] = '\0'; /* the slash before a rest */
    return 1;
}

int output_open(const char *path, int flags)
{
    const char *name;
    int at = output_folder(path, &name), fd = -1;
    unsigned links = 0;
    char way[PATH_MAX];

    flags |= O_WRONLY | O_CREAT | O_CLOEXEC;
    while ((at >= 0) && (links++ <= OUTPUT_LINKS) &&
           output_last(&at, (*name == '\0') ? "." : name, flags, way, &fd)) {
        at = output_from(at, way, &name);
    }
    output_close(at);
    return fd;
}

FILE *output_file(const char *path, int flags)
{
    int fd = output_open(path, flags);

    return (fd < 0) ? NULL :
           fdopen(fd, (flags & O_APPEND) ? "a" : "w");
}

const char *output_error(int err)
{
    return (err == EPERM) ? "a link, a pipe, or another user's, in a folder "
                            "where others may write" :
           (err == ENOSYS) ? "there is no /proc, by which what is in a folder "
                             "is opened that is held" : strerror(err);
}
