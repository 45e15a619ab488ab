/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UD_H_
#define UD_H_

#include <uct/ib/base/base_iface.h>
#include <ucp_hooks/provider.h>

#include <pthread.h>

extern const ucx_transport_t ud_transport;

/* A UD interface: the common part, and the members by which a timer of another
 * thread acknowledges and sends again while the user computes. */
typedef struct ud_iface {
    base_iface_t    super; /* first */
    pthread_mutex_t mutex; /* ud_lock.h */
    int             timer_fd;   /* -1: there is none */
    double          interval;   /* seconds, as set */
    int             timer_fast; /* else it runs seldom: we have no peer */
} ud_iface_t;

/* Acknowledgements (base_types.h). */
extern const base_acks_t ud_acks;

/* iface_query of UCT. */
ucs_status_t ud_iface_query(uct_iface_h tl_iface, uct_iface_attr_t *attr);

#endif
