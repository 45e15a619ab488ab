/* SPDX-License-Identifier: BSD-3-Clause */
/* A process is named by its number and start time: numbers are used again. */
#ifndef EFASIM_FABRIC_PROCESS_H
#define EFASIM_FABRIC_PROCESS_H

#include <stdint.h>

/* 1: pid runs and is the process that started at start_time. */
int fabric_process_is_alive(int pid, uint64_t start_time);

/* Start time of a process in clock ticks since boot; 0: no such process. */
uint64_t fabric_process_start(int pid);

#endif
