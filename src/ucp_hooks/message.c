/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "message.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "global.h"
#include "provider.h"

enum { ABSENCE_MAX = 512 };

static pthread_mutex_t absence_lock = PTHREAD_MUTEX_INITIALIZER;
static char absence[ABSENCE_MAX];
static int absence_is_shown;
static int message_said;

/* Nonzero if the item of UCX_TLS at @item is @name. */
static int tls_item_is(const char *item, size_t length, const char *name)
{
    const char *colon = memchr(item, ':', length);

    if (colon != NULL) {
        length = colon - item; /* "srd:aux" */
    }
    if ((length > 0) && (*item == '\\')) {
        ++item; /* "\srd": the transport, not an alias */
        --length;
    }
    return (length == strlen(name)) && !strncmp(item, name, length);
}

static int tls_list_has(const char *list, const char *name)
{
    size_t length;

    for (;;) {
        length = strcspn(list, ",");
        if (tls_item_is(list, length, name)) {
            return 1;
        }
        if (list[length] == '\0') {
            return 0;
        }
        list += length + 1;
    }
}

int ucx_user_asked_for(const char *name)
{
    const char *list = getenv("UCX_TLS");

    return (list != NULL) && (*list != '^') && tls_list_has(list, name);
}

int ucx_user_left_out(const char *name)
{
    const char *list = getenv("UCX_TLS");

    if (list == NULL) {
        return 0;
    } else if (*list == '^') {
        return tls_list_has(list + 1, name);
    }
    return !tls_list_has(list, name) && !tls_list_has(list, "all") &&
           !tls_list_has(list, "ib"); /* srd, too, from UCX 1.20 on */
}

/* Nonzero if UCX_TLS excludes tcp on a machine with an EFA: without @name UCX
 * then has no way to other hosts, fails, and does not say why. */
static int message_is_all_there_is(const char *name)
{
    const char *list = getenv("UCX_TLS");

    return (list != NULL) && (*list == '^') && tls_list_has(list + 1, "tcp") &&
           !ucx_user_left_out(name) && ucx_global_warns() &&
           (ucx_provider.device_is_present != NULL) &&
           ucx_provider.device_is_present();
}

static int message_any_asked_for(void)
{
    unsigned i;

    for (i = 0; i < ucx_provider.transport_count; ++i) {
        if (ucx_user_asked_for(ucx_provider.transports[i]->name)) {
            return 1;
        }
    }
    return 0;
}

/* UCX_LOG_LEVEL as UCX reads it: whole names in any case. */
static ucs_log_level_t message_log_level(void)
{
    static const char *const names[] = {
        "fatal", "error", "warn", "diag", "info", "debug", "trace", "req",
        "data", "async", "func", "poll"
    };
    const char *value = getenv("UCX_LOG_LEVEL");
    unsigned i;

    for (i = 0; (value != NULL) && (i < sizeof(names) / sizeof(*names)); ++i) {
        if (!strcasecmp(value, names[i])) {
            return (ucs_log_level_t)i;
        }
    }
    return UCS_LOG_LEVEL_WARN;
}

void ucx_message_refused(const char *path, const char *why)
{
    int efa_idle          = (ucx_provider.device_is_present != NULL) &&
                            ucx_global_warns() &&
                            ucx_provider.device_is_present();
    ucs_log_level_t level = (message_any_asked_for() || efa_idle) ?
                            UCS_LOG_LEVEL_WARN : UCS_LOG_LEVEL_DEBUG;

    if (level <= message_log_level()) {
        fprintf(stderr, "[%d] %s libuct_srd: not used with %s: %s\n",
                (int)getpid(),
                (level == UCS_LOG_LEVEL_WARN) ? "WARN " : "DEBUG", path, why);
    }
}

int ucx_message_is_first(void)
{
    return !__atomic_exchange_n(&message_said, 1, __ATOMIC_RELAXED);
}

void ucx_host_absent(const ucx_host_t *host, const char *file, unsigned line,
                     const char *function, const char *name,
                     const char *format, ...)
{
    ucs_log_level_t level = UCS_LOG_LEVEL_DEBUG;
    char text[ABSENCE_MAX];
    va_list ap;

    va_start(ap, format);
    vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    if (ucx_user_asked_for(name) || message_is_all_there_is(name)) {
        level = ucx_message_is_first() ? UCS_LOG_LEVEL_WARN :
                                         UCS_LOG_LEVEL_DIAG;
    }
    pthread_mutex_lock(&absence_lock);
    memcpy(absence, text, sizeof(absence));
    absence_is_shown = level <= UCS_LOG_LEVEL_WARN;
    pthread_mutex_unlock(&absence_lock);
    if (host_log_is_enabled(host, level)) {
        ucx_host_log(host, file, line, function, level, "%s", text);
    }
}

void ucx_message_absence(char *text, size_t max)
{
    pthread_mutex_lock(&absence_lock);
    snprintf(text, max, "%s", absence);
    pthread_mutex_unlock(&absence_lock);
}

void ucx_message_no_iface(const ucx_host_t *host, const char *name,
                          ucs_status_t status)
{
    char text[ABSENCE_MAX];
    int shown;

    ucx_message_absence(text, sizeof(text));
    pthread_mutex_lock(&absence_lock);
    shown            = absence_is_shown;
    absence_is_shown = 1;
    pthread_mutex_unlock(&absence_lock);
    /* (with UCX_TLS excluding ours, the caller is a program that opens all) */
    if (!shown && !ucx_user_left_out(name)) {
        host_error(host, "an EFA interface cannot be opened, and UCX ends its "
                   "worker for that: %s; UCX_TLS=^%s goes without",
                   (text[0] != '\0') ? text : host->status_string(status),
                   name);
    }
}

void ucx_message_collision(const ucx_host_t *host, const char *name)
{
    static const ucx_host_t *said; /* UCX asks for the same list repeatedly */

    if (__atomic_exchange_n(&said, host, __ATOMIC_RELAXED) == host) {
        return;
    }
    host_report_absent(host, name,
                       "transport %s of this module is left out: another "
                       "component of %s has one of that name (UCX's own, or "
                       "the module is loaded twice); to use this one instead "
                       "of UCX's own: UCX_EFA_CLAIM=y, or UCX_MODULES=^efa",
                       name, host->uct_path);
}

void ucx_message_lost_caller(void)
{
    if (message_log_level() >= UCS_LOG_LEVEL_ERROR) {
        fprintf(stderr, "[%d] ERROR libuct_srd: uct_query_components() was "
                "called, but no libuct is loaded, probably a program that was "
                "linked to this module by mistake: load the module by "
                "LD_PRELOAD only\n", (int)getpid());
    }
}
