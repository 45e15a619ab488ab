/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFA_EVENTS_H_
#define EFA_EVENTS_H_

#include "efa_qp.h"

/* Descriptors of an interface: channel, epoll, timer. */
#define EFA_EVENTS_FILES 3

/*
 * The descriptor that becomes readable when progress has something to do: an
 * epoll of the completion channel and of a timer (DESIGN.md decision 12).
 */
typedef struct efa_events {
    int epoll_fd; /* -1: no events */
    int timer_fd;
    int is_armed; /* somebody asked for events, ever: the channel is watched */
    int is_over; /* nothing comes: the channel is not watched any more */
    int has_timer; /* it runs, or has run out and is readable */
    unsigned got[2]; /* events of tx and rx CQ not acknowledged */
} efa_events_t;

/* Tries to arm; without a channel, or when the device refuses, there are no
 * events and epoll_fd is -1. Never fails otherwise. */
void efa_events_open(efa_events_t *events, efa_qp_t *qp);
void efa_events_close(efa_events_t *events, efa_qp_t *qp);

/* Takes the events off the channel and arms both queues anew. From the first
 * call on events make the descriptor readable. Returns 0 or an errno value. */
int efa_events_rearm(efa_events_t *events, efa_qp_t *qp);

/* The queues are gone. An event that was not taken makes nothing readable. */
void efa_events_end(efa_events_t *events, const efa_qp_t *qp);

/*
 * Makes the descriptor readable after `delay` ns; 0: no timer. A timer that has
 * run out is readable until it is set or taken away. A caller that arms over
 * and over, with nothing to wait for, makes no system call here: NIXL's thread
 * of progress does, with UCP's lock of the worker, which its users want.
 */
void efa_events_set_timer(efa_events_t *events, uint64_t delay);

#endif
