/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "unknown.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <util/nearest.h>

#include "abi.h"
#include "calls.h"
#include "global.h"
#include "provider.h"

#define UNKNOWN_UCX "UCX_"

enum { UNKNOWN_LENGTH = 64 };

/* The names that a word is compared with. */
typedef struct unknown {
    nearest_t nearest;
    char      name[UNKNOWN_LENGTH]; /* of the nearest one */
} unknown_t;

static void unknown_try(unknown_t *unknown, const char *prefix,
                        const char *name)
{
    char text[UNKNOWN_LENGTH];
    size_t cost = unknown->nearest.cost;

    snprintf(text, sizeof(text), UNKNOWN_UCX "%s%s", prefix, name);
    nearest_try(&unknown->nearest, text);
    if (unknown->nearest.cost < cost) {
        memcpy(unknown->name, text, sizeof(text));
    }
}

static void unknown_table(unknown_t *unknown, const ucx_config_table_t *table)
{
    unsigned i;

    for (i = 0; i < table->count; ++i) {
        unknown_try(unknown, table->prefix, table->fields[i].name);
    }
}

/* The variables that UCX itself gives each transport. */
static void unknown_of_ucx(unknown_t *unknown, const ucx_calls_t *calls,
                           const char *prefix)
{
    ucx_abi_field_t field;
    unsigned n;

    for (n = 0; ucx_abi_iface_field(calls, n, &field); ++n) {
        unknown_try(unknown, prefix, field.name);
    }
}

/* A line, if the variable is none of ours. */
static void unknown_say(ucx_host_t *host, const char *variable)
{
    unknown_t unknown = {.name = ""};
    char word[UNKNOWN_LENGTH];
    unsigned i;

    snprintf(word, sizeof(word), "%.*s", (int)strcspn(variable, "="), variable);
    nearest_init(&unknown.nearest, word);
    unknown_table(&unknown, &ucx_global_table);
    unknown_table(&unknown, ucx_provider.md_config);
    for (i = 0; i < ucx_provider.transport_count; ++i) {
        unknown_table(&unknown, ucx_provider.transports[i]->config);
        unknown_of_ucx(&unknown, host->calls,
                       ucx_provider.transports[i]->config->prefix);
    }
    if (!unknown.nearest.is_same) {
        host_warn(host, "%.80s: no variable has this name, so it changes "
                  "nothing:%s%s%s man ucx-efa-srd lists all", variable,
                  unknown.name[0] ? " is " : "", unknown.name,
                  unknown.name[0] ? " meant?" : "");
    }
}

/* A line, if it is one of InfiniBand, and what an EFA has in its place. */
static void unknown_ib(ucx_host_t *host, const char *variable)
{
    const char *remedy = NULL;

    if (!strncmp(variable, "UCX_IB_SL=", 10)) {
        remedy = "set UCX_SRD_SL";
    } else if (!strncmp(variable, "UCX_IB_GID_INDEX=", 17)) {
        remedy = "unset it, as an EFA has one GID";
    } else if (!strncmp(variable, "UCX_UD_", 7) && ucx_user_asked_for("ud")) {
        remedy = "the variables of its ud begin with UCX_EFA_UD_ (man "
                 "ucx-efa-srd)";
    }
    if (remedy != NULL) {
        host_warn(host, "%.80s is for InfiniBand, and changes nothing of an "
                  "EFA: %s", variable, remedy);
    }
}

void unknown_variables(ucx_host_t *host, int is_alone)
{
    char **one;

    for (one = environ; *one != NULL; ++one) {
        if (!strncmp(*one, "UCX_SRD_", 8) || !strncmp(*one, "UCX_EFA_", 8)) {
            unknown_say(host, *one);
        } else if (is_alone) {
            unknown_ib(host, *one);
        }
    }
}
