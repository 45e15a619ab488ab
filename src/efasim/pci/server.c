/* SPDX-License-Identifier: BSD-3-Clause */
#include "server.h"
#include "event.h"
#include "log.h"

#include "files/output.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* Remove what an earlier server left. -1: it is no socket of this user, and
 * stays. */
static int server_path_clear(const struct pci_server *server)
{
    struct statx file;

    if (!output_look(server->folder, server->name, &file)) {
        return 0;
    }
    return (S_ISSOCK(file.stx_mode) && (file.stx_uid == geteuid())) ?
           unlinkat(server->folder, server->name, 0) : -1;
}

/* For this user alone, under any umask or list of access: one machine at a time
 * is served. */
static int server_listen(const struct pci_server *server,
                         const struct sockaddr_un *addr)
{
    mode_t mask = umask(0);
    int ret;

    umask(mask | S_IXUSR | S_IRWXG | S_IRWXO);
    ret = bind(server->listen_fd, (const struct sockaddr*)addr, sizeof(*addr));
    umask(mask);
    return (ret != 0) ? ret : listen(server->listen_fd, 1);
}

/* In the folder that was looked at, whatever has its name by now. */
static int server_bind(struct pci_server *server, const char *path)
{
    struct sockaddr_un addr = { .sun_family = AF_UNIX };

    if ((strlen(path) >= sizeof(addr.sun_path)) ||
        ((size_t)snprintf(addr.sun_path, sizeof(addr.sun_path),
                          "/proc/self/fd/%d/%s", server->folder,
                          server->name) >= sizeof(addr.sun_path))) {
        return -ENAMETOOLONG; /* for a machine, or for us */
    }
    if (server_path_clear(server) != 0) {
        return -EEXIST;
    }
    server->listen_fd = socket(AF_UNIX,
                               SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return ((server->listen_fd >= 0) &&
            (server_listen(server, &addr) == 0)) ? 0 :
           (errno == ENOENT) ? -ENOSYS : -errno; /* the folder is there */
}

int pci_server_open(struct pci_server *server, struct pci_func *func,
                    const char *path)
{
    server->func       = func;
    server->channel.fd = -1;
    server->listen_fd  = -1;
    server->folder     = output_folder(path, &server->name);
    return (server->folder < 0) ? -errno : server_bind(server, path);
}

static void server_leave(struct pci_server *server)
{
    int err;

    pci_channel_close(&server->channel);
    err = pci_func_renew(server->func);
    if (err != 0) { /* the reset leaves zeros there, at least */
        pci_log(server->func, "out of memory: the next machine gets the same "
                              "memory for send queues as this one, zeroed. Is "
                              "there a memory limit (ulimit, cgroup)?");
    }
    pci_func_reset(server->func);
    pci_event_clear(server->func);
    pci_guest_clear(&server->func->guest);
}

void pci_server_close(struct pci_server *server)
{
    if (server->channel.fd >= 0) {
        server_leave(server);
    }
    if (server->listen_fd >= 0) {
        close(server->listen_fd);
        (void)server_path_clear(server);
    }
    if (server->folder >= 0) {
        close(server->folder);
    }
}

void pci_server_wait(const struct pci_server *server, struct pollfd *wait)
{
    const struct pci_channel *channel = &server->channel;

    wait->fd     = pci_channel_is_full(channel) ? -1 :
                   (channel->fd >= 0) ? channel->fd : server->listen_fd;
    wait->events = (channel->to_send > 0) ? POLLOUT : POLLIN;
}

/* ------------------------------------------------ what is asked */

/* 0 or -errno; the answer is in `msg`. */
#define SERVER_COMMAND(_name) \
    static int _name(struct pci_server *server __attribute__((unused)), \
                     struct server_msg *msg)

SERVER_COMMAND(server_version)
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
                      PCI_GUEST_REGIONS);
    msg->length = sizeof(msg->version) + length + 1;
    return 0;
}

