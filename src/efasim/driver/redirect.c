/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * UCX and others read fixed paths of /sys: those of InfiniBand's class, and
 * those of PCI functions, from which they learn which are near each other.
 */
#include "config.h"
#include "preload.h"

#include "efasim/fabric/fabric.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define REDIRECT_SYS "/sys"

/* All below such a path is emulated, or only what is there. */
static const struct {
    const char *path;
    int         all;
} redirect_paths[] = {
    { REDIRECT_SYS "/class/infiniband",  1 },
    { REDIRECT_SYS "/bus/pci/devices/",  0 },
    { REDIRECT_SYS "/devices/pci",       0 },
};

const char *drv_redirect(const char *path, char *buf, size_t size)
{
    const char *root;
    unsigned i;

    if ((path == NULL) ||
        strncmp(path, REDIRECT_SYS "/", sizeof(REDIRECT_SYS))) {
        return path;
    }

    root = drv_config_sysfs_root();
    for (i = 0; (*root != '\0') &&
                (i < sizeof(redirect_paths) / sizeof(redirect_paths[0]));
         ++i) {
        if (strncmp(path, redirect_paths[i].path,
                    strlen(redirect_paths[i].path))) {
            continue;
        }
        snprintf(buf, size, "%s%s", root, path + sizeof(REDIRECT_SYS) - 1);
        if (redirect_paths[i].all ||
            (PRELOAD_NEXT(access)(buf, F_OK) == 0)) {
            return buf;
        }
    }

    return path;
}

/* A path that was looked up below the emulated /sys is told as one of the real
 * /sys. */
static char *redirect_back(char *resolved)
{
    const char *root = drv_config_sysfs_root();
    size_t length    = strlen(root);

    if ((resolved != NULL) && !strncmp(resolved, root, length)) {
        memmove(resolved + sizeof(REDIRECT_SYS) - 1, resolved + length,
                strlen(resolved + length) + 1);
        memcpy(resolved, REDIRECT_SYS, sizeof(REDIRECT_SYS) - 1);
    }
    return resolved;
}

PRELOAD_EXPORT char *realpath(const char *path, char *resolved)
{
    char buf[FABRIC_PATH_MAX + 256];
    const char *to = drv_redirect(path, buf, sizeof(buf));
    char *ret      = PRELOAD_NEXT(realpath)(to, resolved);

    return (to == path) ? ret : redirect_back(ret);
}

/* The fortified form */
char *__realpath_chk(const char *path, char *resolved, size_t size);

PRELOAD_EXPORT char *__realpath_chk(const char *path, char *resolved,
                                    size_t size)
{
    char buf[FABRIC_PATH_MAX + 256];
    const char *to = drv_redirect(path, buf, sizeof(buf));
    char *ret      = PRELOAD_NEXT(__realpath_chk)(to, resolved, size);

    return (to == path) ? ret : redirect_back(ret);
}

/* Questions that ls and the like ask of a path before they open it */
#define REDIRECT(_type, _name, _parameters, _arguments) \
    PRELOAD_EXPORT _type _name _parameters \
    { \
        char buf[FABRIC_PATH_MAX + 256]; \
        \
        path = drv_redirect(path, buf, sizeof(buf)); \
        return PRELOAD_NEXT(_name) _arguments; \
    }

REDIRECT(DIR *, opendir, (const char *path), (path))
REDIRECT(ssize_t, readlink,
         (const char *__restrict path, char *__restrict to, size_t size),
         (path, to, size))
REDIRECT(int, lstat, (const char *path, struct stat *st), (path, st))
REDIRECT(int, lstat64, (const char *path, struct stat64 *st), (path, st))
REDIRECT(int, fstatat, (int dir, const char *__restrict path,
                        struct stat *__restrict st, int flags),
         (dir, path, st, flags))
REDIRECT(int, fstatat64, (int dir, const char *__restrict path,
                          struct stat64 *__restrict st, int flags),
         (dir, path, st, flags))
REDIRECT(int, statx,
         (int dir, const char *path, int flags, unsigned mask,
          struct statx *st), (dir, path, flags, mask, st))
REDIRECT(ssize_t, getxattr,
         (const char *path, const char *name, void *value, size_t size),
         (path, name, value, size))
REDIRECT(ssize_t, lgetxattr,
         (const char *path, const char *name, void *value, size_t size),
         (path, name, value, size))
REDIRECT(int, chdir, (const char *path), (path))
