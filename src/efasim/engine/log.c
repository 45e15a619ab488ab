/* SPDX-License-Identifier: BSD-3-Clause */
#include "log.h"

#include <stdarg.h>
#include <stdio.h>

void sim_log_line(struct sim_dev *dev, void (*to)(void *env, const char *line),
                  const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(dev->line, sizeof(dev->line), fmt, ap);
    va_end(ap);
    to(dev->env, dev->line);
}
