/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFA_RANDOM_H_
#define EFA_RANDOM_H_

#include <stddef.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#if __GLIBC_PREREQ(2, 25)
#include <sys/random.h>
#else
/* The kernel has it from 3.17 on. */
#define getrandom(_buffer, _size, _flags)                                      \
    syscall(SYS_getrandom, _buffer, _size, _flags)
#endif

/* Random bytes of the kernel's; 0 or -1. */
static inline int efa_random(void *buffer, size_t size)
{
    return getrandom(buffer, size, 0) == (ssize_t)size ? 0 : -1;
}

#endif
