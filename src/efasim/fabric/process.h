/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process is named by its number and start: numbers are used again. They are
 * those of a PID namespace: a container has others, and may share the fabric's
 * memory.
 */
#ifndef EFASIM_FABRIC_PROCESS_H
#define EFASIM_FABRIC_PROCESS_H

#include <stdint.h>

/*
 * The start of a process is its time in clock ticks since boot, and below that,
 * in these bits, what tells the program that it executes from the one before:
 * its memory is another, maybe another user's. They are 0 where that cannot be
 * seen, or does not matter.
 */
#define FABRIC_PROCESS_EXEC ((1ull << 28) - 1)

/* Whether the two are one process, whatever it executes. */
static inline int fabric_process_is_same(uint64_t start, uint64_t other)
{
    return ((start ^ other) & ~FABRIC_PROCESS_EXEC) == 0;
}

/*
 * 1: pid runs and is the process of this start in the PID namespace `ns`; or it
 * cannot be seen from here, as that is another namespace or /proc is not
 * mounted: then its owner must look after it.
 * SIM_ALIVE_STOPPED: it is that process, and is stopped.
 */
int fabric_process_is_alive(int pid, uint64_t start, uint64_t ns);

/*
 * 0; or this process has the memory of another and acts for that, whose number
 * it is (driver/standby.h). Then a descriptor is the other's:
 * fabric_process_fd() is a copy, which fabric_process_fd_end() closes.
 */
extern __thread int fabric_process_owner
        __attribute__((tls_model("initial-exec")));
int fabric_process_fd(int fd);
void fabric_process_fd_end(int fd);

/* Inode of the PID namespace of this process; 0: unknown. */
uint64_t fabric_process_ns(void);

/* 0: no such process. */
uint64_t fabric_process_start(int pid);

/* The number by which a user knows this process. */
int fabric_process_self(void);

/* 0, or -1 with EFBIG: the user's limit on file sizes is less, beyond which
 * ftruncate() ends the process (SIGXFSZ). */
int fabric_process_check_size(uint64_t size);

/* A sentence's end: which of the user's limits `err` comes from. */
const char *fabric_process_advice(int err);

#endif
