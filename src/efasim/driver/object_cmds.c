/* SPDX-License-Identifier: BSD-3-Clause */
/* Protection domains, address handles, registrations, completion channels. */
#include "driver.h"
#include "efa_uapi.h"

#include <errno.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

struct sim_pd *drv_pd_get(struct drv_ctx *ctx, int64_t handle)
{
    return ((handle >= 0) && (handle < SIM_MAX_PD) &&
            (ctx->dev->pd[handle].ctx == ctx)) ?
           ctx->dev->pd[handle].pd : NULL;
}

int drv_pd_alloc(struct drv_cmd *cmd)
{
    struct ib_uverbs_alloc_pd_resp resp = { 0 };
    struct drv_efa_pd_out efa           = { 0 };
    struct drv_dev *dev                 = cmd->ctx->dev;
    struct sim_pd *pd;
    int ret;

    ret = sim_pd_create(dev->sim, &pd);
    if (ret != 0) {
        return ret;
    }

    dev->pd[pd->index].pd  = pd;
    dev->pd[pd->index].ctx = cmd->ctx;
    resp.pd_handle         = pd->index;
    efa.pdn                = pd->index;
    drv_attr_out(cmd, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
    drv_attr_out(cmd, UVERBS_ATTR_UHW_OUT, &efa, sizeof(efa));
    return 0;
}

int drv_pd_destroy(struct drv_cmd *cmd)
{
    int64_t handle    = drv_attr_handle(cmd, UVERBS_ATTR_DESTROY_PD_HANDLE);
    struct sim_pd *pd = drv_pd_get(cmd->ctx, handle);
    int ret;

    if (pd == NULL) {
        return -EINVAL;
    }

    ret = sim_pd_destroy(cmd->ctx->dev->sim, pd);
    if (ret == 0) {
        cmd->ctx->dev->pd[handle].ctx = NULL;
    }
    return ret;
}

int drv_ah_create(struct drv_cmd *cmd)
{
    struct ib_uverbs_create_ah_resp resp = { 0 };
    struct drv_efa_ah_out efa            = { 0 };
    struct drv_dev *dev                  = cmd->ctx->dev;
    struct ib_uverbs_create_ah req;
    struct sim_pd *pd;
    uint16_t number;
    int ret;

    if (drv_attr_in(cmd, UVERBS_ATTR_CORE_IN, &req, sizeof(req),
                    sizeof(req))) {
        return -EINVAL;
    }

    pd = drv_pd_get(cmd->ctx, req.pd_handle);
    if ((pd == NULL) || !req.attr.is_global || (req.attr.port_num > 1)) {
        return -EINVAL;
    }

    ret = sim_ah_create(dev->sim, pd, req.attr.grh.dgid, &number);
    if (ret != 0) {
        return ret;
    }

    dev->ah_ctx[number] = cmd->ctx;
    resp.ah_handle      = number;
    efa.number          = number;
    drv_attr_out(cmd, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
    drv_attr_out(cmd, UVERBS_ATTR_UHW_OUT, &efa, sizeof(efa));
    return 0;
}

int drv_ah_destroy(struct drv_cmd *cmd)
{
    int64_t handle      = drv_attr_handle(cmd, UVERBS_ATTR_DESTROY_AH_HANDLE);
    struct drv_dev *dev = cmd->ctx->dev;

    if ((handle < 0) || (handle >= (int64_t)dev->knobs.max_ah) ||
        (dev->ah_ctx[handle] != cmd->ctx)) {
        return -EINVAL;
    }

    return sim_ah_destroy(dev->sim, handle);
}

static uint64_t drv_page_span(uint64_t addr, uint64_t length)
{
    uint64_t first = addr & ~(uint64_t)(DRV_PAGE - 1);

    return (addr + length - first + DRV_PAGE - 1) & ~(uint64_t)(DRV_PAGE - 1);
}

/* The kernel pins the pages, so they must be there. mincore() says whether
 * the range is mapped. */
int drv_is_mapped(uint64_t addr, uint64_t span)
{
    static unsigned char vec[1 << 16]; /* one byte per page; under the lock */
    uint64_t at, step;

    addr &= ~(uint64_t)(DRV_PAGE - 1);
    for (at = 0; at < span; at += step) {
        step = span - at;
        step = (step < sizeof(vec) * DRV_PAGE) ? step : sizeof(vec) * DRV_PAGE;
        if (mincore((void*)(uintptr_t)(addr + at), step, vec) != 0) {
            return 0;
        }
    }

    return 1;
}

static int drv_memlock_allows(const struct drv_dev *dev, uint64_t bytes)
{
    struct rlimit limit;

    if ((geteuid() == 0) && !dev->knobs.memlock_root) {
        return 1;
    }

    return (getrlimit(RLIMIT_MEMLOCK, &limit) != 0) ||
           (limit.rlim_cur == RLIM_INFINITY) ||
           (drv.pinned + bytes <= limit.rlim_cur);
}

/* Is there room for one more in the directory? 0 or -ENOMEM, after a line. */
int drv_mr_room(struct drv_dev *dev)
{
    if (fabric_mr_reserve(dev->fabric, dev->sim->nic,
                          &dev->mr_reserved) == 0) {
        return 0;
    }

    drv_log("no room for a registration (%s): is /dev/shm full? Free some of "
            "it", strerror(errno));
    return -ENOMEM;
}

int drv_mr_reg(struct drv_cmd *cmd)
{
    struct ib_uverbs_reg_mr_resp resp = { 0 };
    struct drv_dev *dev               = cmd->ctx->dev;
    struct ib_uverbs_reg_mr req;
    struct sim_mr_attr attr;
    struct sim_pd *pd;
    uint64_t span;
    int ret;

    if (drv_attr_in(cmd, UVERBS_ATTR_CORE_IN, &req, sizeof(req),
                    sizeof(req))) {
        return -EINVAL;
    }

    pd = drv_pd_get(cmd->ctx, req.pd_handle);
    if ((pd == NULL) ||
        ((req.start & (DRV_PAGE - 1)) != (req.hca_va & (DRV_PAGE - 1)))) {
        return -EINVAL;
    }

    ret = drv_mr_room(dev);
    if (ret != 0) {
        return ret;
    }

    attr = (struct sim_mr_attr){
        .addr   = req.start,
        .length = req.length,
        .iova   = req.hca_va,
        .access = req.access_flags,
    };
    ret = sim_mr_register(dev->sim, pd, &attr);
    if (ret != 0) {
        return ret;
    }

    span = drv_page_span(req.start, req.length);
    ret  = !drv_memlock_allows(dev, span) ? -ENOMEM :
           !drv_is_mapped(req.start, span) ? -EFAULT : 0;
    if (ret != 0) {
        sim_mr_deregister(dev->sim, attr.index);
        return ret;
    }

    ++cmd->ctx->mrs;
    drv.pinned                += span;
    dev->mr[attr.index].ctx    = cmd->ctx;
    dev->mr[attr.index].pinned = span;
    resp.mr_handle             = attr.index;
    resp.lkey                  = attr.key;
    resp.rkey                  = attr.key;
    drv_attr_out(cmd, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
    return 0;
}

/* Which interconnects the device uses for the memory: all of them one, or
 * nothing is known. */
int drv_mr_query(struct drv_cmd *cmd)
{
    int64_t handle    = drv_attr_handle(cmd, DRV_EFA_MR_HANDLE);
    uint16_t id       = cmd->ctx->dev->sim->knobs.ic_id;
    uint16_t validity = id ? DRV_EFA_MR_IC_ALL : 0;

    if ((handle < 0) || (handle >= SIM_MAX_MR) ||
        (cmd->ctx->dev->mr[handle].ctx != cmd->ctx)) {
        return -EINVAL;
    }

    drv_attr_out(cmd, DRV_EFA_MR_IC_VALIDITY, &validity, sizeof(validity));
    drv_attr_out(cmd, DRV_EFA_MR_RECV_IC, &id, sizeof(id));
    drv_attr_out(cmd, DRV_EFA_MR_READ_IC, &id, sizeof(id));
    drv_attr_out(cmd, DRV_EFA_MR_RDMA_RECV_IC, &id, sizeof(id));
    return 0;
}

void drv_mr_drop(struct drv_dev *dev, uint32_t index)
{
    struct drv_mr *mr = &dev->mr[index];

    drv.pinned -= mr->pinned;
    --mr->ctx->mrs;
    mr->ctx     = NULL;
    sim_mr_deregister(dev->sim, index);
    drv_dmabuf_unmap(&mr->map);
}

int drv_mr_destroy(struct drv_cmd *cmd)
{
    int64_t handle = drv_attr_handle(cmd, UVERBS_ATTR_DESTROY_MR_HANDLE);

    if ((handle < 0) || (handle >= SIM_MAX_MR) ||
        (cmd->ctx->dev->mr[handle].ctx != cmd->ctx)) {
        return -EINVAL;
    }

    drv_mr_drop(cmd->ctx->dev, handle);
    return 0;
}

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

    channel->user_fd = fds[0];
    channel->fd      = fds[1];
    list_add_tail(&drv.channels, &channel->link);
    resp.fd = fds[0];
    drv_attr_out(cmd, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
    return 0;
}
