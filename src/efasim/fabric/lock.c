/* SPDX-License-Identifier: BSD-3-Clause */
#include "lock.h"
#include "fabric.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* The folder may be removed while we wait: then the file that we locked is no
 * longer the one with that name. */
static int lock_is_current(int fd, const char *file)
{
    struct stat mine, named;

    return (fstat(fd, &mine) == 0) && (stat(file, &named) == 0) &&
           (mine.st_ino == named.st_ino) && (mine.st_dev == named.st_dev);
}

int fabric_lock(const char *path, int wait)
{
    char file[FABRIC_PATH_MAX + 8];
    int fd, ret;

    snprintf(file, sizeof(file), "%s/lock", path);
    for (;;) {
        fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
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
        if (lock_is_current(fd, file)) {
            return fd;
        }
        close(fd);
    }
}

void fabric_unlock(int fd)
{
    close(fd);
}
