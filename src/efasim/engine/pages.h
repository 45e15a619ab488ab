/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that the device takes while the program posts and polls. It may do so
 * in a signal handler that interrupted malloc: so it comes from the kernel, and
 * by the bare system call, as UCX stands in front of mmap.
 */
#ifndef EFASIM_ENGINE_PAGES_H
#define EFASIM_ENGINE_PAGES_H

#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Zeroed memory in whole pages. NULL: none. */
static inline void *sim_pages_alloc(size_t size)
{
    long address = syscall(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return (address == -1) ? NULL : (void*)address;
}

static inline void sim_pages_free(void *pages, size_t size)
{
    if (pages != NULL) {
        syscall(SYS_munmap, pages, size);
    }
}

#endif
