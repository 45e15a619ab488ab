/* SPDX-License-Identifier: BSD-3-Clause */
#include "folder.h"
#include "fabric.h"

#include "files/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FOLDER_OTHERS = S_IWGRP | S_IWOTH };

/* A file system that another user has mounted there (FUSE) says of owners what
 * he likes, or never answers: it is not asked. */
static int folder_is_mount(const char *path)
{
    char above[FABRIC_PATH_MAX];
    struct statx st, root;

    snprintf(above, sizeof(above), "%.*s", (int)(strrchr(path, '/') - path),
             path);
    return output_look(AT_FDCWD, path, &st) &&
           output_look(AT_FDCWD, above, &root) &&
           ((st.stx_dev_major != root.stx_dev_major) ||
            (st.stx_dev_minor != root.stx_dev_minor));
}

/* O_NOATIME is its owner's alone: in a user namespace st_uid, too, may be that
 * of "nobody" for two users. */
int fabric_folder_open(const char *path)
{
    struct stat st;
    int fd, err;

    if (folder_is_mount(path)) {
        errno = EPERM;
        return -1;
    }
    fd = open(path, FABRIC_FOLDER_FLAGS | O_NOATIME);
    if (fd >= 0) {
        if (!folder_is_mount(path) && (fstat(fd, &st) == 0) &&
            (st.st_uid == geteuid()) && !(st.st_mode & FOLDER_OTHERS)) {
            return fd;
        }
        close(fd);
        errno = EPERM;
        return -1;
    }

    err = errno;
    if (folder_is_mount(path) ||
        (((err == EACCES) || (err == ENOTDIR)) && (lstat(path, &st) == 0))) {
        err = EPERM; /* another user's, or no folder */
    }
    errno = err;
    return -1;
}

const char *fabric_folder_say(const char *path)
{
    static __thread char line[400];
    struct stat st = { 0 };
    const char *kind;

    if (folder_is_mount(path)) {
        snprintf(line, sizeof(line), "%s is a mount, perhaps of another user: "
                 "have it unmounted, or take another --fabric", path);
        return line;
    }
    (void)lstat(path, &st);
    kind = S_ISDIR(st.st_mode) ? "folder" :
           S_ISLNK(st.st_mode) ? "symbolic link" : "file";
    snprintf(line, sizeof(line), "%s is a %s of user %u with mode %04o: only a "
             "folder of user %u that no other user can write to is believed; "
             "have it removed, or take another --fabric", path, kind,
             (unsigned)st.st_uid, (unsigned)st.st_mode & 07777,
             (unsigned)geteuid());
    return line;
}

void fabric_fd_close(int fd)
{
    int err = errno;

    if (fd >= 0) {
        close(fd);
    }
    errno = err;
}

int fabric_folder_file(const char *path, const char *name, int flags)
{
    int folder = fabric_folder_open(path);
    int fd     = (folder < 0) ? -1 :
                 openat(folder, name, flags | O_NOFOLLOW | O_CLOEXEC, 0600);

    fabric_fd_close(folder);
    return fd;
}

/* It may become a link at any time: opened, it is a folder and stays one. */
static void folder_remove(int folder, const char *name)
{
    struct stat st;
    int child;

    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        return;
    }
    if (!S_ISDIR(st.st_mode)) {
        unlinkat(folder, name, 0);
        return;
    }
    child = openat(folder, name, FABRIC_FOLDER_FLAGS);
    if (child >= 0) {
        fabric_folder_empty(child, "");
        close(child);
    }
    unlinkat(folder, name, AT_REMOVEDIR);
}

void fabric_folder_empty(int folder, const char *prefix)
{
    int again = openat(folder, ".", FABRIC_FOLDER_FLAGS);
    DIR *dir  = (again < 0) ? NULL : fdopendir(again);
    struct dirent *entry;

    while ((dir != NULL) && ((entry = readdir(dir)) != NULL)) {
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") &&
            !strncmp(entry->d_name, prefix, strlen(prefix))) {
            folder_remove(folder, entry->d_name);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    } else if (again >= 0) {
        close(again);
    }
}

/* The folder may be removed while we wait: then the one that we locked is no
 * longer the one with that name. */
static int folder_is_current(int fd, const char *path)
{
    struct stat mine, named;

    return (fstat(fd, &mine) == 0) && (lstat(path, &named) == 0) &&
           (mine.st_ino == named.st_ino) && (mine.st_dev == named.st_dev);
}

int fabric_lock(const char *path, int wait)
{
    int fd, ret;

    for (;;) {
        fd = fabric_folder_open(path);
        if (fd < 0) {
            return -1;
        }

        do {
            ret = flock(fd, LOCK_EX | (wait ? 0 : LOCK_NB));
        } while ((ret != 0) && (errno == EINTR));
        if (ret != 0) {
            fabric_fd_close(fd);
            return -1;
        }
        if (folder_is_current(fd, path)) {
            return fd;
        }
        close(fd);
    }
}
