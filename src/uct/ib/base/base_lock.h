/* SPDX-License-Identifier: BSD-3-Clause */
/* An interface that another thread works on, too: every call of UCT's on it
 * runs under its lock. */
#ifndef BASE_LOCK_H_
#define BASE_LOCK_H_

#include "base_flow.h"

#include <pthread.h>

/* A lock that nobody has, and that its owner may take once more. */
static inline void base_lock_init(pthread_mutex_t *mutex)
{
    pthread_mutexattr_t attr;

    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(mutex, &attr);
    pthread_mutexattr_destroy(&attr);
}

/* Defines `_name`: `_call` on `locked`, which is `_iface`, between _kind_lock
 * and _kind_unlock, by a clock that was just read: the core measures round
 * trips. */
#define BASE_LOCKED_CALL(_kind, _returns, _name, _params, _iface, _call) \
    _returns _name _params \
    { \
        _kind##_iface_t *locked = _iface; \
        _returns         result; \
        \
        _kind##_lock(locked); \
        base_flow_clock(&locked->super); \
        result = _call; \
        _kind##_unlock(locked); \
        return result; \
    }

#endif
