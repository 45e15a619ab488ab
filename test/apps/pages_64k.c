/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded, it is a kernel with pages of 64 kB, as some of aarch64 are, to a
 * program and its libraries: sysconf() says so, and mmap() has whole such pages
 * of a file, at addresses where one begins.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 65536 };

long __sysconf(int name);

/* malloc() has pages of the kernel's own: those around its first ones are there,
 * and its last ones are never used. */
__attribute__((constructor)) static void heap(void)
{
    char *first = (char*)((uintptr_t)sbrk(0) / PAGE * PAGE), *at;

    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TOP_PAD, 64 << 20);
    for (at = first - 4 * PAGE; at < first; at += 4096) {
        (void)syscall(SYS_mmap, at, 4096, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    }
}

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
