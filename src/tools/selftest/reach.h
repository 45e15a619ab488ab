/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether the other host can be reached at all, before probes wait for it. */
#ifndef SRD_SELFTEST_REACH_H_
#define SRD_SELFTEST_REACH_H_

#include "selftest.h"

/* Sends one message over st->link and waits up to 5 s for its completion. 0:
 * the network carries packets to @peer, the name that the user gave (how well
 * is up to the probes). -1: none arrives; @why says so, and the remedy. */
int st_reach_try(st_t *st, const char *peer, char *why, size_t size);

#endif
