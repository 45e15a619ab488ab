/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The connection to a machine (QEMU). No call here blocks: messages are
 * received and answers are sent in pieces. The next message is read only after
 * the last answer has been sent.
 */
#ifndef EFASIM_PCI_CHANNEL_H
#define EFASIM_PCI_CHANNEL_H

#include <linux/vfio.h>
#include <stddef.h>
#include <stdint.h>

/* Messages of vfio-user, as in QEMU's docs/interop/vfio-user.rst. */
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
    SERVER_TYPE     = 0x0f, /* flags of a message: 0 is a command */
    SERVER_REPLY    = 0x01,
    SERVER_NO_REPLY = 0x10,
    SERVER_ERROR    = 0x20,

    SERVER_FDS      = 16,   /* descriptors with one message, at most */
    SERVER_BODY_MAX = 4096, /* bytes after the header, at most */
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

/* A message, and its answer, which replaces it */
struct server_msg {
    uint32_t length;           /* of the body */
    int      fds[SERVER_FDS];  /* received with it */
    unsigned fd_num;
    int      send_fd;          /* goes with the answer; -1: none */

    struct server_head head __attribute__((aligned(8))); /* then no gap */
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

/* No more is received from a machine while so many of its are to be closed */
enum { PCI_CLOSER_MOST = 64 };

/*
 * Descriptors that a machine sent and that are not taken. close() may wait for
 * as long as their maker likes (a socket that lingers, a file system that the
 * machine serves itself), so a thread of each function does it.
 */
struct pci_closer {
    int              queue;  /* to the thread, which starts with the first */
    _Atomic unsigned left;   /* descriptors to be closed */
};

struct pci_channel {
    int               fd;       /* non-blocking; -1: no connection */
    uint32_t          got;      /* bytes received of the message */
    uint32_t          to_send;  /* bytes of the answer; 0: there is none */
    uint32_t          sent;     /* bytes of it that are sent */
    uint8_t           spilled;  /* more descriptors came than are allowed */
    struct pci_closer closer;   /* also of the connections before */
    struct server_msg msg;
};

/* Take over a new connection. */
void pci_channel_open(struct pci_channel *channel, int fd);

/* Close the connection, and received descriptors that were not taken. */
void pci_channel_close(struct pci_channel *channel);

/* Receive. 1: channel->msg is complete; 0: not yet; -1: the machine has
 * disconnected, or violates the protocol. */
int pci_channel_receive(struct pci_channel *channel);

/* Answer the message: close its descriptors that were not taken, and send
 * channel->msg with `err` (0 or -errno), unless the machine wants no answer. 0,
 * or -1: the machine has disconnected. */
int pci_channel_answer(struct pci_channel *channel, int err);

/* Send more of the answer. 0, or -1: the machine has disconnected. */
int pci_channel_send(struct pci_channel *channel);

/* Whether the machine has to wait until some descriptors are closed. */
static inline int pci_channel_is_full(const struct pci_channel *channel)
{
    return channel->closer.left > PCI_CLOSER_MOST;
}

#endif
