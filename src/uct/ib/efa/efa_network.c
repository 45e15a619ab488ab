/* SPDX-License-Identifier: BSD-3-Clause */
#include "efa_network.h"
#include "efa_device.h"

#include <limits.h>
#include <stdio.h>

const char *const efa_network_names[EFA_NETWORK_COUNT] = {
#define EFA_NETWORK_NAME(_name, _file, _event) [EFA_NETWORK_##_name] = _file,
    EFA_NETWORK_COUNTERS(EFA_NETWORK_NAME)
};

const char *const efa_network_events[EFA_NETWORK_COUNT] = {
#define EFA_NETWORK_EVENT(_name, _file, _event) [EFA_NETWORK_##_name] = _event,
    EFA_NETWORK_COUNTERS(EFA_NETWORK_EVENT)
};

int efa_network_number(const char *path, uint64_t *value)
{
    unsigned long long number;
    char               text[32];

    if ((efa_file_read(path, text, sizeof(text)) != 0) ||
        (sscanf(text, "%llu", &number) != 1)) {
        return -1;
    }
    *value = number;
    return 0;
}

int efa_network_read(const char *device, efa_network_t *network)
{
    char     path[PATH_MAX];
    unsigned i;

    for (i = 0; i < EFA_NETWORK_COUNT; ++i) {
        snprintf(path, sizeof(path),
                 "%s/class/infiniband/%s/ports/1/hw_counters/%s",
                 efa_sysfs_root(), device, efa_network_names[i]);
        if (efa_network_number(path, &network->value[i]) != 0) {
            return -1;
        }
    }
    return 0;
}

void efa_network_describe(const efa_network_t *network,
                          char text[EFA_NETWORK_TEXT])
{
    const uint64_t *value = network->value;
    const char     *sign  = ", with";
    int             used;
    unsigned        i;

    used = (value[EFA_NETWORK_PACKETS] == 0) ?
           snprintf(text, EFA_NETWORK_TEXT,
                    "the network retransmitted no packet") :
           snprintf(text, EFA_NETWORK_TEXT,
                    "the network retransmitted %llu packets (%llu bytes)",
                    (unsigned long long)value[EFA_NETWORK_PACKETS],
                    (unsigned long long)value[EFA_NETWORK_BYTES]);
    for (i = EFA_NETWORK_TIMEOUTS; i < EFA_NETWORK_COUNT; ++i) {
        if (value[i] > 0) {
            used += snprintf(text + used, EFA_NETWORK_TEXT - used,
                             "%s %llu %s", sign, (unsigned long long)value[i],
                             efa_network_events[i]);
            sign = ",";
        }
    }
}
