/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of the device: for the user, and of the trace. */
#ifndef EFASIM_ENGINE_LOG_H
#define EFASIM_ENGINE_LOG_H

#include "objects.h"

/* One line for the user, without newline. */
#define sim_log(_dev, ...) \
    sim_log_line(_dev, (_dev)->ops->log, __VA_ARGS__)

/* A line of the trace; costs a branch while nobody wants one. */
#define sim_log_trace(_dev, ...) \
    do { \
        if ((_dev)->tracing) { \
            sim_log_line(_dev, (_dev)->ops->trace, __VA_ARGS__); \
        } \
    } while (0)

void sim_log_line(struct sim_dev *dev, void (*to)(void *env, const char *line),
                  const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
