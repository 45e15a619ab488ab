/* SPDX-License-Identifier: BSD-3-Clause */
#include "global.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "provider.h"

#define GLOBAL_FIELD(_name, _dflt, _member, _type, _doc) \
    { _name, _dflt, _doc, UCX_CONFIG_AT(ucx_global_t, _member, _type), 0, 0 }

static const ucx_config_field_t global_fields[] = {
    GLOBAL_FIELD("CLAIM", "try", claim, UCX_CONFIG_TERNARY,
                 "Use this module instead of UCX's own ib and srd on EFA "
                 "devices. y: always; try: if it finds a usable EFA; n: leave "
                 "them to UCX"),
    GLOBAL_FIELD("WARN_FALLBACK", "y", warn_fallback, UCX_CONFIG_BOOL,
                 "Warn once when UCX sends to another host without EFA "
                 "although this host has one"),
    GLOBAL_FIELD("ABI", "", abi, UCX_CONFIG_STRING,
                 "Treat a UCX newer than those this module knows as this "
                 "version (1.NN), at your own risk; the message that refuses "
                 "such a UCX names the version to try (environment only)"),
};

const ucx_config_table_t ucx_global_table = {
    .title  = "EFA global",
    .prefix = "EFA_",
    .fields = global_fields,
    .count  = sizeof(global_fields) / sizeof(global_fields[0]),
    .size   = sizeof(ucx_global_t)
};

int ucx_global_abi(const char **text)
{
    unsigned minor;
    char end;

    *text = getenv("UCX_EFA_ABI");
    if ((*text == NULL) || (**text == '\0')) {
        return 0;
    }
    return (sscanf(*text, "1.%2u%c", &minor, &end) == 1) ? (int)minor : -1;
}

int ucx_global_warns(void)
{
    static const char *const no[] = {"n", "no", "0", "off", "false"};
    const char *value = getenv("UCX_EFA_WARN_FALLBACK");
    unsigned i;

    for (i = 0; (value != NULL) && (i < sizeof(no) / sizeof(no[0])); ++i) {
        if (!strcasecmp(value, no[i])) {
            return 0;
        }
    }
    return 1;
}
