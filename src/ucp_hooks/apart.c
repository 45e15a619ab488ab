/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "message.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "global.h"
#include "provider.h"

#define APART_FORMAT "no %s transport to %s: %s" /* UCX's */
#define APART_DASH   " - " /* between "tcp/eth0" and a reason */

enum {
    APART_CONTINUE  = 1, /* UCS_LOG_FUNC_RC_CONTINUE */
    APART_LINE_MAX  = 2048,
    APART_NAMES_MAX = 128
};

/* UCX's transports within a host, which no peer on another one needs. */
static const char *const apart_local[] = {
    "self", "sysv", "posix", "cma", "knem", "xpmem", "cuda_copy", "cuda_ipc",
    "gdr_copy", "rocm_copy", "rocm_ipc", "ze_copy", "ze_ipc"
};

static const ucx_host_t *apart_host; /* the last UCX, of several in a process */

static int apart_is_one_of(const char *const *names, size_t count,
                           const char *name, size_t length)
{
    size_t i;

    for (i = 0; i < count; ++i) {
        if ((strlen(names[i]) == length) && !strncmp(names[i], name, length)) {
            return 1;
        }
    }
    return 0;
}

static int apart_is_ours(const char *name, size_t length)
{
    unsigned i;

    for (i = 0; i < ucx_provider.carrier_count; ++i) {
        if (apart_is_one_of(&ucx_provider.transports[i]->name, 1, name,
                            length)) {
            return 1;
        }
    }
    return 0;
}

/* Nonzero if the list @names, "tcp, srd", has @name. */
static int apart_has(const char *names, const char *name, size_t length)
{
    size_t item;

    for (; *names != '\0'; names += item + strspn(names + item, ", ")) {
        item = strcspn(names, ",");
        if ((item == length) && !strncmp(names, name, length)) {
            return 1;
        }
    }
    return 0;
}

/* Adds @name to the list in @names, unless it is there or there is no room. */
static void apart_add(char *names, const char *name, size_t length)
{
    size_t used = strlen(names);

    if (!apart_has(names, name, length) &&
        (used + length + 3 <= APART_NAMES_MAX)) {
        snprintf(names + used, APART_NAMES_MAX - used, "%s%.*s",
                 (used > 0) ? ", " : "", (int)length, name);
    }
}

/* Nonzero for the words of the versions of UCX about a transport that the peer
 * has not; they use them for other peers out of reach, too. */
static int apart_is_reason(const char *reason)
{
    static const char *const reasons[] = {"Destination is unreachable",
                                          "destination is unreachable",
                                          "not available"};
    unsigned i;

    for (i = 0; i < sizeof(reasons) / sizeof(*reasons); ++i) {
        if (!strncmp(reason, reasons[i], strlen(reasons[i]))) {
            return 1;
        }
    }
    return 0;
}

/*
 * The transports to other hosts for which UCX's line has such a reason, each as
 * "tcp/eth0 - Destination is unreachable". Returns how many are of this module.
 */
static unsigned apart_ours(const char *line, char *names)
{
    const char *dash = line, *name;
    unsigned count   = 0;
    size_t length;

    names[0] = '\0';
    while ((dash = strstr(dash + 1, APART_DASH)) != NULL) {
        for (name = dash; (name > line) && (name[-1] != ' '); --name) {
        }
        length = strcspn(name, "/ ");
        if ((length > 0) &&
            !apart_is_one_of(apart_local,
                             sizeof(apart_local) / sizeof(*apart_local), name,
                             length) &&
            apart_is_reason(dash + strlen(APART_DASH))) {
            apart_add(names, name, length);
            count += apart_is_ours(name, length);
        }
    }
    return count;
}

/* A ucs_log_func_t. Nothing but UCX's one format is looked at. */
static int apart_log(const char *file, unsigned line, const char *function,
                     ucs_log_level_t level, const void *component,
                     const char *format, va_list ap)
{
    const ucx_host_t *host = apart_host;
    char text[APART_LINE_MAX], names[APART_NAMES_MAX];
    const char *tls;
    unsigned ours;

    (void)file, (void)line, (void)function, (void)component;
    if ((level != UCS_LOG_LEVEL_ERROR) || strcmp(format, APART_FORMAT)) {
        return APART_CONTINUE;
    }
    vsnprintf(text, sizeof(text), format, ap);
    ours = apart_ours(text, names);
    if (((ours > 0) || ((names[0] != '\0') && ucx_global_warns() &&
                        ucx_provider.device_is_present())) &&
        ucx_message_is_first()) {
        tls = ucx_setting("TLS");
        host_error(host, "no way to a peer: this side has %s (UCX_TLS=%.64s), "
                   "the peer has none of these, or on devices that these do "
                   "not reach; start both sides with srdrun, the same UCX_TLS "
                   "and the same UCX_NET_DEVICES", names,
                   (tls != NULL) ? tls : "all");
    }
    return APART_CONTINUE;
}

void apart_attach(const ucx_host_t *host)
{
    apart_host = host;
    if (host->calls->log_push_handler != NULL) {
        host->calls->log_push_handler(apart_log);
    }
}
