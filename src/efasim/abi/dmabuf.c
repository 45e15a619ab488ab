/*
 * Registration of a dma-buf. The device reaches its pages by a mapping of our
 * own; the program need not map it, as with a GPU's memory. Where there is no
 * exporter of dma-bufs, and small kernels have none, a memfd stands in.
 */
#include "abi.h"

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

static int dmabuf_request(const struct abi_cmd *cmd,
                          struct dmabuf_request *req)
{
    int64_t fd = abi_attr_handle(cmd, UVERBS_ATTR_REG_DMABUF_MR_FD);

    req->fd = (fd < 0) ? -1 : (int32_t)fd;
    return (abi_attr_in(cmd, UVERBS_ATTR_REG_DMABUF_MR_OFFSET, &req->offset,
                        sizeof(req->offset), 8) ||
            abi_attr_in(cmd, UVERBS_ATTR_REG_DMABUF_MR_LENGTH, &req->length,
                        sizeof(req->length), 8) ||
            abi_attr_in(cmd, UVERBS_ATTR_REG_DMABUF_MR_IOVA, &req->iova,
                        sizeof(req->iova), 8) ||
            abi_attr_in(cmd, UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS,
                        &req->access, sizeof(req->access), 4) ||
            (req->length == 0) || (req->offset + req->length < req->offset) ||
            ((req->offset ^ req->iova) & (ABI_PAGE - 1))) ? -EINVAL : 0;
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

/* Map the pages; *map is the mapping, the range begins at *addr in it. */
static int dmabuf_map(const struct dmabuf_request *req, void **map,
                      size_t *size, uint64_t *addr)
{
    uint64_t first = req->offset & ~(uint64_t)(ABI_PAGE - 1);
    off_t end      = lseek(req->fd, 0, SEEK_END);

    if ((end < 0) && (errno == EBADF)) {
        return -EBADF; /* what programs probe with */
    }
    if (!dmabuf_is_one(req->fd) || (end < 0) ||
        ((uint64_t)end < req->offset + req->length)) {
        return -EINVAL;
    }

    *size = req->offset + req->length - first;
    *map  = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_SHARED, req->fd,
                 first);
    if (*map == MAP_FAILED) {
        return -errno;
    }

    *addr = (uintptr_t)*map + (req->offset - first);
    return 0;
}

int abi_mr_reg_dmabuf(struct abi_cmd *cmd)
{
    struct abi_dev *dev = cmd->ctx->dev;
    struct sim_pd *pd = abi_pd_get(cmd->ctx, abi_attr_handle(cmd,
                                   UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE));
    struct sim_mr_attr attr = { 0 };
    struct dmabuf_request req;
    void *map   = NULL;
    size_t size = 0;
    int ret;

    ret = (pd == NULL) ? -EINVAL : dmabuf_request(cmd, &req);
    ret = ret ? ret : abi_mr_room(dev);
    ret = ret ? ret : dmabuf_map(&req, &map, &size, &attr.addr);
    if (ret != 0) {
        return ret;
    }

    attr.length = req.length;
    attr.iova   = req.iova;
    attr.access = req.access;
    ret         = sim_mr_register(dev->sim, pd, &attr);
    if (ret != 0) {
        munmap(map, size);
        return ret;
    }

    dev->mr[attr.index] = (struct abi_mr){ .ctx = cmd->ctx, .map = map,
                                           .map_size = size };
    abi_attr_out(cmd, UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, &attr.key,
                 sizeof(attr.key));
    abi_attr_out(cmd, UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, &attr.key,
                 sizeof(attr.key));
    abi_attr_out_handle(cmd, UVERBS_ATTR_REG_DMABUF_MR_HANDLE, attr.index);
    return 0;
}
