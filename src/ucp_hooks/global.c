/* SPDX-License-Identifier: BSD-3-Clause */
#include "global.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "calls.h"
#include "provider.h"

/*
 * UCP compares protocols by these, and tells no transport. Its rates of copying
 * stand in ucp/core/ucp_context.c and, until 1.17, ucs/arch/cpu.c.
 */
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

#define GLOBAL_SETTING(_name, _member) \
    { _name, "", "", UCX_CONFIG_AT(ucx_settings_t, _member, \
                                   UCX_CONFIG_STRING), 0, 0 }

enum { GLOBAL_SETTINGS = sizeof(ucx_settings_t) / sizeof(char*) };

static const ucx_config_field_t global_settings[GLOBAL_SETTINGS] = {
    GLOBAL_SETTING("TLS", tls),
    GLOBAL_SETTING("NET_DEVICES", net_devices),
    GLOBAL_SETTING("LOG_LEVEL", log_level),
    GLOBAL_SETTING("PROTO_ENABLE", proto_enable),
    GLOBAL_SETTING("BCOPY_BW", bcopy_bw),
    GLOBAL_SETTING("MAX_RNDV_RAILS", rails),
};

const ucx_config_table_t ucx_settings_table = {
    .title  = "",
    .prefix = "",
    .fields = global_settings,
    .count  = GLOBAL_SETTINGS,
    .size   = sizeof(ucx_settings_t)
};

static char *global_kept[GLOBAL_SETTINGS]; /* of files; never freed */

static const char *global_variable(const char *name)
{
    char variable[32];

    snprintf(variable, sizeof(variable), "UCX_%s", name);
    return getenv(variable);
}

void ucx_settings_keep(const ucx_settings_t *settings)
{
    unsigned i;
    char *text;

    for (i = 0; i < GLOBAL_SETTINGS; ++i) {
        memcpy(&text, (const char*)settings + global_settings[i].offset,
               sizeof(text));
        if ((*text != '\0') && (global_kept[i] == NULL) &&
            (global_variable(global_settings[i].name) == NULL)) {
            global_kept[i] = strdup(text);
        }
    }
}

const char *ucx_setting(const char *name)
{
    const char *value = global_variable(name);
    unsigned i;

    for (i = 0; (value == NULL) && (i < GLOBAL_SETTINGS); ++i) {
        if (!strcmp(name, global_settings[i].name)) {
            value = global_kept[i];
        }
    }
    return value;
}

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
