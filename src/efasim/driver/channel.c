/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion channels. One event is one packet of 8 bytes, the CQ's handle as
 * the program gave it, on a socket pair whose other end the program reads.
 */
#include "cmds.h"

#include "efasim/fabric/process.h"

#include <errno.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* A socket pair, not a pipe: a program that has closed its end must not be
 * killed by SIGPIPE. */
int drv_channel_create(struct drv_cmd *cmd)
{
    struct ib_uverbs_create_comp_channel_resp resp = { 0 };
    struct drv_channel *channel                    = calloc(1,
                                                            sizeof(*channel));
    int fds[2];

    if (channel == NULL) {
        return -ENOMEM;
    }
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0) {
        free(channel);
        return -errno;
    }

    channel->ctx     = cmd->ctx;
    channel->user_fd = fds[0];
    channel->fd      = fds[1];
    list_add_tail(&drv.channels, &channel->link);
    resp.fd = fds[0];
    drv_attr_put(cmd, UVERBS_ATTR_CORE_OUT, resp);
    return 0;
}

void drv_channel_event(struct sim_cq *cq)
{
    struct drv_cq *entry = cq->user;
    int fd;

    if ((entry->channel == NULL) || (entry->channel->fd < 0)) {
        return;
    }
    fd = fabric_process_fd(entry->channel->fd);
    if (send(fd, &entry->handle, sizeof(entry->handle),
             MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(entry->handle)) {
        ++entry->events;
    }
    fabric_process_fd_end(fd);
}

uint32_t drv_channel_flush(struct drv_cq *cq)
{
    uint64_t keep[256], handle;
    unsigned num = 0, i;

    if ((cq->channel == NULL) || (cq->channel->fd < 0)) {
        return cq->events;
    }

    while ((num < 256) &&
           (recv(cq->channel->user_fd, &handle, sizeof(handle),
                 MSG_DONTWAIT) == sizeof(handle))) {
        if (handle == cq->handle) {
            --cq->events;
        } else {
            keep[num++] = handle;
        }
    }
    for (i = 0; i < num; ++i) {
        if (send(cq->channel->fd, &keep[i], sizeof(keep[i]),
                 MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
            break;
        }
    }

    return cq->events;
}

struct drv_channel *drv_channel_find(int fd)
{
    struct sim_list *link;
    struct drv_channel *channel;

    for (link = drv.channels.next; link != &drv.channels; link = link->next) {
        channel = list_entry(link, struct drv_channel, link);
        if (channel->user_fd == fd) {
            return channel;
        }
    }

    return NULL;
}

void drv_channel_close(int fd)
{
    struct drv_channel *channel = drv_channel_find(fd);
    struct drv_cq *cq;
    unsigned i;

    if (channel == NULL) {
        return;
    }

    /* a queue has a channel of its own context */
    cq = &drv.cq[channel->ctx->dev->index * SIM_MAX_CQ];
    for (i = 0; (channel->ctx->dev->sim != NULL) &&
                (i < channel->ctx->dev->sim->cq_end); ++i) {
        if (cq[i].channel == channel) {
            cq[i].channel = NULL;
        }
    }
    list_del(&channel->link);
    close(channel->fd);
    free(channel);
}
