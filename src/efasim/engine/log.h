/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of the device: for the user, and of the trace. */
#ifndef EFASIM_ENGINE_LOG_H
#define EFASIM_ENGINE_LOG_H

#include "objects.h"

/* A line of the trace; costs a branch while nobody wants one. */
#define sim_log_trace(_dev, ...) \
    do { \
        if ((_dev)->tracing) { \
            sim_log_trace_line(_dev, __VA_ARGS__); \
        } \
    } while (0)

void sim_log_trace_line(struct sim_dev *dev, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* One line for the user, without newline. */
void sim_log(struct sim_dev *dev, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
