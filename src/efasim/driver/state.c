/* SPDX-License-Identifier: BSD-3-Clause */
#include "state.h"

#include <stdarg.h>
#include <stdio.h>

struct drv_state drv = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

int drv_is_open(void)
{
    const struct drv_dev *dev;

    drv_for_each_device(dev) {
        if (dev->sim != NULL) {
            return 1;
        }
    }

    return 0;
}

void drv_log(const char *fmt, ...)
{
    char line[256];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(line, sizeof(line), fmt, ap);
    va_end(ap);
    fabric_env_ops.log(NULL, line);
}
