/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_VFS_H_
#define BASE_VFS_H_

#include "base_types.h"

/*
 * Files of an interface in UCX's tree of files, in
 * uct/worker/ADDRESS/iface/ADDRESS/TRANSPORT: a file for each of its numbers
 * (base_counters.h), and the file "endpoints" with a line for each endpoint of
 * the user.
 *
 * UCX reads files in a thread of its own and holds no lock over an object
 * meanwhile, so a reader looks up under a lock of ours whether the interface is
 * still open; closing it, and creating and destroying endpoints, take the same
 * lock. The data path does not: a number in a file may be a moment old.
 */

/* The interface is complete; and: it is about to be closed. */
void base_vfs_open(base_iface_t *iface);
void base_vfs_close(base_iface_t *iface);

/* Around changes of the list iface->alive. */
void base_vfs_lock(void);
void base_vfs_unlock(void);

/* Calls `func` for each open interface, of any transport. The caller holds the
 * lock. */
void base_vfs_each(void (*func)(base_iface_t *iface));

/* vfs_refresh of the transports (provider.h). */
void base_vfs_refresh(uct_iface_h tl_iface);

#endif
