/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOP_HEADLINE_H_
#define TOP_HEADLINE_H_

#include "view.h"

#define HEADLINE_LENGTH 384
#define HEADLINE_LINES  10

typedef struct headline {
    char     line[HEADLINE_LINES][HEADLINE_LENGTH];
    unsigned count; /* of lines; 0: no cause is known */
    unsigned more;  /* causes without a line */
} headline_t;

/*
 * The causes known, one a line, the worst first: a process that is stopped;
 * that does not answer; then the network; a process that sleeps, or computes,
 * while others wait for it or, a rank, while others poll in vain; then a host
 * that stalls processes without any of this. A process that others wait for
 * comes before those that nobody waits for. If there is no cause: that the
 * program itself must be it. To be called before view_merge. 0, or -1: out of
 * memory.
 */
int headline_make(const view_t *view, headline_t *headline);

#endif
