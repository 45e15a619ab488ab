/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interposed C library functions: just enough for libibverbs and libefa
 * to find and open a device that is not there. Everything else goes straight
 * through, and without EFASIM_FABRIC all of it does.
 */
#include "cmds.h"
#include "config.h"
#include "context.h"
#include "lock.h"
#include "preload.h"

#include "efasim/fabric/process.h"
#include "efasim/fabric/sysfs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define PRELOAD_CDEV    "/dev/infiniband/" FABRIC_UVERBS_NAME
#define PRELOAD_IB      "/infiniband/"

/* The device of the host whose character device this is; -1: none. */
static int preload_cdev(const char *path)
{
    char file[FABRIC_PATH_MAX + 64], *end;
    const char *number;
    unsigned long device;

    if ((path == NULL) || strncmp(path, PRELOAD_CDEV,
                                  sizeof(PRELOAD_CDEV) - 1)) {
        return -1;
    }

    number = path + sizeof(PRELOAD_CDEV) - 1;
    device = strtoul(number, &end, 10);
    if ((*number < '0') || (*number > '9') || (*end != '\0') ||
        (device >= SIM_DEVICES) || !drv_config_is_enabled()) {
        return -1;
    }

    snprintf(file, sizeof(file), "%s/class/infiniband_verbs/"
             FABRIC_UVERBS_NAME "%lu/dev", drv_config_sysfs_root(), device);
    return (PRELOAD_NEXT(access)(file, F_OK) == 0) ? (int)device : -1;
}

/* The device that a path below the emulated /sys is about; -1: none. */
static int preload_sysfs_device(const char *path)
{
    const char *name = strstr(path, PRELOAD_IB), *next;

    while (name != NULL) { /* the last one: folders above may have the name */
        name += sizeof(PRELOAD_IB) - 1;
        next  = strstr(name, PRELOAD_IB);
        if (next == NULL) {
            return fabric_sysfs_device_find(name, strcspn(name, "/"));
        }
        name = next;
    }

    return -1;
}

/* A hw_counters file of an emulated host: its content, made now, in a
 * descriptor of its own. -1: the path is none. */
static int preload_open_counter(const char *path)
{
    const char *root, *name, *node;
    struct fabric *fabric;
    char text[32], dir[FABRIC_PATH_MAX];
    uint64_t value;
    int fd = -1, device;

    if ((path == NULL) || !strstr(path, "/hw_counters/")) {
        return -1;
    }
    root = drv_config_sysfs_root();
    if ((*root == '\0') || strncmp(path, root, strlen(root))) {
        return -1;
    }

    device = preload_sysfs_device(path);
    name   = strrchr(path, '/') + 1;
    node   = strrchr(root, '/');
    if ((node == NULL) || strncmp(node, "/node", 5) || (node[5] < '0') ||
        (node[5] >= '0' + SIM_HOSTS) || (device < 0)) {
        return -1;
    }

    snprintf(dir, sizeof(dir), "%.*s", (int)(node - root), root);
    fabric = fabric_open(dir, 0, -1);
    if (fabric == NULL) {
        return -1;
    }
    if ((fabric_process_check_size(sizeof(text)) == 0) &&
        (fabric_counter(fabric, dir_nic_of(node[5] - '0', device), name,
                        &value) == 0)) {
        snprintf(text, sizeof(text), "%llu\n", (unsigned long long)value);
        fd = drv_memfd("hw_counter", MFD_CLOEXEC);
        if ((fd >= 0) && (pwrite(fd, text, strlen(text), 0) < 0)) {
            close(fd);
            fd = -1;
        }
    }

    fabric_forget(fabric);
    return fd;
}

/* The common part of all forms of open(). Returns -2: go on with *path; else
 * the answer. */
static int preload_open(const char **path, int flags, char *buf, size_t size)
{
    int fd, device;

    if (drv_lock_inside) {
        return -2;
    }
    device = preload_cdev(*path);
    if (device >= 0) {
        return drv_ctx_open(device, flags);
    }

    *path = drv_redirect(*path, buf, size);
    if ((flags & O_ACCMODE) != O_RDONLY) {
        return -2;
    }

    drv_lock_inside = DRV_LOCK_DATA;
    fd         = preload_open_counter(*path);
    drv_lock_inside = DRV_LOCK_OUTSIDE;
    return (fd >= 0) ? fd : -2;
}

#define PRELOAD_MODE(_flags, _mode) \
    do { \
        _mode = 0; \
        if (__OPEN_NEEDS_MODE(_flags)) { \
            va_list _ap; \
            va_start(_ap, _flags); \
            _mode = va_arg(_ap, mode_t); \
            va_end(_ap); \
        } \
    } while (0)

/* An interposed function: its parameters, and its arguments to the next one. */
#define PRELOAD_OPEN(_name, _parameters, _arguments) \
    PRELOAD_EXPORT int _name _parameters \
    { \
        char buf[FABRIC_PATH_MAX + 256]; \
        mode_t mode; \
        int fd; \
        \
        PRELOAD_MODE(flags, mode); \
        fd = preload_open(&path, flags, buf, sizeof(buf)); \
        return (fd != -2) ? fd : PRELOAD_NEXT(_name) _arguments; \
    }

