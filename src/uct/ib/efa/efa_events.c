/* SPDX-License-Identifier: BSD-3-Clause */
#include "efa_events.h"
#include "efa_queue.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define EFA_ACK_BATCH 1024 /* acknowledging takes a lock: not at each event */

static void
efa_events_ack(efa_events_t *events, efa_qp_t *qp, unsigned threshold)
{
    struct ibv_cq *cqs[2] = {qp->tx_cq, qp->rx_cq};
    unsigned       i;

    for (i = 0; i < 2; ++i) {
        if ((events->got[i] != 0) && (events->got[i] >= threshold)) {
            qp->md->device->verbs->ack_cq_events(cqs[i], events->got[i]);
            events->got[i] = 0;
        }
    }
}

static void efa_events_drain(efa_events_t *events, efa_qp_t *qp)
{
    struct ibv_cq *cq;
    void          *context;

    while (qp->md->device->verbs->get_cq_event(qp->channel, &cq, &context) ==
           0) {
        ++events->got[cq == qp->rx_cq];
        efa_queue_event(qp, cq == qp->rx_cq);
    }
    efa_events_ack(events, qp, EFA_ACK_BATCH);
}

static int efa_events_watch(efa_events_t *events, int fd, int op, unsigned mask)
{
    struct epoll_event event;

    memset(&event, 0, sizeof(event));
    event.events  = mask;
    event.data.fd = fd;
    return epoll_ctl(events->epoll_fd, op, fd, &event);
}

int efa_events_rearm(efa_events_t *events, efa_qp_t *qp)
{
    efa_events_drain(events, qp);
    if (!events->is_armed) {
        if (efa_events_watch(events, qp->channel->fd, EPOLL_CTL_MOD,
                             EPOLLIN) != 0) {
            return errno;
        }
        events->is_armed = 1;
    }
    return efa_queue_arm(qp);
}

void efa_events_end(efa_events_t *events, const efa_qp_t *qp)
{
    if (!events->is_over) {
        events->is_over = 1;
        efa_events_watch(events, qp->channel->fd, EPOLL_CTL_DEL, 0);
    }
}

void efa_events_set_timer(efa_events_t *events, uint64_t delay)
{
    struct itimerspec spec;

    if ((delay == 0) && !events->has_timer) {
        return;
    }
    events->has_timer = (delay != 0);
    memset(&spec, 0, sizeof(spec));
    spec.it_value.tv_sec  = delay / 1000000000u;
    spec.it_value.tv_nsec = delay % 1000000000u;
    timerfd_settime(events->timer_fd, 0, &spec, NULL);
}

void efa_events_open(efa_events_t *events, efa_qp_t *qp)
{
    memset(events, 0, sizeof(*events));
    events->epoll_fd = -1;
    events->timer_fd = -1;
    if (qp->channel == NULL) {
        return;
    }

    events->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    events->timer_fd = timerfd_create(CLOCK_MONOTONIC,
                                      TFD_NONBLOCK | TFD_CLOEXEC);
    if ((events->epoll_fd < 0) || (events->timer_fd < 0) ||
        (efa_events_watch(events, events->timer_fd, EPOLL_CTL_ADD,
                          EPOLLIN) != 0) ||
        /* completions of this trial make nothing readable: nobody asked yet */
        (efa_events_watch(events, qp->channel->fd, EPOLL_CTL_ADD, 0) != 0) ||
        (efa_queue_arm(qp) != 0)) {
        host_debug(qp->md->super.host,
                   "%s: no completion events: waiting for messages takes CPU",
                   qp->md->device->name);
        efa_events_close(events, qp);
    }
}

void efa_events_close(efa_events_t *events, efa_qp_t *qp)
{
    if (qp->channel != NULL) {
        efa_events_ack(events, qp, 1);
    }
    if (events->timer_fd >= 0) {
        close(events->timer_fd);
        events->timer_fd = -1;
    }
    if (events->epoll_fd >= 0) {
        close(events->epoll_fd);
        events->epoll_fd = -1;
    }
}
