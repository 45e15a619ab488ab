/* SPDX-License-Identifier: BSD-3-Clause */
#include "server.h"

#include <errno.h>
#include <linux/vfio.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum server_command {
    SERVER_VERSION     = 1,
    SERVER_DMA_MAP     = 2,
    SERVER_DMA_UNMAP   = 3,
    SERVER_INFO        = 4,
    SERVER_REGION_INFO = 5,
    SERVER_IRQ_INFO    = 7,
    SERVER_SET_IRQS    = 8,
    SERVER_READ        = 9,
    SERVER_WRITE       = 10,
    SERVER_RESET       = 13,
};

enum {
    SERVER_REPLY    = 0x01, /* flags of a message */
    SERVER_NO_REPLY = 0x10,
    SERVER_ERROR    = 0x20,

    SERVER_FDS      = 16,   /* with one message */
    SERVER_BODY_MAX = 4096, /* bytes behind the header */
    SERVER_MAPS_MAX = 4096, /* that we let the machine think we can keep */
};

struct server_head {
    uint16_t id, command;
    uint32_t size, flags, error;
};

struct server_version {
    uint16_t major, minor;
};

struct server_dma_map {
    uint32_t argsz, flags;
    uint64_t offset, iova, size;
};

struct server_dma_unmap {
    uint32_t argsz, flags;
    uint64_t iova, size;
};

struct server_irqs { /* as struct vfio_irq_set begins */
    uint32_t argsz, flags, index, start, count;
};

struct server_access {
    uint64_t offset;
    uint32_t region, count;
};

/* A message and, in its place, the answer */
struct server_msg {
    uint32_t length;           /* of the body */
    int      fds[SERVER_FDS];  /* that came with it */
    unsigned fd_num;
    int      send_fd;          /* goes with the answer; -1: none */

    struct server_head head;
    union { /* the last, as one of them has no fixed size */
        uint8_t                 body[SERVER_BODY_MAX];
        struct server_version   version;
        struct server_dma_map   map;
        struct server_dma_unmap unmap;
        struct vfio_device_info info;
        struct vfio_region_info region;
        struct vfio_irq_info    irq;
        struct server_irqs      irqs;
        struct {
            struct server_access access;
            uint8_t              data[SERVER_BODY_MAX -
                                      sizeof(struct server_access)];
        };
    };
};

int pci_server_open(struct pci_server *server, struct pci_func *func,
                    const char *path)
{
    struct sockaddr_un addr = { .sun_family = AF_UNIX };

    server->func      = func;
    server->path      = path;
    server->fd        = -1;
    server->listen_fd = -1;
    if (strlen(path) >= sizeof(addr.sun_path)) {
        return -ENAMETOOLONG;
    }

    strcpy(addr.sun_path, path);
    unlink(path);
    server->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if ((server->listen_fd < 0) ||
        (bind(server->listen_fd, (struct sockaddr*)&addr, sizeof(addr)) != 0) ||
        (listen(server->listen_fd, 1) != 0)) {
        return -errno;
    }
    return 0;
}

static void server_irqs_clear(struct pci_func *func)
{
    unsigned i;

    for (i = 0; i < PCI_VECTORS; ++i) {
        if (func->irq[i] >= 0) {
            close(func->irq[i]);
            func->irq[i] = -1;
        }
    }
}

static void server_leave(struct pci_server *server)
{
    close(server->fd);
    server->fd = -1;
    pci_func_reset(server->func);
    server_irqs_clear(server->func);
    pci_guest_clear(&server->func->guest);
}

void pci_server_close(struct pci_server *server)
{
    if (server->fd >= 0) {
        server_leave(server);
    }
    if (server->listen_fd >= 0) {
        close(server->listen_fd);
        unlink(server->path);
    }
}

int pci_server_fd(const struct pci_server *server)
{
    return (server->fd >= 0) ? server->fd : server->listen_fd;
}

/* ------------------------------------------------ messages */

static void server_fds_close(struct server_msg *msg)
{
    while (msg->fd_num > 0) {
        --msg->fd_num;
        if (msg->fds[msg->fd_num] >= 0) {
            close(msg->fds[msg->fd_num]);
        }
    }
}

