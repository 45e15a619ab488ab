/* SPDX-License-Identifier: BSD-3-Clause */
#include "reach.h"
#include "pair.h"

#include <util/efa_status.h>

#include <stdio.h>
#include <string.h>

#define REACH_WAIT_S 5 /* a device that retries answers in less, or never */

/* Statuses other than silence are the probes' affair: they have names. */
static int reach_is_silence(int status)
{
    return (status < 0) || (status == EFA_STATUS_REMOTE_STOPPED) ||
           (status == EFA_STATUS_REMOTE_UNREACHED);
}

int st_reach_try(st_t *st, const char *peer, char *why, size_t size)
{
    st_pair_params_t params = {.rnr_retry = 7};
    st_result_t result      = {0};
    st_pair_t pair;
    double took;
    int status;

    if (st_pair_open(&pair, st, &result, &params) != 0) {
        snprintf(why, size, "%s", result.seen);
        return -1;
    }
    status = st_pair_status(&pair, REACH_WAIT_S, &took);
    st_pair_close(&pair);
    if (!reach_is_silence(status)) {
        return 0;
    }
    snprintf(why, size, "no packet reaches %.*s, tried for %.1f s: the "
             "security group must allow all traffic from and to itself, and "
             "both EFA interfaces must be in it and in the same subnet; no "
             "probe was run", (int)strcspn(peer, "\n"), peer, took);
    return -1;
}
