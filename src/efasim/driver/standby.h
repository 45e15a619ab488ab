/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A card lives on while its process is stopped (SIGSTOP, a debugger). Here a
 * second process does the work then, which has this one's memory and nothing
 * else of it: the standby. It sleeps while its owner runs.
 */
#ifndef EFASIM_DRIVER_STANDBY_H
#define EFASIM_DRIVER_STANDBY_H

/* Once in a process: start it. Without it (Linux before 5.9, valgrind, qemu's
 * emulation of programs) a stopped process's device stands still. */
void drv_standby_start(void);

/* At the program's end: the standby has ended, too. */
void drv_standby_end(void);

/* 1: this thread has a capability (CAP_IPC_LOCK, ...), as the kernel asks
 * before it locks memory beyond a limit or takes a privileged QKEY. */
int drv_privilege_has(unsigned capability);

#endif
