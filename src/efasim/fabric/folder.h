/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The folder of a fabric lies where anybody may make a folder or a link of any
 * name. It is therefore opened once for each thing that is done in there, and
 * believed only if it is no link, belongs to this user, and nobody else can
 * write to it; all that is in it is then reached from that descriptor. (None is
 * kept open: programs close descriptors that they do not know.)
 */
#ifndef EFASIM_FABRIC_FOLDER_H
#define EFASIM_FABRIC_FOLDER_H

/* With which a folder is opened */
#define FABRIC_FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* A descriptor, or -1 with errno; ENOENT: there is none; EPERM: what has that
 * name is not to be believed, see fabric_folder_say(). */
int fabric_folder_open(const char *path);

/* Why `path` was refused, whose it is, and what to do: a line, valid until this
 * thread's next call. */
const char *fabric_folder_say(const char *path);

/* Take the fabric's lock: flock() on its folder. The kernel drops it when the
 * holder ends, however it ends. The folder's descriptor, whose close gives the
 * lock back, or -1 with errno as of fabric_folder_open(). With `wait` 0:
 * EWOULDBLOCK when somebody holds it. */
int fabric_lock(const char *path, int wait);

/* A file in the folder at `path`, with the flags of open(); -1 with errno. */
int fabric_folder_file(const char *path, const char *name, int flags);

/* Remove what is in it and begins with `prefix` ("": all): of a link, not what
 * it leads to. */
void fabric_folder_empty(int folder, const char *prefix);

#endif
