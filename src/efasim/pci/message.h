/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of vfio-user, as in QEMU's docs/interop/vfio-user.rst. */
#ifndef EFASIM_PCI_MESSAGE_H
#define EFASIM_PCI_MESSAGE_H

#include <linux/vfio.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