static void server_fds_take(struct server_msg *msg, struct msghdr *hdr)
{
    struct cmsghdr *control;
    const int *fds;
    size_t num, i;

    for (control = CMSG_FIRSTHDR(hdr); control != NULL;
         control = CMSG_NXTHDR(hdr, control)) {
        if ((control->cmsg_level != SOL_SOCKET) ||
            (control->cmsg_type != SCM_RIGHTS)) {
            continue;
        }
        fds = (const int*)CMSG_DATA(control);
        num = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (i = 0; (i < num) && (msg->fd_num < SERVER_FDS); ++i) {
            msg->fds[msg->fd_num++] = fds[i];
        }
    }
}

static int server_read_all(int fd, void *dst, size_t length)
{
    ssize_t got;

    for (; length > 0; length -= got, dst = (uint8_t*)dst + got) {
        do {
            got = recv(fd, dst, length, MSG_WAITALL);
        } while ((got < 0) && (errno == EINTR));
        if (got <= 0) {
            return -1;
        }
    }
    return 0;
}

/* 0; -1: the machine has left, or does not speak the protocol. */
static int server_receive(int fd, struct server_msg *msg)
{
    uint8_t control[CMSG_SPACE(SERVER_FDS * sizeof(int))];
    struct iovec iov  = { &msg->head, sizeof(msg->head) };
    struct msghdr hdr = { .msg_iov        = &iov,
                          .msg_iovlen     = 1,
                          .msg_control    = control,
                          .msg_controllen = sizeof(control) };
    ssize_t got;

    msg->fd_num  = 0;
    msg->send_fd = -1;
    do {
        got = recvmsg(fd, &hdr, MSG_CMSG_CLOEXEC);
    } while ((got < 0) && (errno == EINTR));
    if (got <= 0) {
        return -1;
    }

    server_fds_take(msg, &hdr);
    if (server_read_all(fd, (uint8_t*)&msg->head + got,
                        sizeof(msg->head) - got) ||
        (msg->head.size < sizeof(msg->head)) ||
        (msg->head.size - sizeof(msg->head) > sizeof(msg->body))) {
        return -1;
    }

    msg->length = msg->head.size - sizeof(msg->head);
    memset(msg->body, 0, sizeof(msg->body));
    return server_read_all(fd, msg->body, msg->length);
}

static int server_reply(int fd, struct server_msg *msg, int err)
{
    uint8_t control[CMSG_SPACE(sizeof(int))] = { 0 };
    struct iovec iov[2] = { { &msg->head, sizeof(msg->head) },
                            { msg->body, err ? 0 : msg->length } };
    struct msghdr hdr   = { .msg_iov = iov, .msg_iovlen = 2 };
    struct cmsghdr *cmsg;

    msg->head.flags = SERVER_REPLY | (err ? SERVER_ERROR : 0);
    msg->head.error = err ? -err : 0;
    msg->head.size  = sizeof(msg->head) + iov[1].iov_len;
    if ((err == 0) && (msg->send_fd >= 0)) {
        hdr.msg_control    = control;
        hdr.msg_controllen = sizeof(control);
        cmsg               = CMSG_FIRSTHDR(&hdr);
        cmsg->cmsg_level   = SOL_SOCKET;
        cmsg->cmsg_type    = SCM_RIGHTS;
        cmsg->cmsg_len     = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(cmsg), &msg->send_fd, sizeof(int));
    }
    return (sendmsg(fd, &hdr, MSG_NOSIGNAL) ==
            (ssize_t)msg->head.size) ? 0 : -1;
}

/* ------------------------------------------------ what is asked */

static int server_version(struct server_msg *msg)
{
    int length;

    if (msg->version.major != 0) {
        return -EINVAL;
    }
    length = snprintf((char*)msg->body + sizeof(msg->version),
                      sizeof(msg->body) - sizeof(msg->version),
                      "{\"capabilities\":{\"max_msg_fds\":%d,"
                      "\"max_data_xfer_size\":%d,\"max_dma_maps\":%d,"
                      "\"pgsizes\":4096}}", SERVER_FDS, 1024,
                      SERVER_MAPS_MAX);
    msg->length = sizeof(msg->version) + length + 1;
    return 0;
}

