/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UD_LOCK_H_
#define UD_LOCK_H_

#include "ud.h"

/*
 * Every call of UCT's on an interface runs under its lock, so that the timer
 * finds it whole; a call from a callback of ours has the lock already, and
 * takes it once more. The timer waits for nobody: where the lock is taken
 * somebody makes progress.
 */
static inline void ud_lock(ud_iface_t *iface)
{
    pthread_mutex_lock(&iface->mutex);
}

static inline void ud_unlock(ud_iface_t *iface)
{
    pthread_mutex_unlock(&iface->mutex);
}

/* Try for the timer: nonzero if it has the lock. */
static inline int ud_lock_try(ud_iface_t *iface)
{
    return pthread_mutex_trylock(&iface->mutex) == 0;
}

/* UCT's operations under the lock, in place of those in `ops`. */
void ud_lock_ops(uct_iface_ops_t *ops);

/* The one that UCX keeps in its own table, and the release of a buffer, which
 * UCP calls whenever it likes. */
ucs_status_t ud_lock_invalidate(uct_ep_h ep);
void ud_lock_release_desc(uct_recv_desc_t *self, void *desc);

#endif
