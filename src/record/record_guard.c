/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "record_guard.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>

/* The handler walks the list at any time, hence no guard is ever freed: one
 * without a map is free. */
struct record_guard {
    record_guard_t *next;
    record_t       *record;
    uint8_t        *map; /* NULL: a free guard */
    size_t          size;
    const char     *lost; /* why; NULL: it is not */
};

static record_guard_t  *record_guards;
static unsigned         record_guards_used;
static pthread_mutex_t  record_guard_lock = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction record_guard_before; /* of SIGBUS */

/* Puts memory in place of the file. 0: failed. In a signal handler, and in a
 * child that was just forked. */
static int record_guard_lose(record_guard_t *guard, uint8_t *map,
                             const char *why)
{
    if (mmap(map, guard->size, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
             0) == MAP_FAILED) {
        return 0;
    }
    guard->record->end = map;
    guard->lost        = why;
    return 1;
}

/* The guard of this address. It is the one of the calling thread, so that it
 * stays; others may come and go meanwhile: they are read twice. */
static record_guard_t *record_guard_find(const uint8_t *at, uint8_t **map)
{
    record_guard_t *guard = __atomic_load_n(&record_guards, __ATOMIC_ACQUIRE);
    size_t          size;

    for (; guard != NULL; guard = guard->next) {
        *map = __atomic_load_n(&guard->map, __ATOMIC_ACQUIRE);
        size = __atomic_load_n(&guard->size, __ATOMIC_ACQUIRE);
        if ((*map != NULL) && (at >= *map) && ((size_t)(at - *map) < size) &&
            (__atomic_load_n(&guard->map, __ATOMIC_ACQUIRE) == *map)) {
            return guard;
        }
    }
    return NULL;
}

/* The handler that was there before, or what the system does without one. */
static void record_guard_pass(int number, siginfo_t *info, void *context)
{
    if (record_guard_before.sa_flags & SA_SIGINFO) {
        record_guard_before.sa_sigaction(number, info, context);
    } else if (record_guard_before.sa_handler == SIG_DFL) {
        sigaction(number, &record_guard_before, NULL);
        raise(number); /* after this handler */
    } else if (record_guard_before.sa_handler != SIG_IGN) {
        record_guard_before.sa_handler(number);
    } else if (info->si_code > 0) { /* a fault, which nobody can ignore */
        signal(number, SIG_DFL);
    }
}

static void record_guard_bus(int number, siginfo_t *info, void *context)
{
    record_guard_t *guard = NULL;
    uint8_t        *map;

    if (info->si_code > 0) { /* else another process sent it */
        guard = record_guard_find(info->si_addr, &map);
    }
    if ((guard == NULL) ||
        !record_guard_lose(guard, map,
                           "its file was cut off, or the disk failed")) {
        record_guard_pass(number, info, context);
    }
}

static void record_guard_fork(void)
{
    pthread_mutex_lock(&record_guard_lock);
}

static void record_guard_forked(void)
{
    pthread_mutex_unlock(&record_guard_lock);
}

static void record_guard_forked_child(void)
{
    record_guard_t *guard;

    for (guard = record_guards; guard != NULL; guard = guard->next) {
        if (guard->map != NULL) {
            (void)record_guard_lose(guard, guard->map,
                                    "this is a fork of the process");
        }
    }
    pthread_mutex_unlock(&record_guard_lock);
}

/* Under the lock: the first guard is used. */
static void record_guard_begin(void)
{
    static int       forks;
    struct sigaction bus = {.sa_sigaction = record_guard_bus,
                            .sa_flags     = SA_SIGINFO | SA_ONSTACK};

    sigemptyset(&bus.sa_mask);
    (void)sigaction(SIGBUS, &bus, &record_guard_before);
    if (!forks) {
        forks = pthread_atfork(record_guard_fork, record_guard_forked,
                               record_guard_forked_child) == 0;
    }
}

/* Under the lock: no guard is used any more. One who came later and has this
 * handler for the one before his own keeps it. */
static void record_guard_end(void)
{
    struct sigaction now;

    if ((sigaction(SIGBUS, NULL, &now) == 0) && (now.sa_flags & SA_SIGINFO) &&
        (now.sa_sigaction == record_guard_bus)) {
        (void)sigaction(SIGBUS, &record_guard_before, NULL);
    }
}

/* Under the lock: a free guard, at the list; NULL: out of memory. */
static record_guard_t *record_guard_get(void)
{
    record_guard_t *guard = record_guards;

    while ((guard != NULL) && (guard->map != NULL)) {
        guard = guard->next;
    }
    if (guard == NULL) {
        guard = calloc(1, sizeof(*guard));
        if (guard != NULL) {
            guard->next = record_guards;
            __atomic_store_n(&record_guards, guard, __ATOMIC_RELEASE);
        }
    }
    return guard;
}

record_guard_t *record_guard_add(record_t *record)
{
    record_guard_t *guard;

    pthread_mutex_lock(&record_guard_lock);
    guard = record_guard_get();
    if (guard != NULL) {
        guard->record = record;
        guard->lost   = NULL;
        __atomic_store_n(&guard->size, record->map_size, __ATOMIC_RELEASE);
        __atomic_store_n(&guard->map, record->map, __ATOMIC_RELEASE);
        if (record_guards_used++ == 0) {
            record_guard_begin();
        }
    }
    pthread_mutex_unlock(&record_guard_lock);
    return guard;
}

void record_guard_remove(record_guard_t *guard)
{
    pthread_mutex_lock(&record_guard_lock);
    __atomic_store_n(&guard->map, NULL, __ATOMIC_RELEASE);
    if (--record_guards_used == 0) {
        record_guard_end();
    }
    pthread_mutex_unlock(&record_guard_lock);
}

const char *record_guard_lost(const record_guard_t *guard)
{
    return guard->lost;
}
