/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded, it refuses what a machine may refuse to users who are not root.
 * REFUSE=user: user namespaces, as kernels without them, sysctl and seccomp do;
 * REFUSE=rights: all that one needs a right in them for, as AppArmor of Ubuntu
 * 24.04 does.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int refused(const char *what)
{
    const char *value = getenv("REFUSE");

    return (value != NULL) && !strcmp(value, what);
}

int unshare(int flags)
{
    if (((flags & CLONE_NEWUSER) && refused("user")) ||
        ((flags & ~CLONE_NEWUSER) && refused("rights"))) {
        errno = EPERM;
        return -1;
    }
    return syscall(SYS_unshare, flags);
}

int open(const char *path, int flags, ...)
{
    mode_t mode = 0;
    va_list ap;

    if (flags & (O_CREAT | O_TMPFILE)) {
        va_start(ap, flags);
        mode = va_arg(ap, mode_t);
        va_end(ap);
    }
    if (strstr(path, "/uid_map") && refused("rights")) {
        errno = EACCES;
        return -1;
    }
    return syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...) __attribute__((alias("open")));
