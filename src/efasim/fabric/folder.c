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
 * he likes, or never answers: it is not asked. `name`, in `dir`, is what `path`
 * names, or named when it was opened. */
static int folder_is_mount(int dir, const char *name, const char *path)
{
    char above[FABRIC_PATH_MAX];
    struct statx st, root;

    snprintf(above, sizeof(above), "%.*s", (int)(strrchr(path, '/') - path),
             path);
    return output_look(dir, name, &st) &&
           output_look(AT_FDCWD, above, &root) &&
           ((st.stx_dev_major != root.stx_dev_major) ||
            (st.stx_dev_minor != root.stx_dev_minor));
}

/* It is held, looked at, and then opened, whatever has the name by then.
 * O_NOATIME is its owner's alone: in a user namespace st_uid, too, may be that
 * of "nobody" for two users. */
int fabric_folder_open(const char *path)
{
    int place = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    int fd    = -1;
    struct stat st;

    if (place < 0) {
        return -1;
    }
    if (folder_is_mount(place, "", path) || (fstat(place, &st) != 0) ||
        (st.st_uid != geteuid()) || (st.st_mode & FOLDER_OTHERS)) {
        errno = EPERM;
    } else {
        fd = openat(place, ".", FABRIC_FOLDER_FLAGS | O_NOATIME);
        if ((fd < 0) && ((errno == EACCES) || (errno == ENOTDIR))) {
            errno = EPERM; /* no folder, or one that is closed to its owner */
        }
    }
    output_close(place);
    return fd;
}

const char *fabric_folder_say(const char *path)
{
    static __thread char line[400];
    struct statx st = { 0 };
    const char *kind;

    if (folder_is_mount(AT_FDCWD, path, path)) {
        snprintf(line, sizeof(line), "%s is a mount, perhaps of another user: "
                 "have it unmounted, or take another --fabric", path);
        return line;
    }
    (void)output_look(AT_FDCWD, path, &st);
    kind = S_ISDIR(st.stx_mode) ? "folder" :
           S_ISLNK(st.stx_mode) ? "symbolic link" : "file";
    snprintf(line, sizeof(line), "%s is a %s of user %u with mode %04o: only a "
             "folder of user %u that no other user can write to is believed; "
             "have it removed, or take another --fabric", path, kind,
             (unsigned)st.stx_uid, (unsigned)st.stx_mode & 07777,
             (unsigned)geteuid());
    return line;
}

int fabric_folder_file(const char *path, const char *name, int flags)
{
    int folder = fabric_folder_open(path);
    int fd     = (folder < 0) ? -1 :
                 openat(folder, name, flags | O_NOFOLLOW | O_CLOEXEC, 0600);

    output_close(folder);
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
    struct statx mine, named;

    return output_look(fd, "", &mine) &&
           output_look(AT_FDCWD, path, &named) &&
           (mine.stx_ino == named.stx_ino) &&
           (mine.stx_dev_major == named.stx_dev_major) &&
           (mine.stx_dev_minor == named.stx_dev_minor);
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
            output_close(fd);
            return -1;
        }
        if (folder_is_current(fd, path)) {
            return fd;
        }
        close(fd);
    }
}
