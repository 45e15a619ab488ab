/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOP_HEADLINE_H_
#define TOP_HEADLINE_H_

#include "view.h"

#define HEADLINE_LENGTH 256

/*
 * One line on the worst state known: a process that is stopped; that does not
 * answer; that sleeps while others wait for it, or, as a rank, while others
 * poll in vain; else the network, or the host that stalls most processes. One
 * that others wait for comes first; that without traffic for longest stands for
 * others in its state. Empty: nothing of that. To be called before view_merge.
 * 0, or -1: out of memory.
 */
int headline_make(const view_t *view, char text[HEADLINE_LENGTH]);

#endif
