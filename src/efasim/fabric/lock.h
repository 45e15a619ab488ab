/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fabric's lock: flock() on its folder. The kernel drops it when the holder
 * ends, however it ends.
 */
#ifndef EFASIM_FABRIC_LOCK_H
#define EFASIM_FABRIC_LOCK_H

/* Take it. The folder's descriptor, or -1 with errno as of
 * fabric_folder_open(). With `wait` 0: EWOULDBLOCK when somebody holds it. */
int fabric_lock(const char *path, int wait);
void fabric_unlock(int fd);

#endif
