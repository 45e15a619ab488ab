/* SPDX-License-Identifier: BSD-3-Clause */
#include "network.h"

#include <uct/ib/efa/efa_clock.h>

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The device of this name as it was read last; NULL: it is new. */
static const network_device_t *
network_find(const network_t *network, const char *name)
{
    unsigned i;

    for (i = 0; i < network->count; ++i) {
        if (!strcmp(network->list[i].name, name)) {
            return &network->list[i];
        }
    }
    return NULL;
}

static void
network_add(network_t *network, const char *name, const network_t *before)
{
    network_device_t       *one = &network->list[network->count];
    const network_device_t *was = network_find(before, name);
    unsigned                i;

    if ((name[0] == '.') || (network->count == NETWORK_DEVICES) ||
        (strlen(name) >= sizeof(one->name)) ||
        (efa_network_read(name, &one->total) != 0)) {
        return;
    }
    strcpy(one->name, name);
    for (i = 0; i < EFA_NETWORK_COUNT; ++i) {
        one->grown.value[i] = (was == NULL) ? 0 :
                              one->total.value[i] - was->total.value[i];
    }
    ++network->count;
}

void network_read(network_t *network)
{
    static network_t before; /* too large for the stack */
    char             path[PATH_MAX];
    struct dirent  **names;
    int              count, i;

    before = *network;
    memset(network, 0, sizeof(*network));
    network->when    = efa_clock();
    network->seconds = (double)(network->when - before.when) / 1e9;
    snprintf(path, sizeof(path), "%s/class/infiniband", efa_sysfs_root());
    count = scandir(path, &names, NULL, alphasort);
    for (i = 0; i < count; ++i) {
        network_add(network, names[i]->d_name, &before);
        free(names[i]);
    }
    if (count >= 0) {
        free(names);
    }
}

static int network_is_quiet(const efa_network_t *grown)
{
    unsigned i;

    for (i = 0; i < EFA_NETWORK_COUNT; ++i) {
        if (grown->value[i] != 0) {
            return 0;
        }
    }
    return 1;
}

unsigned network_show(const network_t *network)
{
    efa_network_t none  = {{0}};
    unsigned      found = 0, i;
    char          text[EFA_NETWORK_TEXT];

    for (i = 0; i < network->count; ++i) {
        if (!network_is_quiet(&network->list[i].grown) &&
            (++found <= NETWORK_LINES)) {
            efa_network_describe(&network->list[i].grown, text);
            printf("%s: within %.1f s %s\n", network->list[i].name,
                   network->seconds, text);
        }
    }
    if (found > NETWORK_LINES) {
        printf("%u devices more whose network retransmitted\n",
               found - NETWORK_LINES);
        return NETWORK_LINES + 1;
    }
    if ((found == 0) && (network->count > 0)) {
        efa_network_describe(&none, text);
        printf("within %.1f s %s\n", network->seconds, text);
        return 1;
    }
    return found;
}

void network_json(json_t *json, const network_t *network)
{
    const network_device_t *one;
    unsigned                i;

    json_array(json, "devices");
    for (i = 0; i < network->count; ++i) {
        one = &network->list[i];
        json_object(json, NULL);
        json_text(json, "name", one->name);
        json_number(json, "packets_retransmitted_per_second",
                    (double)one->grown.value[EFA_NETWORK_PACKETS] /
                            network->seconds);
        json_counts(json, "counters", efa_network_names, one->total.value,
                    EFA_NETWORK_COUNT);
        json_end_object(json);
    }
    json_end_array(json);
}
