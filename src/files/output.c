/* SPDX-License-Identifier: BSD-3-Clause */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The folder that the name is in; 0, or -1: open() will say why. */
static int output_folder(const char *path, struct stat *folder)
{
    const char *slash = strrchr(path, '/');
    size_t length     = (slash == NULL) ? 0 : (size_t)(slash - path) + 1;
    char name[PATH_MAX];

    if (length >= sizeof(name) - 1) {
        return -1;
    }
    memcpy(name, path, length);
    strcpy(name + length, ".");
    return stat(name, folder);
}

/* Neither this user nor root, who is the owner of "/", also in a user namespace
 * without root. */
static int output_is_other(uid_t user)
{
    struct stat top;

    return (user != geteuid()) &&
           ((stat("/", &top) != 0) || (user != top.st_uid));
}

/* Nonzero: a folder on the way is another user's link. */
static int output_is_led(const char *path)
{
    const char *slash;
    char name[PATH_MAX];
    struct stat part;

    for (slash = strchr(path, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        if ((size_t)(slash - path) >= sizeof(name)) {
            return 1;
        }
        memcpy(name, path, (size_t)(slash - path));
        name[slash - path] = '\0';
        if ((lstat(name, &part) == 0) && S_ISLNK(part.st_mode) &&
            output_is_other(part.st_uid)) {
            return 1;
        }
    }
    return 0;
}

/* Nonzero: others may make a name there, but for those of this user's own
 * group. */
static int output_is_shared(const struct stat *folder)
{
    return (folder->st_mode & S_IWOTH) ||
           ((folder->st_mode & S_IWGRP) && (folder->st_gid != getegid())) ||
           output_is_other(folder->st_uid);
}

/* A file of this user, or of him whose alone the folder is; another name of it
 * elsewhere would be a link. */
static int output_is_own(int fd, const struct stat *folder)
{
    struct stat file;

    return (fstat(fd, &file) == 0) && S_ISREG(file.st_mode) &&
           (file.st_nlink == 1) &&
           ((file.st_uid == geteuid()) ||
            (!(folder->st_mode & (S_IWOTH | S_IWGRP)) &&
             (file.st_uid == folder->st_uid)));
}

int output_open(const char *path, int flags)
{
    const int create = O_WRONLY | O_CREAT | O_CLOEXEC;
    struct stat folder;
    int fd;

    if (output_is_led(path)) {
        errno = EPERM;
        return -1;
    }
    if ((output_folder(path, &folder) != 0) || !output_is_shared(&folder)) {
        return open(path, create | flags, 0666);
    }

    fd = open(path, create | O_NOFOLLOW | O_NONBLOCK | (flags & ~O_TRUNC),
              0666);
    if ((fd >= 0) && output_is_own(fd, &folder) &&
        (!(flags & O_TRUNC) || (ftruncate(fd, 0) == 0))) {
        return fd;
    }
    if (fd >= 0) {
        close(fd);
        errno = EPERM;
    } else if ((errno == ELOOP) || (errno == ENXIO)) {
        errno = EPERM;
    }
    return -1;
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
                            "where others may write" : strerror(err);
}
