/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UCT_FAULT_H_
#define UCT_FAULT_H_

#include <cstddef>
#include <string>
#include <vector>

/*
 * Faults under the module, from outside: the program stands before malloc and
 * its kin, before the C library's system calls, and before every verb that the
 * module looks up. A call counts when it comes from libuct_srd.so.0 itself (by
 * its return address); those of libefa, UCX and the emulator pass untouched.
 *
 * Not thread safe beyond atomic counters; x86-64. With sanitizers, whose
 * allocator stands there already, fault_has_malloc() says no.
 */

/* Names of the points that can fail: "malloc" and each verb, "ibv_reg_mr". */
std::vector<std::string> fault_points();

bool fault_has_malloc();

/* Let the n-th call (from 1) of `point` fail from now on, and `count - 1` after
 * it; `err` is what a verb reports (an errno value). n = 0: none. Resets the
 * counts. */
void fault_arm(const std::string &point, unsigned n, int err = 0,
               unsigned count = 1);
void fault_disarm();

/* Whether the armed call was met. */
bool fault_fired();

/* Calls since the last fault_arm or fault_disarm. */
unsigned long fault_calls(const std::string &point);

/* Things that the module must give back: its allocations, and objects of verbs
 * by kind. */
struct FaultBalance {
    long allocations;
    long bytes; /* in these */
    long verbs; /* contexts, domains, regions, queues, handles, channels */
};

FaultBalance fault_balance();

/* System calls and locks of the module since it was last asked, as text:
 * "write 2, pthread_mutex_lock 1"; empty when there was none. */
std::string fault_system_calls();

#endif
