/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files that a user names for what a program writes: traces, counters, reports.
 * In a folder that is another user's, or that all may write to (/tmp), somebody
 * may have put a link or a file of his own under that name: there a file is
 * made, or is one of this user; a link is not followed. Nor is, anywhere, a
 * folder of the name that is another user's link. One's own link is followed to
 * such a name, too.
 */
#ifndef FILES_OUTPUT_H_
#define FILES_OUTPUT_H_

#include <stdio.h>

struct statx; /* <linux/stat.h> */

/* The folder that a file's name is in, reached part by part: it stays the one
 * that was looked at, whatever others then rename. *name_p: the name in there,
 * "" if the path ends with a slash. A descriptor for openat() and the like; -1
 * with errno; EPERM: a link of another user's is on the way, or his mount;
 * ENOSYS: whose mount it is cannot be told without /proc. */
int output_folder(const char *path, const char **name_p);

/* Closes it, if there is one (-1: none); errno stays as it was. */
void output_close(int fd);

/* Looks at a name, which may be a link ("": at `dir` itself), and asks no file
 * system: another user's (FUSE) may never answer. (It does where Linux before
 * 4.11, or seccomp, leaves nothing else.) Nonzero: it is there; *st has its
 * mode, user, number and device. */
int output_look(int dir, const char *name, struct statx *st);

/* Removes a file; nothing else, and none that a link leads to. */
void output_remove(const char *path);

/* Nonzero: each user may make names in this folder, as in /tmp: what a program
 * looks for there may be anyone's. */
int output_is_public(const char *folder);

/* For writing, made if it is not there; flags: O_TRUNC, O_APPEND. -1 with
 * errno; EPERM: what is there was put there by somebody else. */
int output_open(const char *path, int flags);

/* The same as a stream; NULL with errno. */
FILE *output_file(const char *path, int flags);

/* The errno of one of these in words. */
const char *output_error(int err);

#endif
