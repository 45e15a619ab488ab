/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process is named by its number and start time: numbers are used again. They
 * are those of a PID namespace: a container has others, and may share the
 * fabric's memory.
 */
#ifndef EFASIM_FABRIC_PROCESS_H
#define EFASIM_FABRIC_PROCESS_H

#include "efasim/engine/dir.h"

#include <stdint.h>

/*
 * 1: pid runs and is the process that started at start_time in the PID
 * namespace `ns`; or it cannot be seen from here, as that is another namespace
 * or /proc is not mounted: then its owner must look after it.
 * SIM_ALIVE_STOPPED: it is that process, and is stopped.
 */
int fabric_process_is_alive(int pid, uint64_t start_time, uint64_t ns,
                            struct dir_mark mark);

/* The mark of this process. */
struct dir_mark fabric_process_mark(void);

/* 0: what a process of this PID namespace executes by now is another program
 * than the one of this mark: its memory is another, maybe another user's. */
int fabric_process_has(int pid, struct dir_mark mark);

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

/* Start time of a process in clock ticks since boot; 0: no such process. */
uint64_t fabric_process_start(int pid);

/* The number by which a user knows this process. */
int fabric_process_self(void);

/* 0, or -1 with EFBIG: the user's limit on file sizes is less, beyond which
 * ftruncate() ends the process (SIGXFSZ). */
int fabric_process_check_size(uint64_t size);

/* A sentence's end: which of the user's limits `err` comes from. */
const char *fabric_process_advice(int err);

#endif
