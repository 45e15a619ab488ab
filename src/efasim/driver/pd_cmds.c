/* SPDX-License-Identifier: BSD-3-Clause */
/* Protection domains and address handles. */
#include "cmds.h"
#include "efa_uapi.h"

#include <errno.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <stddef.h>
#include <string.h>

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
    drv_attr_put(cmd, UVERBS_ATTR_CORE_OUT, resp);
    drv_attr_put(cmd, UVERBS_ATTR_UHW_OUT, efa);
    return 0;
}

int drv_pd_destroy(struct drv_cmd *cmd)
{
    int64_t handle    = drv_attr_handle(cmd, UVERBS_ATTR_DESTROY_PD_HANDLE);
    struct sim_pd *pd = drv_pd_get(cmd->ctx, handle);
    int ret;

    if (pd == NULL) {
        return drv_attr_no_object(cmd, UVERBS_ATTR_DESTROY_PD_HANDLE);
    }

    ret = sim_pd_destroy(cmd->ctx->dev->sim, pd);
    if (ret == 0) {
        cmd->ctx->dev->pd[handle].ctx = NULL;
    }
    return ret;
}

int drv_pd_request(const struct drv_cmd *cmd, void *req, size_t size,
                   size_t handle_at, struct sim_pd **pd)
{
    uint32_t handle;

    if (drv_core_in(cmd, req, size)) {
        return -EINVAL;
    }

    memcpy(&handle, (const char*)req + handle_at, sizeof(handle));
    *pd = drv_pd_get(cmd->ctx, handle);
    return (*pd == NULL) ? -ENOENT : 0;
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

    ret = drv_pd_request(cmd, &req, sizeof(req),
                         offsetof(struct ib_uverbs_create_ah, pd_handle), &pd);
    if (ret != 0) {
        return ret;
    }
    if (!req.attr.is_global || (req.attr.port_num != 1) ||
        (req.attr.grh.sgid_index != 0)) {
        return -EINVAL;
    }

    ret = sim_ah_create(dev->sim, pd, req.attr.grh.dgid, &number);
    if (ret != 0) {
        return ret;
    }

    dev->ah_ctx[number] = cmd->ctx;
    resp.ah_handle      = number;
    efa.number          = number;
    drv_attr_put(cmd, UVERBS_ATTR_CORE_OUT, resp);
    drv_attr_put(cmd, UVERBS_ATTR_UHW_OUT, efa);
    return 0;
}

int drv_ah_destroy(struct drv_cmd *cmd)
{
    int64_t handle      = drv_attr_handle(cmd, UVERBS_ATTR_DESTROY_AH_HANDLE);
    struct drv_dev *dev = cmd->ctx->dev;

    if ((handle < 0) || (handle >= (int64_t)dev->knobs.max_ah) ||
        (dev->ah_ctx[handle] != cmd->ctx)) {
        return drv_attr_no_object(cmd, UVERBS_ATTR_DESTROY_AH_HANDLE);
    }

    return sim_ah_destroy(dev->sim, handle);
}