SERVER_COMMAND(server_dma_map)
{
    uint32_t known = VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE;
    int ret;

    if ((msg->fd_num > 1) || (msg->map.flags & ~known)) {
        return -EINVAL;
    }
    ret = pci_guest_map(&server->func->guest, msg->map.iova, msg->map.size,
                        (msg->fd_num > 0) ? msg->fds[0] : -1, msg->map.offset,
                        msg->map.flags & VFIO_DMA_MAP_FLAG_WRITE);
    if ((ret == 0) && (msg->fd_num > 0)) { /* of memory: close() waits not */
        close(msg->fds[--msg->fd_num]);
    }
    msg->length = 0;
    return ret;
}

SERVER_COMMAND(server_dma_unmap)
{
    int ret = 0;

    if (msg->unmap.flags & VFIO_DMA_UNMAP_FLAG_ALL) {
        pci_guest_clear(&server->func->guest);
    } else {
        ret = pci_guest_unmap(&server->func->guest, msg->unmap.iova,
                              msg->unmap.size);
    }
    msg->length = sizeof(msg->unmap);
    return ret;
}

SERVER_COMMAND(server_info)
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

static const uint64_t server_sizes[VFIO_PCI_NUM_REGIONS] = {
    [VFIO_PCI_BAR0_REGION_INDEX]   = PCI_BAR0_BYTES,
    [VFIO_PCI_BAR2_REGION_INDEX]   = PCI_BAR2_BYTES,
    [VFIO_PCI_BAR4_REGION_INDEX]   = PCI_BAR4_BYTES,
    [VFIO_PCI_CONFIG_REGION_INDEX] = PCI_CONFIG_BYTES,
};

SERVER_COMMAND(server_region_info)
{
    uint32_t index = msg->region.index;

    if (index >= VFIO_PCI_NUM_REGIONS) {
        return -EINVAL;
    }

    msg->region = (struct vfio_region_info){
        .argsz = sizeof(struct vfio_region_info),
        .index = index,
        .size  = server_sizes[index],
        .flags = server_sizes[index] ?
                 VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE : 0,
    };
    if (index == VFIO_PCI_BAR2_REGION_INDEX) {
        msg->region.flags |= VFIO_REGION_INFO_FLAG_MMAP;
        msg->send_fd       = server->func->llq_fd;
    }
    msg->length = sizeof(msg->region);
    return 0;
}

SERVER_COMMAND(server_irq_info)
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

SERVER_COMMAND(server_set_irqs)
{
    uint32_t start = msg->irqs.start, count = msg->irqs.count;

    msg->length = 0;
    if (msg->irqs.index >= VFIO_PCI_NUM_IRQS) {
        return -EINVAL;
    }
    if (msg->irqs.index != VFIO_PCI_MSIX_IRQ_INDEX) {
        return 0; /* no other interrupt is ever raised */
    }
    if ((start > PCI_VECTORS) || (count > PCI_VECTORS - start)) {
        return -EINVAL;
    }
    if (count == 0) {
        pci_event_clear(server->func);
        return 0;
    }
    if (!(msg->irqs.flags & VFIO_IRQ_SET_DATA_EVENTFD)) {
        return 0; /* masks: the machine has them */
    }
    if (((msg->fd_num > 0) && (msg->fd_num != count)) ||
        (pci_event_attach(server->func, start, count,
                          (msg->fd_num > 0) ? msg->fds : NULL) != 0)) {
        return -EINVAL;
    }
    msg->fd_num = 0; /* kept */
    return 0;
}

/* Whether an access lies in its region, and its data in a message. */
static int server_is_inside(const struct server_msg *msg)
{
    uint64_t size = (msg->access.region < VFIO_PCI_NUM_REGIONS) ?
                    server_sizes[msg->access.region] : 0;

    return (msg->access.count > 0) &&
           (msg->access.count <= sizeof(msg->data)) &&
           (msg->access.offset <= size) &&
           (msg->access.count <= size - msg->access.offset);
}

