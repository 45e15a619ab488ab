/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The probe: questions to verbs whose answers the kernel gives. It runs under
 * the kernel's own driver and under efasim; each line it prints is a question
 * and its answer, and the two must be equal.
 */
#ifndef TEST_KERNEL_PROBE_H
#define TEST_KERNEL_PROBE_H

#include "device.h"

#include <infiniband/efadv.h>
#include <infiniband/verbs.h>

#include <errno.h>

struct probe {
    struct ibv_context *ctx;
    struct ibv_pd      *pd;
    union ibv_gid       gid;
    char               *page;  /* 64 KiB, written to */
};

enum { PROBE_BYTES = 65536 };

/* "QUESTION: ANSWER" */
void probe_say(const char *answer, const char *question, ...)
    __attribute__((format(printf, 2, 3)));

/* The answer is a number. */
void probe_number(unsigned long long number, const char *question, ...)
    __attribute__((format(printf, 2, 3)));

/* "ok", or the name of an errno: of a call that returns 0, an errno, or -1 with
 * errno. */
const char *probe_result(int ret);

/* The same for a call that returns a pointer, NULL with errno. */
const char *probe_pointer(const void *pointer);

/* Register and deregister: the answer. */
void probe_reg(const struct probe *probe, void *addr, size_t length,
               unsigned access, const char *question, ...)
    __attribute__((format(printf, 5, 6)));

/* The answer to making an object, which then ends. */
#define PROBE_TRY(_make, _end, ...) \
    do { \
        __typeof__(_make) _object = _make; \
        probe_say(probe_pointer(_object), __VA_ARGS__); \
        if (_object != NULL) { \
            _end(_object); \
        } \
    } while (0)

/* As many objects as there can be, or fit into the array: their number. */
#define PROBE_FILL(_array, _make) \
    ({ \
        unsigned _num = 0; \
        while ((_num < sizeof(_array) / sizeof((_array)[0])) && \
               (((_array)[_num] = (_make)) != NULL)) { \
            ++_num; \
        } \
        _num; \
    })

enum probe_child {
    PROBE_ROOT,   /* with a context of its own */
    PROBE_USER,   /* likewise, without any privilege */
    PROBE_FORKED, /* with the parent's context */
};

/* Run `ask` in a child, with this limit of locked memory (-1: the parent's); its
 * lines are ours. */
void probe_child(const struct probe *probe, enum probe_child kind, long memlock,
                 void (*ask)(const struct probe *probe));

/* One of the probe's: device_qp(). */
#define probe_qp(_probe, ...) device_qp((_probe)->pd, __VA_ARGS__)

void probe_device(const struct probe *probe);
void probe_memory(const struct probe *probe);
void probe_queues(const struct probe *probe);
void probe_states(const struct probe *probe);
void probe_handles(const struct probe *probe);
void probe_processes(const struct probe *probe);
void probe_data(const struct probe *probe);
void probe_counters(const struct probe *probe);
void probe_mappings(const struct probe *probe);
void probe_huge(const struct probe *probe);

void probe_execve(const struct probe *probe);

/* The question of a program that execve() made of the probe: "leave", "limit",
 * or "file=FD", a descriptor of the device that was left open. */
void probe_executed(const struct probe *probe, const char *how);

#endif
