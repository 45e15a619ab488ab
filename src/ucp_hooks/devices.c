/* SPDX-License-Identifier: BSD-3-Clause */
#include "devices.h"

#include <string.h>

#include "tls.h"

enum {
    DEVICES_MOST  = 16, /* what UCX has by default from this minor on */
    DEVICES_MINOR = 19
};

/* The order stays among those that are chosen, and among the others. */
static unsigned devices_chosen_first(char (*names)[UCT_MD_NAME_MAX],
                                     unsigned count)
{
    char name[UCT_MD_NAME_MAX];
    unsigned i, chosen = 0;

    for (i = 0; i < count; ++i) {
        if (tls_may_use_md(names[i])) {
            memcpy(name, names[i], sizeof(name));
            memmove(names[chosen + 1], names[chosen],
                    (i - chosen) * sizeof(*names));
            memcpy(names[chosen++], name, sizeof(name));
        }
    }
    return chosen;
}

static void devices_say(const ucx_host_t *host, unsigned count,
                        int is_users_choice)
{
    static int said;

    if (is_users_choice || (tls_first_of_ours(host) == NULL)) {
        host_debug(host, "%u EFA devices, UCX 1.%u gets %u", count,
                   host->minor, DEVICES_MOST);
    } else if (!__atomic_exchange_n(&said, 1, __ATOMIC_RELAXED)) {
        host_warn(host, "%u EFA devices, of which UCX 1.%u gets %u, as it "
                  "fails in programs with more than 32 memory domains: choose "
                  "them by UCX_NET_DEVICES, or take UCX 1.19 or newer with "
                  "UCX_MAX_COMPONENT_MDS=32", count, host->minor,
                  DEVICES_MOST);
    }
}

unsigned ucx_devices_offer(const ucx_host_t *host,
                           char (*names)[UCT_MD_NAME_MAX], unsigned count)
{
    unsigned chosen = devices_chosen_first(names, count), i;

    if ((host->minor >= DEVICES_MINOR) || (count <= DEVICES_MOST) ||
        tls_asks_only_for_ours(0)) {
        return count;
    }
    for (i = 1; (chosen > DEVICES_MOST) && (i < DEVICES_MOST); ++i) {
        memcpy(names[i], names[i * chosen / DEVICES_MOST], sizeof(*names));
    }
    devices_say(host, count, chosen < count);
    return DEVICES_MOST;
}
