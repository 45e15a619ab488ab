/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded, it is a kernel with pages of 64 kB, as some of aarch64 are, to a
 * program and its libraries: sysconf() says so, and mmap() has whole such pages
 * of a file, at addresses where one begins.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 65536 };

long __sysconf(int name);

long sysconf(int name)
{
    return (name == _SC_PAGESIZE) ? PAGE : __sysconf(name);
}

int getpagesize(void)
{
    return PAGE;
}

void *mmap(void *addr, size_t size, int prot, int flags, int fd, off_t offset)
{
    uintptr_t base;

    if ((offset % PAGE != 0) || ((flags & MAP_FIXED) &&
                                 ((uintptr_t)addr % PAGE != 0))) {
        errno = EINVAL;
        return MAP_FAILED;
    }
    size = (size + PAGE - 1) / PAGE * PAGE;
    if (!(flags & MAP_FIXED)) {
        base = syscall(SYS_mmap, NULL, size + PAGE, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (base == (uintptr_t)MAP_FAILED) {
            return MAP_FAILED;
        }
        addr = (void*)((base + PAGE - 1) / PAGE * PAGE);
    }
    return (void*)syscall(SYS_mmap, addr, size, prot, flags | MAP_FIXED, fd,
                          offset);
}
