/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Registration of a dma-buf. The device reaches its pages by a mapping of our
 * own; the program need not map it, as with a GPU's memory. Where there is no
 * exporter of dma-bufs, and small kernels have none, a memfd stands in.
 */
#include "driver.h"

#include <errno.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct dmabuf_request {
    uint64_t offset, length, iova;
    uint32_t access;
    int32_t  fd;
};

static int dmabuf_request(const struct drv_cmd *cmd,
                          struct dmabuf_request *req)
{
    int64_t fd = drv_attr_handle(cmd, UVERBS_ATTR_REG_DMABUF_MR_FD);

    req->fd = (fd < 0) ? -1 : (int32_t)fd;
    return (drv_attr_in(cmd, UVERBS_ATTR_REG_DMABUF_MR_OFFSET, &req->offset,
                        sizeof(req->offset), 8) ||
            drv_attr_in(cmd, UVERBS_ATTR_REG_DMABUF_MR_LENGTH, &req->length,
                        sizeof(req->length), 8) ||
            drv_attr_in(cmd, UVERBS_ATTR_REG_DMABUF_MR_IOVA, &req->iova,
                        sizeof(req->iova), 8) ||
            drv_attr_in(cmd, UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS,
                        &req->access, sizeof(req->access), 4) ||
            ((req->offset ^ req->iova) & (DRV_PAGE - 1))) ? -EINVAL : 0;
}

/* 1: a descriptor that a dma-buf's could be. */
static int dmabuf_is_one(int fd)
{
    char link[64], target[64];
    ssize_t length;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    length = readlink(link, target, sizeof(target) - 1);
    if (length < 0) {
        return 0;
    }

    target[length] = '\0';
    return !strncmp(target, "/memfd:", 7) || !strncmp(target, "/dmabuf:", 8);
}

int drv_dmabuf_map(int fd, uint64_t offset, uint64_t length,
                   struct drv_mapping *map)
{
    uint64_t first = offset & ~(uint64_t)(DRV_PAGE - 1);
    off_t end      = lseek(fd, 0, SEEK_END);

    if ((end < 0) && (errno == EBADF)) {
        return -EBADF; /* what programs probe with */
    }
    if (!dmabuf_is_one(fd) || (end < 0) || (length == 0) ||
        (offset + length < offset) || ((uint64_t)end < offset + length)) {
        return -EINVAL;
    }

    map->size  = offset + length - first;
    map->start = mmap(NULL, map->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                      first);
    if (map->start == MAP_FAILED) {
        map->start = NULL;
        return -errno;
    }

    map->addr = (uintptr_t)map->start + (offset - first);
    return 0;
}

void drv_dmabuf_unmap(struct drv_mapping *map)
{
    if (map->start != NULL) {
        munmap(map->start, map->size);
        map->start = NULL;
    }
}

int drv_mr_reg_dmabuf(struct drv_cmd *cmd)
{
    struct drv_dev *dev = cmd->ctx->dev;
    struct sim_pd *pd = drv_pd_get(cmd->ctx, drv_attr_handle(cmd,
                                   UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE));
    struct sim_mr_attr attr = { 0 };
    struct drv_mapping map  = { 0 };
    struct dmabuf_request req;
    int ret;

    ret = (pd == NULL) ? -EINVAL : dmabuf_request(cmd, &req);
    ret = ret ? ret : drv_mr_room(dev);
    ret = ret ? ret : drv_dmabuf_map(req.fd, req.offset, req.length, &map);
    if (ret != 0) {
        return ret;
    }

    attr.addr   = map.addr;
    attr.length = req.length;
    attr.iova   = req.iova;
    attr.access = req.access;
    ret         = sim_mr_register(dev->sim, pd, &attr);
    if (ret != 0) {
        drv_dmabuf_unmap(&map);
        return ret;
    }

    dev->mr[attr.index] = (struct drv_mr){ .ctx = cmd->ctx, .map = map };
    ++cmd->ctx->mrs;
    drv_attr_out(cmd, UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, &attr.key,
                 sizeof(attr.key));
    drv_attr_out(cmd, UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, &attr.key,
                 sizeof(attr.key));
    drv_attr_out_handle(cmd, UVERBS_ATTR_REG_DMABUF_MR_HANDLE, attr.index);
    return 0;
}
