/* SPDX-License-Identifier: BSD-3-Clause */
/* Macros for the files that interpose functions of the C library. */
#ifndef EFASIM_DRIVER_PRELOAD_H
#define EFASIM_DRIVER_PRELOAD_H

#include <dlfcn.h>
#include <stddef.h>

#define PRELOAD_EXPORT  __attribute__((visibility("default")))

/* The next definition of a function, looked up once. */
#define PRELOAD_NEXT(_name) \
    ({ \
        static __typeof__(&_name) _next; \
        if (_next == NULL) { \
            _next = (__typeof__(&_name))dlsym(RTLD_NEXT, #_name); \
        } \
        _next; \
    })

/* The program closes fd, which may be one of its netlink sockets. */
void drv_netlink_close(int fd);

/*
 * The place in the emulated /sys for `path` of the real one, for programs that
 * do not ask for SYSFS_PATH: class/infiniband..., and the PCI functions that
 * are emulated. Any other path as it is.
 */
const char *drv_redirect(const char *path, char *buf, size_t size);

#endif