static int server_dma_map(struct pci_func *func, struct server_msg *msg)
{
    int ret = pci_guest_map(&func->guest, msg->map.iova, msg->map.size,
                            (msg->fd_num > 0) ? msg->fds[0] : -1,
                            msg->map.offset,
                            msg->map.flags & VFIO_DMA_MAP_FLAG_WRITE);

    msg->length = 0;
    return ret;
}

static int server_dma_unmap(struct pci_func *func, struct server_msg *msg)
{
    if (msg->unmap.flags & VFIO_DMA_UNMAP_FLAG_ALL) {
        pci_guest_clear(&func->guest);
    } else {
        pci_guest_unmap(&func->guest, msg->unmap.iova, msg->unmap.size);
    }
    msg->length = sizeof(msg->unmap);
    return 0;
}

static int server_info(struct server_msg *msg)
{
    msg->info = (struct vfio_device_info){
        .argsz       = sizeof(struct vfio_device_info),
        .flags       = VFIO_DEVICE_FLAGS_RESET | VFIO_DEVICE_FLAGS_PCI,
        .num_regions = VFIO_PCI_NUM_REGIONS,
        .num_irqs    = VFIO_PCI_NUM_IRQS,
    };
    /* of the structure only what the protocol has */
    msg->length = 4 * sizeof(uint32_t);
    return 0;
}

static int server_region_info(struct pci_func *func, struct server_msg *msg)
{
    static const uint64_t sizes[VFIO_PCI_NUM_REGIONS] = {
        [VFIO_PCI_BAR0_REGION_INDEX]   = PCI_BAR0_BYTES,
        [VFIO_PCI_BAR2_REGION_INDEX]   = PCI_BAR2_BYTES,
        [VFIO_PCI_BAR4_REGION_INDEX]   = PCI_BAR4_BYTES,
        [VFIO_PCI_CONFIG_REGION_INDEX] = PCI_CONFIG_BYTES,
    };
    uint32_t index = msg->region.index;

    if (index >= VFIO_PCI_NUM_REGIONS) {
        return -EINVAL;
    }

    msg->region = (struct vfio_region_info){
        .argsz = sizeof(struct vfio_region_info),
        .index = index,
        .size  = sizes[index],
        .flags = sizes[index] ?
                 VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE : 0,
    };
    if (index == VFIO_PCI_BAR2_REGION_INDEX) {
        msg->region.flags |= VFIO_REGION_INFO_FLAG_MMAP;
        msg->send_fd       = func->llq_fd;
    }
    msg->length = sizeof(msg->region);
    return 0;
}

static int server_irq_info(struct server_msg *msg)
{
    uint32_t index = msg->irq.index;

    if (index >= VFIO_PCI_NUM_IRQS) {
        return -EINVAL;
    }

    msg->irq = (struct vfio_irq_info){
        .argsz = sizeof(struct vfio_irq_info),
        .flags = VFIO_IRQ_INFO_EVENTFD,
        .index = index,
        .count = (index == VFIO_PCI_MSIX_IRQ_INDEX) ? PCI_VECTORS : 0,
    };
    msg->length = sizeof(msg->irq);
    return 0;
}

static int server_set_irqs(struct pci_func *func, struct server_msg *msg)
{
    uint32_t start = msg->irqs.start, count = msg->irqs.count, i;

    msg->length = 0;
    if (msg->irqs.index != VFIO_PCI_MSIX_IRQ_INDEX) {
        return 0; /* no other interrupt is ever raised */
    }
    if ((start > PCI_VECTORS) || (count > PCI_VECTORS - start)) {
        return -EINVAL;
    }
    if (count == 0) {
        server_irqs_clear(func);
        return 0;
    }
    if (!(msg->irqs.flags & VFIO_IRQ_SET_DATA_EVENTFD)) {
        return 0; /* masks: the machine has them */
    }

    for (i = 0; i < count; ++i) {
        if (func->irq[start + i] >= 0) {
            close(func->irq[start + i]);
            func->irq[start + i] = -1;
        }
        if (i < msg->fd_num) {
            func->irq[start + i] = msg->fds[i];
            msg->fds[i]          = -1; /* kept */
        }
    }
    return 0;
}

