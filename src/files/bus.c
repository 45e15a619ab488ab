/* SPDX-License-Identifier: BSD-3-Clause */
#include "bus.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

/* The handler reads them at any time: a place stays its callback's. */
typedef struct bus_place {
    bus_cb_t cb;
    unsigned taken; /* so often */
} bus_place_t;

static bus_place_t      bus_places[2];
static pthread_mutex_t  bus_lock = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction bus_before; /* of SIGBUS */

/* The handler that was there before, or what the system does without one. */
static void bus_pass(int number, siginfo_t *info, void *context)
{
    if (bus_before.sa_flags & SA_SIGINFO) {
        bus_before.sa_sigaction(number, info, context);
    } else if (bus_before.sa_handler == SIG_DFL) {
        sigaction(number, &bus_before, NULL);
        raise(number); /* after this handler */
    } else if (bus_before.sa_handler != SIG_IGN) {
        bus_before.sa_handler(number);
    } else if (info->si_code > 0) { /* a fault, which nobody can ignore */
        signal(number, SIG_DFL);
    }
}

static void bus_handle(int number, siginfo_t *info, void *context)
{
    unsigned i;
    bus_cb_t cb;

    /* si_code: else another process sent it */
    for (i = 0; (i < 2) && (info->si_code > 0); ++i) {
        cb = __atomic_load_n(&bus_places[i].cb, __ATOMIC_ACQUIRE);
        if ((cb != NULL) && cb(info->si_addr)) {
            return;
        }
    }
    bus_pass(number, info, context);
}

/* Under the lock: the first callback is taken. */
static void bus_begin(void)
{
    struct sigaction bus = {.sa_sigaction = bus_handle,
                            .sa_flags     = SA_SIGINFO | SA_ONSTACK};

    sigemptyset(&bus.sa_mask);
    (void)sigaction(SIGBUS, &bus, &bus_before);
}

/* Under the lock: none is taken any more. One who came later and has this
 * handler for the one before his own keeps it. */
static void bus_end(void)
{
    struct sigaction now;

    if ((sigaction(SIGBUS, NULL, &now) == 0) && (now.sa_flags & SA_SIGINFO) &&
        (now.sa_sigaction == bus_handle)) {
        (void)sigaction(SIGBUS, &bus_before, NULL);
    }
}

static bus_place_t *bus_place_of(bus_cb_t cb)
{
    return &bus_places[(bus_places[0].cb != NULL) && (bus_places[0].cb != cb)];
}

void bus_take(bus_cb_t cb)
{
    bus_place_t *place;

    pthread_mutex_lock(&bus_lock);
    if (bus_places[0].taken + bus_places[1].taken == 0) {
        bus_begin();
    }
    place = bus_place_of(cb);
    ++place->taken;
    __atomic_store_n(&place->cb, cb, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&bus_lock);
}

void bus_release(bus_cb_t cb)
{
    pthread_mutex_lock(&bus_lock);
    --bus_place_of(cb)->taken;
    if (bus_places[0].taken + bus_places[1].taken == 0) {
        bus_end();
    }
    pthread_mutex_unlock(&bus_lock);
}