PRELOAD_OPEN(open, (const char *path, int flags, ...), (path, flags, mode))
PRELOAD_OPEN(open64, (const char *path, int flags, ...), (path, flags, mode))
PRELOAD_OPEN(openat, (int dir, const char *path, int flags, ...),
             (dir, path, flags, mode))
PRELOAD_OPEN(openat64, (int dir, const char *path, int flags, ...),
             (dir, path, flags, mode))

/* The fortified forms, for which there is no declaration. None of ours calls
 * another by its name: that may be a sanitizer's, which calls the other. */
#define PRELOAD_OPEN_2(_name, _plain) \
    int _name(const char *path, int flags); \
    PRELOAD_EXPORT int _name(const char *path, int flags) \
    { \
        char buf[FABRIC_PATH_MAX + 256]; \
        int fd = preload_open(&path, flags, buf, sizeof(buf)); \
        \
        return (fd != -2) ? fd : PRELOAD_NEXT(_plain)(path, flags); \
    }

PRELOAD_OPEN_2(__open_2, open)
PRELOAD_OPEN_2(__open64_2, open64)

/* Make a memfd, or the missing device file, look like the character device. */
#define PRELOAD_CDEV_STAT(_st, _device) \
    do { \
        (_st)->st_mode  = S_IFCHR | 0666; \
        (_st)->st_rdev  = makedev(FABRIC_UVERBS_MAJOR, \
                                  FABRIC_UVERBS_MINOR + (_device)); \
        (_st)->st_nlink = 1; \
    } while (0)

#define PRELOAD_STAT(_name, _struct) \
    static int preload_##_name(const char *path, struct _struct *st) \
    { \
        int device = drv_lock_inside ? -1 : preload_cdev(path); \
        char buf[FABRIC_PATH_MAX + 256]; \
        \
        if (device >= 0) { \
            memset(st, 0, sizeof(*st)); \
            PRELOAD_CDEV_STAT(st, device); \
            return 0; \
        } \
        path = drv_redirect(path, buf, sizeof(buf)); \
        return PRELOAD_NEXT(_name)(path, st); \
    } \
    \
    PRELOAD_EXPORT int _name(const char *path, struct _struct *st) \
    { \
        return preload_##_name(path, st); \
    }

#define PRELOAD_FSTAT(_name, _struct) \
    static int preload_##_name(int fd, struct _struct *st) \
    { \
        int ret                   = PRELOAD_NEXT(_name)(fd, st); \
        const struct drv_ctx *ctx = (ret == 0) ? drv_ctx_find(fd) : NULL; \
        \
        if (ctx != NULL) { \
            PRELOAD_CDEV_STAT(st, ctx->dev->index); \
        } \
        return ret; \
    } \
    \
    PRELOAD_EXPORT int _name(int fd, struct _struct *st) \
    { \
        return preload_##_name(fd, st); \
    }

PRELOAD_STAT(stat, stat)
PRELOAD_STAT(stat64, stat64)
PRELOAD_FSTAT(fstat, stat)
PRELOAD_FSTAT(fstat64, stat64)

/* The forms that programs built with glibc before 2.33 call */
int __xstat(int version, const char *path, struct stat *st);
int __fxstat(int version, int fd, struct stat *st);

PRELOAD_EXPORT int __xstat(int version, const char *path, struct stat *st)
{
    (void)version;
    return preload_stat(path, st);
}

PRELOAD_EXPORT int __fxstat(int version, int fd, struct stat *st)
{
    (void)version;
    return preload_fstat(fd, st);
}

PRELOAD_EXPORT int access(const char *path, int mode)
{
    int device = drv_lock_inside ? -1 : preload_cdev(path);
    char buf[FABRIC_PATH_MAX + 256];

    if (device >= 0) {
        if ((drv.device[device].knobs.refuse_open != 0) &&
            ((mode != F_OK) ||
             (drv.device[device].knobs.refuse_open == ENOENT))) {
            errno = drv.device[device].knobs.refuse_open;
            return -1;
        }
        return 0;
    }

    path = drv_redirect(path, buf, sizeof(buf));
    return PRELOAD_NEXT(access)(path, mode);
}

PRELOAD_EXPORT int ioctl(int fd, unsigned long request, ...)
{
    struct drv_ctx *ctx;
    va_list ap;
    void *arg;
    int ret;

    va_start(ap, request);
    arg = va_arg(ap, void*);
    va_end(ap);

    if (request == RDMA_VERBS_IOCTL) {
        ctx = drv_ctx_find(fd);
        if (ctx != NULL) {
            ret = drv_ioctl(ctx, arg);
            if (ret != 0) {
                errno = -ret;
                return -1;
            }
            return 0;
        }
    }

    return PRELOAD_NEXT(ioctl)(fd, request, arg);
}

PRELOAD_EXPORT int close(int fd)
{
    __typeof__(&close) next = PRELOAD_NEXT(close);

    drv_ctx_close(fd);
    drv_netlink_close(fd);
    return next ? next(fd) : (int)syscall(SYS_close, fd);
}
