/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded into a program that removes folders, or writes to a file in one:
 * when it has found that "plant" is one, and before it opens what is in there, a
 * symbolic link to $PLANT has the name; or what of the name is opened (of a
 * fabric: "...-plant") is, for that moment, $PLANT_MOUNT, which is mounted there;
 * or $PLANT_AWAY is unmounted, lazily, when a folder of that name has been opened:
 * the work of another user, of number 4242, who is quick.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static void plant(int folder, const char *path)
{
    const char *to = getenv("PLANT");
    const char *at = strstr(path, "plant");
    char name[300], away[310];
    int err = errno;

    if ((to != NULL) && (at != NULL) && ((at == path) || (at[-1] == '/')) &&
        ((at[5] == '\0') || (at[5] == '/'))) {
        snprintf(name, sizeof(name), "%.*s", (int)(at + 5 - path), path);
        snprintf(away, sizeof(away), "%s.away", name);
        if ((renameat(folder, name, folder, away) != 0) ||
            (symlinkat(to, folder, name) != 0)) {
            abort();
        }
        (void)!fchownat(folder, name, 4242, 4242, AT_SYMLINK_NOFOLLOW);
        unsetenv("PLANT");
    }
    errno = err;
}

/* Nonzero: $PLANT_MOUNT is mounted there, until umount2(). */
static int plant_mount(const char *path)
{
    const char *from = getenv("PLANT_MOUNT");

    if (from == NULL) {
        return 0;
    }
    if (mount(from, path, NULL, MS_BIND, NULL) != 0) {
        abort();
    }
    return 1;
}

/* A file in there, whose name was found good, or the folder itself, which then
 * is open. */
int open(const char *path, int flags, ...)
{
    int (*next)(const char *, int, ...) = dlsym(RTLD_NEXT, "open");
    const char *end = strrchr(path, '-');
    int mode, ret, mounted;
    va_list ap;

    va_start(ap, flags);
    mode = (flags & O_CREAT) ? va_arg(ap, int) : 0;
    va_end(ap);
    if (flags & O_CREAT) {
        plant(AT_FDCWD, path);
    }
    mounted = (end != NULL) && !strcmp(end, "-plant") && plant_mount(path);
    ret     = next(path, flags, mode);
    if (mounted) {
        (void)umount2(path, MNT_DETACH);
    }
    return ret;
}

int openat(int folder, const char *path, int flags, ...)
{
    int (*next)(int, const char *, int, ...) = dlsym(RTLD_NEXT, "openat");
    const char *away = getenv("PLANT_AWAY");
    char name[300];
    va_list ap;
    int mode, ret;

    va_start(ap, flags);
    mode = (flags & O_CREAT) ? va_arg(ap, int) : 0;
    va_end(ap);
    snprintf(name, sizeof(name), "/proc/self/fd/%d/%s", folder, path);
    if (!strcmp(path, "plant") && plant_mount(name)) {
        ret = next(folder, path, flags, mode);
        (void)umount2(name, MNT_DETACH);
        return ret;
    }
    ret = next(folder, path, flags, mode);
    if ((ret >= 0) && (flags & O_PATH)) {
        plant(folder, path);
        if ((away != NULL) && !strcmp(strrchr(away, '/') + 1, path)) {
            (void)umount2(away, MNT_DETACH);
        }
    }
    return ret;
}

int fstatat(int folder, const char *__restrict path,
            struct stat *__restrict st, int flags)
{
    int (*next)(int, const char *, struct stat *, int) =
            dlsym(RTLD_NEXT, "fstatat");
    int ret = next(folder, path, st, flags);

    plant(folder, path);
    return ret;
}

/* To others, that it failed says the same. */
int unlink(const char *path)
{
    int (*next)(const char *) = dlsym(RTLD_NEXT, "unlink");
    int ret                   = next(path);

    plant(AT_FDCWD, path);
    return ret;
}