SERVER_COMMAND(server_read)
{
    uint64_t offset = msg->access.offset;
    uint32_t count  = msg->access.count, value;

    if (!server_is_inside(msg)) {
        return -EINVAL;
    }

    memset(msg->data, 0, count);
    if (msg->access.region == VFIO_PCI_CONFIG_REGION_INDEX) {
        memcpy(msg->data, server->config + offset, count);
    } else if (msg->access.region == VFIO_PCI_BAR2_REGION_INDEX) {
        memcpy(msg->data, server->func->llq + offset, count);
    } else if (msg->access.region == VFIO_PCI_BAR0_REGION_INDEX) {
        value = pci_bars_read(server->func, offset);
        memcpy(msg->data, &value, (count < 4) ? count : 4);
    }
    msg->length = sizeof(msg->access) + count;
    return 0;
}

SERVER_COMMAND(server_write)
{
    uint32_t count = msg->access.count, value = 0;

    if (!server_is_inside(msg) ||
        (count > msg->length - sizeof(msg->access))) {
        return -EINVAL;
    }

    memcpy(&value, msg->data, (count < 4) ? count : 4);
    if (msg->access.region == VFIO_PCI_CONFIG_REGION_INDEX) {
        pci_bars_config_write(server->config, msg->access.offset, msg->data,
                              count);
    } else if (msg->access.region == VFIO_PCI_BAR2_REGION_INDEX) {
        memcpy(server->func->llq + msg->access.offset, msg->data, count);
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

SERVER_COMMAND(server_reset)
{
    msg->length = 0;
    pci_func_reset(server->func);
    pci_bars_config_init(server->func, server->config);
    return 0;
}

static const struct {
    int    (*run)(struct pci_server *server, struct server_msg *msg);
    uint32_t least;     /* bytes of the body */
    int      takes_fds;
} server_commands[] = {
    [SERVER_VERSION]     = { server_version, sizeof(struct server_version), 0 },
    [SERVER_DMA_MAP]     = { server_dma_map, sizeof(struct server_dma_map), 1 },
    [SERVER_DMA_UNMAP]   = { server_dma_unmap,
                             sizeof(struct server_dma_unmap), 0 },
    [SERVER_INFO]        = { server_info, 0, 0 },
    [SERVER_REGION_INFO] = { server_region_info,
                             sizeof(struct vfio_region_info), 0 },
    [SERVER_IRQ_INFO]    = { server_irq_info, sizeof(struct vfio_irq_info), 0 },
    [SERVER_SET_IRQS]    = { server_set_irqs, sizeof(struct server_irqs), 1 },
    [SERVER_READ]        = { server_read, sizeof(struct server_access), 0 },
    [SERVER_WRITE]       = { server_write, sizeof(struct server_access), 0 },
    [SERVER_RESET]       = { server_reset, 0, 0 },
};

static int server_handle(struct pci_server *server, struct server_msg *msg)
{
    /* 0 is no command */
    unsigned command = (msg->head.command <= SERVER_RESET) ?
                       msg->head.command : 0;

    if ((msg->length < server_commands[command].least) ||
        (msg->head.flags & SERVER_TYPE) ||
        ((msg->fd_num > 0) && !server_commands[command].takes_fds)) {
        return -EINVAL;
    }
    return (server_commands[command].run == NULL) ? -EOPNOTSUPP :
           server_commands[command].run(server, msg);
}

static void server_accept(struct pci_server *server)
{
    int fd = accept4(server->listen_fd, NULL, NULL, SOCK_CLOEXEC);

    if (fd >= 0) {
        pci_channel_open(&server->channel, fd);
        pci_bars_config_init(server->func, server->config);
    }
}

void pci_server_serve(struct pci_server *server)
{
    struct pci_channel *channel = &server->channel;
    int ret;

    if (channel->fd < 0) {
        server_accept(server);
        return;
    }
    if (channel->to_send > 0) {
        ret = pci_channel_send(channel);
    } else {
        ret = pci_channel_receive(channel);
        if (ret > 0) {
            ret = channel->spilled ? -EINVAL :
                  server_handle(server, &channel->msg);
            ret = pci_channel_answer(channel, ret);
        }
    }
    if (ret != 0) {
        server_leave(server);
    }
}
