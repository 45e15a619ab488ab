/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded into a program that removes folders: when it has found that "plant"
 * is one, and before it opens it, a symbolic link to $PLANT has the name: the
 * work of another user who is quick.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void plant(int folder, const char *path)
{
    const char *to = getenv("PLANT");
    size_t length  = strlen(path);
    char away[300];
    int err = errno;

    if ((to != NULL) && (length >= 5) && !strcmp(path + length - 5, "plant")) {
        snprintf(away, sizeof(away), "%s.away", path);
        if ((renameat(folder, path, folder, away) != 0) ||
            (symlinkat(to, folder, path) != 0)) {
            abort();
        }
        unsetenv("PLANT");
    }
    errno = err;
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
