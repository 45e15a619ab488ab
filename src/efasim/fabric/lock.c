/* SPDX-License-Identifier: BSD-3-Clause */
#include "lock.h"
#include "folder.h"

#include <errno.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* The folder may be removed while we wait: then the one that we locked is no
 * longer the one with that name. */
static int lock_is_current(int fd, const char *path)
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
            ret = errno;
            close(fd);
            errno = ret;
            return -1;
        }
        if (lock_is_current(fd, path)) {
            return fd;
        }
        close(fd);
    }
}

void fabric_unlock(int fd)
{
    close(fd);
}