static int server_read(struct pci_server *server, struct server_msg *msg)
{
    uint64_t offset = msg->access.offset;
    uint32_t count  = msg->access.count, value;

    if (count > sizeof(msg->data)) {
        return -EINVAL;
    }

    memset(msg->data, 0, count);
    if (msg->access.region == VFIO_PCI_CONFIG_REGION_INDEX) {
        if ((offset > PCI_CONFIG_BYTES) ||
            (count > PCI_CONFIG_BYTES - offset)) {
            return -EINVAL;
        }
        memcpy(msg->data, server->config + offset, count);
    } else if (msg->access.region == VFIO_PCI_BAR0_REGION_INDEX) {
        value = pci_bars_read(server->func, offset);
        memcpy(msg->data, &value, (count < 4) ? count : 4);
    }
    msg->length = sizeof(msg->access) + count;
    return 0;
}

static int server_write(struct pci_server *server, struct server_msg *msg)
{
    uint32_t count = msg->access.count, value = 0;

    if ((count > sizeof(msg->data)) ||
        (count > msg->length - sizeof(msg->access))) {
        return -EINVAL;
    }

    memcpy(&value, msg->data, (count < 4) ? count : 4);
    if (msg->access.region == VFIO_PCI_CONFIG_REGION_INDEX) {
        pci_bars_config_write(server->config, msg->access.offset, msg->data,
                              count);
    } else if (count != 4) {
        /* the driver and libefa write no others */
    } else if (msg->access.region == VFIO_PCI_BAR0_REGION_INDEX) {
        pci_bars_write(server->func, msg->access.offset, value);
    } else if (msg->access.region == VFIO_PCI_BAR4_REGION_INDEX) {
        pci_bars_doorbell(server->func, msg->access.offset, value);
    }
    msg->length = sizeof(msg->access);
    return 0;
}

/* The least body of each command */
static uint32_t server_least(uint16_t command)
{
    switch (command) {
    case SERVER_VERSION:
        return sizeof(struct server_version);
    case SERVER_DMA_MAP:
        return sizeof(struct server_dma_map);
    case SERVER_DMA_UNMAP:
        return sizeof(struct server_dma_unmap);
    case SERVER_REGION_INFO:
        return sizeof(struct vfio_region_info);
    case SERVER_IRQ_INFO:
        return sizeof(struct vfio_irq_info);
    case SERVER_SET_IRQS:
        return sizeof(struct server_irqs);
    case SERVER_READ:
    case SERVER_WRITE:
        return sizeof(struct server_access);
    default:
        return 0;
    }
}

static int server_handle(struct pci_server *server, struct server_msg *msg)
{
    if (msg->length < server_least(msg->head.command)) {
        return -EINVAL;
    }

    switch (msg->head.command) {
    case SERVER_VERSION:
        return server_version(msg);
    case SERVER_DMA_MAP:
        return server_dma_map(server->func, msg);
    case SERVER_DMA_UNMAP:
        return server_dma_unmap(server->func, msg);
    case SERVER_INFO:
        return server_info(msg);
    case SERVER_REGION_INFO:
        return server_region_info(server->func, msg);
    case SERVER_IRQ_INFO:
        return server_irq_info(msg);
    case SERVER_SET_IRQS:
        return server_set_irqs(server->func, msg);
    case SERVER_READ:
        return server_read(server, msg);
    case SERVER_WRITE:
        return server_write(server, msg);
    case SERVER_RESET:
        msg->length = 0;
        pci_func_reset(server->func);
        pci_bars_config_init(server->func, server->config);
        return 0;
    default:
        return -EOPNOTSUPP;
    }
}

void pci_server_serve(struct pci_server *server)
{
    static struct server_msg msg;
    int ret, no_reply;

    if (server->fd < 0) {
        server->fd = accept4(server->listen_fd, NULL, NULL, SOCK_CLOEXEC);
        pci_bars_config_init(server->func, server->config);
        return;
    }

    ret = server_receive(server->fd, &msg);
    if (ret == 0) {
        no_reply = msg.head.flags & SERVER_NO_REPLY;
        ret      = server_handle(server, &msg);
        ret      = no_reply ? 0 : server_reply(server->fd, &msg, ret);
    }
    server_fds_close(&msg);
    if (ret != 0) {
        server_leave(server);
    }
}
