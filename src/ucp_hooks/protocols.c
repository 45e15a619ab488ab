/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * UCP compares protocols by these, and tells no transport. Its rates of copying
 * stand in ucp/core/ucp_context.c and, until 1.17, ucs/arch/cpu.c.
 */
#include <strings.h>

#include "calls.h"

enum {
    NEW_PROTOCOLS_MINOR = 16, /* has them on */
    OLD_RATES_MINOR     = 15, /* has rates of their own for the old protocols */
    CPU_VENDOR_AMD      = 2   /* UCS_CPU_VENDOR_AMD, in all minors */
};

#define MBS          1048576.0
#define RATE         (7000 * MBS)
#define RATE_OLD     (5800 * MBS)
#define RATE_OLD_AMD (5008 * MBS)

int ucx_has_new_protocols(const ucx_host_t *host)
{
    static const char *const yes[] = {"y", "yes", "on", "1", "try"};
    const char *value = ucx_setting("PROTO_ENABLE");
    unsigned i;

    if (value == NULL) {
        return host->minor >= NEW_PROTOCOLS_MINOR;
    }
    for (i = 0; i < sizeof(yes) / sizeof(yes[0]); ++i) {
        if (!strcasecmp(value, yes[i])) {
            return 1;
        }
    }
    return 0;
}

double ucx_copy_rate(const ucx_host_t *host)
{
    const ucx_calls_t *calls = host->calls;
    const char *value        = ucx_setting("BCOPY_BW");
    double rate;

    if ((value != NULL) && (calls->read_bandwidth != NULL) &&
        (calls->read_bandwidth(value, &rate, NULL) == 1) && (rate > 0)) {
        return rate; /* "auto" is less than 0 */
    }
    if ((host->minor >= OLD_RATES_MINOR) && !ucx_has_new_protocols(host)) {
        return ((calls->cpu_vendor != NULL) &&
                (calls->cpu_vendor() == CPU_VENDOR_AMD)) ?
               RATE_OLD_AMD : RATE_OLD;
    }
    return (calls->cpu_copy_rate != NULL) ? calls->cpu_copy_rate() : RATE;
}
