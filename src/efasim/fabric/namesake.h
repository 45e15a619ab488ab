/* SPDX-License-Identifier: BSD-3-Clause */
/* A fabric of the same name that is another user's: two fabrics. */
#ifndef EFASIM_FABRIC_NAMESAKE_H
#define EFASIM_FABRIC_NAMESAKE_H

/* Nonzero if another user has a fabric of this name, or had one whose programs
 * were killed (only its owner can tell); then *uid is that user. */
int fabric_namesake(const char *name, unsigned *uid);

#endif
