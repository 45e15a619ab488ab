/* SPDX-License-Identifier: BSD-3-Clause */
#include "channel.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A message may come with SERVER_FDS; there is room for more, so that those are
 * seen. */
enum { CHANNEL_FDS_SEEN = 253 };

struct closer_job { /* a pipe writes it whole */
    int                fd;
    struct pci_closer *closer;
};

static void *closer_run(void *arg)
{
    int queue = (int)(long)arg;
    struct closer_job job;

    while (read(queue, &job, sizeof(job)) == sizeof(job)) {
        close(job.fd);
        --job.closer->left;
    }
    return NULL;
}

/* The pipe has room for 4,096 jobs, more than there ever are: PCI_CLOSER_MOST
 * and one message's. */
static int closer_start(struct pci_closer *closer)
{
    sigset_t all, before;
    pthread_t thread;
    int ends[2], err;

    if (closer->queue > 0) {
        return 0;
    }
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return -1;
    }

    sigfillset(&all); /* they are the main thread's */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    err = pthread_create(&thread, NULL, closer_run, (void*)(long)ends[0]);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (err != 0) {
        close(ends[0]);
        close(ends[1]);
        return -1;
    }
    pthread_detach(thread);
    closer->queue = ends[1];
    return 0;
}

/* Without memory for a thread it is closed now. */
static void closer_add(struct pci_closer *closer, int fd)
{
    struct closer_job job = { .fd = fd, .closer = closer };

    if (closer_start(closer) != 0) {
        close(fd);
        return;
    }
    ++closer->left;
    if (write(closer->queue, &job, sizeof(job)) != sizeof(job)) {
        --closer->left;
        close(fd);
    }
}

void pci_channel_open(struct pci_channel *channel, int fd)
{
    int flags = fcntl(fd, F_GETFL);

    (void)fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    memset(&channel->msg, 0, sizeof(channel->msg));
    channel->fd          = fd;
    channel->got         = 0;
    channel->to_send     = 0;
    channel->sent        = 0;
    channel->spilled     = 0;
    channel->msg.send_fd = -1;
}

static void channel_fds_close(struct pci_channel *channel)
{
    struct server_msg *msg = &channel->msg;

    while (msg->fd_num > 0) {
        closer_add(&channel->closer, msg->fds[--msg->fd_num]);
    }
}

void pci_channel_close(struct pci_channel *channel)
{
    if (channel->fd >= 0) {
        channel_fds_close(channel);
        close(channel->fd);
        channel->fd      = -1;
        channel->to_send = 0;
    }
}

static void channel_fds_take(struct pci_channel *channel, struct msghdr *hdr)
{
    struct server_msg *msg = &channel->msg;
    struct cmsghdr *control;
    size_t num, i;
    int fd;

    channel->spilled |= !!(hdr->msg_flags & MSG_CTRUNC);
    for (control = CMSG_FIRSTHDR(hdr); control != NULL;
         control = CMSG_NXTHDR(hdr, control)) {
        if ((control->cmsg_level != SOL_SOCKET) ||
            (control->cmsg_type != SCM_RIGHTS)) {
            continue;
        }
        num = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (i = 0; i < num; ++i) {
            memcpy(&fd, CMSG_DATA(control) + i * sizeof(fd), sizeof(fd));
            if (msg->fd_num < SERVER_FDS) {
                msg->fds[msg->fd_num++] = fd;
            } else {
                channel->spilled = 1;
                closer_add(&channel->closer, fd);
            }
        }
    }
}

/* Bytes up to `end` of the message. 1: they are there. */
static int channel_read(struct pci_channel *channel, uint32_t end)
{
    uint8_t control[CMSG_SPACE(CHANNEL_FDS_SEEN * sizeof(int))]
            __attribute__((aligned(8)));
    struct iovec iov;
    struct msghdr hdr;
    ssize_t got;

    while (channel->got < end) {
        iov = (struct iovec){ (uint8_t*)&channel->msg.head + channel->got,
                              end - channel->got };
        hdr = (struct msghdr){ .msg_iov        = &iov,
                               .msg_iovlen     = 1,
                               .msg_control    = control,
                               .msg_controllen = sizeof(control) };
        got = recvmsg(channel->fd, &hdr, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
        if (got <= 0) {
            return ((got < 0) && ((errno == EAGAIN) || (errno == EINTR))) ?
                   0 : -1;
        }
        channel_fds_take(channel, &hdr);
        channel->got += got;
    }
    return 1;
}

_Static_assert(offsetof(struct server_msg, body) ==
               offsetof(struct server_msg, head) + sizeof(struct server_head),
               "a message is read in one place");

int pci_channel_receive(struct pci_channel *channel)
{
    struct server_msg *msg = &channel->msg;
    int ret                = channel_read(channel, sizeof(msg->head));

    if (ret <= 0) {
        return ret;
    }
    if ((msg->head.size < sizeof(msg->head)) ||
        (msg->head.size - sizeof(msg->head) > sizeof(msg->body))) {
        return -1; /* where the next one begins nobody knows */
    }
    if (channel->got == sizeof(msg->head)) {
        memset(msg->body, 0, sizeof(msg->body));
    }
    ret = channel_read(channel, msg->head.size);
    if (ret > 0) {
        msg->length = msg->head.size - sizeof(msg->head);
    }
    return ret;
}

int pci_channel_answer(struct pci_channel *channel, int err)
{
    struct server_msg *msg = &channel->msg;
    int is_wanted          = !(msg->head.flags & SERVER_NO_REPLY);

    channel_fds_close(channel);
    channel->got     = 0;
    channel->sent    = 0;
    channel->spilled = 0;
    msg->send_fd     = err ? -1 : msg->send_fd;
    msg->head.flags  = SERVER_REPLY | (err ? SERVER_ERROR : 0);
    msg->head.error  = err ? -err : 0;
    msg->head.size   = sizeof(msg->head) + (err ? 0 : msg->length);
    channel->to_send = is_wanted ? msg->head.size : 0;
    if (!is_wanted) {
        msg->send_fd = -1;
    }
    return pci_channel_send(channel);
}

int pci_channel_send(struct pci_channel *channel)
{
    uint8_t control[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8)));
    struct server_msg *msg = &channel->msg;
    struct iovec iov;
    struct msghdr hdr;
    struct cmsghdr *cmsg;
    ssize_t sent;

    while (channel->to_send > 0) {
        iov = (struct iovec){ (uint8_t*)&msg->head + channel->sent,
                              channel->to_send };
        hdr = (struct msghdr){ .msg_iov = &iov, .msg_iovlen = 1 };
        if (msg->send_fd >= 0) { /* goes with the first byte */
            memset(control, 0, sizeof(control));
            hdr.msg_control    = control;
            hdr.msg_controllen = sizeof(control);
            cmsg               = CMSG_FIRSTHDR(&hdr);
            cmsg->cmsg_level   = SOL_SOCKET;
            cmsg->cmsg_type    = SCM_RIGHTS;
            cmsg->cmsg_len     = CMSG_LEN(sizeof(int));
            memcpy(CMSG_DATA(cmsg), &msg->send_fd, sizeof(int));
        }
        sent = sendmsg(channel->fd, &hdr, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0) {
            return ((errno == EAGAIN) || (errno == EINTR)) ? 0 : -1;
        }
        msg->send_fd      = -1;
        channel->sent    += sent;
        channel->to_send -= sent;
    }
    return 0;
}
