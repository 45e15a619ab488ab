/* SPDX-License-Identifier: BSD-3-Clause */
#include "log.h"

#include <stdarg.h>
#include <stdio.h>

void sim_log(struct sim_dev *dev, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(dev->line, sizeof(dev->line), fmt, ap);
    va_end(ap);
    dev->ops->log(dev->env, dev->line);
}

void sim_log_trace_line(struct sim_dev *dev, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(dev->line, sizeof(dev->line), fmt, ap);
    va_end(ap);
    dev->ops->trace(dev->env, dev->line);
}
