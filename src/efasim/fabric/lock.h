/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fabric's lock: flock() on a file in its folder. The kernel drops it when
 * the holder ends, however it ends.
 */
#ifndef EFASIM_FABRIC_LOCK_H
#define EFASIM_FABRIC_LOCK_H

/* Take it. A descriptor, or -1 with errno. With `wait` 0: EWOULDBLOCK when
 * somebody holds it. */
int fabric_lock(const char *path, int wait);
void fabric_unlock(int fd);

#endif
