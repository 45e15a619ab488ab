/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stand-ins for the functions of UCX that the device's code calls, since here
 * is none: its messages are kept instead of logged.
 */
#include "info.h"

#include <stdarg.h>
#include <stdio.h>

static char message[INFO_TEXT_MAX];

void host_stub_init(ucx_host_t *host)
{
    static const int level = UCS_LOG_LEVEL_WARN;

    host->log_level = &level;
}

const char *host_stub_message(void)
{
    return message;
}

void ucx_host_log(const ucx_host_t *host, const char *file, unsigned line,
                  const char *function, ucs_log_level_t level,
                  const char *format, ...)
{
    va_list ap;

    (void)host, (void)file, (void)line, (void)function, (void)level;
    va_start(ap, format);
    vsnprintf(message, sizeof(message), format, ap);
    va_end(ap);
}

int ucx_user_is_warned(void)
{
    return 1;
}

void ucx_host_absent(const ucx_host_t *host, const char *file, unsigned line,
                     const char *function, const char *name,
                     const char *format, ...)
{
    va_list ap;

    (void)host, (void)file, (void)line, (void)function, (void)name;
    va_start(ap, format);
    vsnprintf(message, sizeof(message), format, ap);
    va_end(ap);
}
