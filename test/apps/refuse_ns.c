/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded, it refuses what a machine may refuse to users who are not root.
 * REFUSE=user: user namespaces, as kernels without them, sysctl and seccomp do;
 * REFUSE=rights: all that one needs a right in them for, as AppArmor of Ubuntu
 * 24.04 does; REFUSE=statx: that call, as kernels before 4.11 do.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
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

long syscall(long number, ...)
{
    long (*next)(long, ...) = dlsym(RTLD_NEXT, "syscall");
    long of[6];
    va_list ap;
    int i;

    va_start(ap, number);
    for (i = 0; i < 6; ++i) {
        of[i] = va_arg(ap, long);
    }
    va_end(ap);
    if ((number == SYS_statx) && refused("statx")) {
        errno = ENOSYS;
        return -1;
    }
    return next(number, of[0], of[1], of[2], of[3], of[4], of[5]);
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
