/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFASIM_DRIVER_PRIVILEGE_H
#define EFASIM_DRIVER_PRIVILEGE_H

/* 1: this thread has a capability (CAP_IPC_LOCK, ...), as the kernel asks
 * before it locks memory beyond a limit or takes a privileged QKEY. */
int drv_privilege_has(unsigned capability);

#endif
