/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernel's RDMA netlink, as far as a program under the emulator asks it.
 *
 * libibverbs asks twice. For the list of devices: refused, as the machine's own
 * would hide ours, and then it looks into SYSFS_PATH. And whether fork() copies
 * registered pages: kernels from 5.12 on say yes, and without that answer
 * libibverbs marks registered pages so that a child does not have them at all.
 *
 * The socket is a real netlink one, of the family that processes of the machine
 * talk over (NETLINK_USERSOCK), so that bind, getsockname, poll and recvmsg are
 * the kernel's; what the program sends to the kernel is answered into its own
 * queue. Where that family is missing there is no RDMA netlink, as before.
 */
#include "config.h"
#include "preload.h"
#include "state.h"

#include <errno.h>
#include <linux/netlink.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    NETLINK_SOCKETS = 16,
    NETLINK_REQUEST_MAX = 1024,

    /* of <rdma/rdma_netlink.h>, whose older versions lack some */
    NETLINK_NLDEV             = 5,
    NETLINK_CMD_SYS_GET       = 6,
    NETLINK_ATTR_COPY_ON_FORK = 93,
};

/* Descriptors, plus one; 0: free */
static _Atomic int netlink_fds[NETLINK_SOCKETS];
static _Atomic int netlink_num;

struct netlink_error {
    struct nlmsghdr hdr;
    struct nlmsgerr body;
};

struct netlink_sys_get {
    struct nlmsghdr hdr;
    struct nlattr   attr;
    uint8_t         copy_on_fork;
    uint8_t         pad[3];
};

static _Atomic int *netlink_find(int fd)
{
    unsigned i;

    if (atomic_load_explicit(&netlink_num, memory_order_relaxed) == 0) {
        return NULL;
    }

    for (i = 0; i < NETLINK_SOCKETS; ++i) {
        if (atomic_load_explicit(&netlink_fds[i],
                                 memory_order_relaxed) == fd + 1) {
            return &netlink_fds[i];
        }
    }

    return NULL;
}

void drv_netlink_close(int fd)
{
    _Atomic int *entry = (fd >= 0) ? netlink_find(fd) : NULL;
    int value          = fd + 1;

    if ((entry != NULL) &&
        atomic_compare_exchange_strong(entry, &value, 0)) {
        atomic_fetch_sub(&netlink_num, 1);
    }
}

/* Returns fd, or -1 with errno when there is no place for it. */
static int netlink_remember(int fd)
{
    unsigned i;
    int value;

    for (i = 0; i < NETLINK_SOCKETS; ++i) {
        value = 0;
        if (atomic_compare_exchange_strong(&netlink_fds[i], &value, fd + 1)) {
            atomic_fetch_add(&netlink_num, 1);
            return fd;
        }
    }

    close(fd);
    errno = EPROTONOSUPPORT;
    return -1;
}

/* Put an answer into the program's own queue, where the kernel's would be. */
static int netlink_answer(int fd, const void *data, size_t size)
{
    struct sockaddr_nl self;
    socklen_t length = sizeof(self);

    if ((getsockname(fd, (struct sockaddr*)&self, &length) != 0) ||
        (PRELOAD_NEXT(sendto)(fd, data, size, MSG_DONTWAIT,
                              (struct sockaddr*)&self, length) < 0)) {
        return -1;
    }

    return 0;
}

static int netlink_request(int fd, const struct nlmsghdr *request)
{
    struct netlink_sys_get sys = { 0 };
    struct netlink_error err   = { 0 };

    sys.hdr.nlmsg_seq = err.hdr.nlmsg_seq = request->nlmsg_seq;
    sys.hdr.nlmsg_pid = err.hdr.nlmsg_pid = request->nlmsg_pid;
    err.hdr.nlmsg_len  = sizeof(err);
    err.hdr.nlmsg_type = NLMSG_ERROR;
    err.body.msg       = *request;

    if (request->nlmsg_type == (NETLINK_NLDEV << 10 | NETLINK_CMD_SYS_GET)) {
        sys.hdr.nlmsg_len  = sizeof(sys);
        sys.hdr.nlmsg_type = request->nlmsg_type;
        sys.attr.nla_len   = NLA_HDRLEN + sizeof(sys.copy_on_fork);
        sys.attr.nla_type  = NETLINK_ATTR_COPY_ON_FORK;
        sys.copy_on_fork   = drv.device[0].knobs.copy_on_fork;
        if (netlink_answer(fd, &sys, sizeof(sys)) != 0) {
            return -1;
        }
        if (!(request->nlmsg_flags & NLM_F_ACK)) {
            return 0;
        }
    } else {
        err.body.error = -EOPNOTSUPP;
    }

    return netlink_answer(fd, &err, sizeof(err));
}

/* A request that the program sends, answered at once. */
static ssize_t netlink_send(int fd, const struct iovec *iov, size_t num)
{
    union {
        struct nlmsghdr hdr;
        char            bytes[NETLINK_REQUEST_MAX];
    } request;
    size_t size = 0, i;

    for (i = 0; i < num; ++i) {
        if (iov[i].iov_len > sizeof(request) - size) {
            errno = EMSGSIZE;
            return -1;
        }
        memcpy(request.bytes + size, iov[i].iov_base, iov[i].iov_len);
        size += iov[i].iov_len;
    }
    /* the kernel drops what is no message */
    if ((size >= sizeof(request.hdr)) && (request.hdr.nlmsg_len <= size) &&
        (request.hdr.nlmsg_len >= sizeof(request.hdr)) &&
        (netlink_request(fd, &request.hdr) != 0)) {
        return -1;
    }

    return size;
}

PRELOAD_EXPORT int socket(int domain, int type, int protocol)
{
    int fd;

    if ((domain != AF_NETLINK) || (protocol != NETLINK_RDMA) ||
        !drv_config_is_enabled()) {
        return PRELOAD_NEXT(socket)(domain, type, protocol);
    }

    fd = PRELOAD_NEXT(socket)(domain, type, NETLINK_USERSOCK);
    if (fd < 0) {
        errno = EPROTONOSUPPORT;
        return -1;
    }
    return netlink_remember(fd);
}

PRELOAD_EXPORT ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
    if (netlink_find(fd) != NULL) {
        return netlink_send(fd, msg->msg_iov, msg->msg_iovlen);
    }
    return PRELOAD_NEXT(sendmsg)(fd, msg, flags);
}

PRELOAD_EXPORT ssize_t sendto(int fd, const void *data, size_t size, int flags,
                              const struct sockaddr *to, socklen_t length)
{
    struct iovec iov = { (void*)data, size };

    if (netlink_find(fd) != NULL) {
        return netlink_send(fd, &iov, 1);
    }
    return PRELOAD_NEXT(sendto)(fd, data, size, flags, to, length);
}
