/* SPDX-License-Identifier: BSD-3-Clause */
#include "log.h"

#include <stdarg.h>
#include <stdio.h>

static const char *log_format(struct sim_dev *dev, const char *fmt, va_list ap)
{
    vsnprintf(dev->line, sizeof(dev->line), fmt, ap);
    return dev->line;
}

void sim_log(struct sim_dev *dev, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    dev->ops->log(dev->env, log_format(dev, fmt, ap));
    va_end(ap);
}

void sim_log_trace_line(struct sim_dev *dev, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    dev->ops->trace(dev->env, log_format(dev, fmt, ap));
    va_end(ap);
}
