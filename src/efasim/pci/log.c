/* SPDX-License-Identifier: BSD-3-Clause */
#include "log.h"

#include "efasim/fabric/clock.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#define LOG_NS 1000000000ull

/* A line, unless nobody takes it from a full pipe. */
__attribute__((format(printf, 1, 2)))
static void log_write(const char *format, ...)
{
    struct pollfd out = { .fd = STDERR_FILENO, .events = POLLOUT };
    va_list args;

    if (poll(&out, 1, 0) == 1) {
        va_start(args, format);
        vfprintf(stderr, format, args);
        va_end(args);
    }
}

static void log_next(struct pci_func *func)
{
    if (func->log_lines > PCI_LOG_LINES) {
        log_write("efapci[%u]: %u more lines within a second are left "
                "out\n", func->index, func->log_lines - PCI_LOG_LINES);
    }
    func->log_lines = 0;
}

void pci_log(struct pci_func *func, const char *line)
{
    uint64_t now = fabric_clock();

    if (now - func->log_second >= LOG_NS) {
        log_next(func);
        func->log_second = now;
    }
    if (func->log_lines++ < PCI_LOG_LINES) {
        log_write("efapci[%u]: %s\n", func->index, line);
    }
}

void pci_log_flush(struct pci_func *func)
{
    if ((func->log_lines > PCI_LOG_LINES) &&
        (fabric_clock() - func->log_second >= LOG_NS)) {
        log_next(func);
    }
}
