/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion queues: the kernel driver's checks, the pages that the program
 * will map, the engine's object. */
#include "cmds.h"
#include "efa_uapi.h"
#include "hooks.h"
#include "region.h"

#include <errno.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <string.h>

static uint32_t cq_pow2(uint32_t n)
{
    return (n <= 1) ? 1 : 1u << (32 - __builtin_clz(n - 1));
}

struct drv_cq *drv_cq_get(struct drv_ctx *ctx, int64_t handle)
{
    return ((handle >= 0) && (handle < DRV_CQS) &&
            (drv.cq[handle].ctx == ctx)) ? &drv.cq[handle] : NULL;
}

static int cq_check(const struct sim_dev *dev,
                    const struct drv_efa_cq_in *req, uint32_t depth,
                    int has_channel)
{
    uint32_t caps = sim_profile_caps(dev);
    uint8_t known = DRV_EFA_CQ_CHANNEL;

    known |= (caps & SIM_CAP_CQ_WITH_SGID) ? DRV_EFA_CQ_SGID : 0;
    known |= (caps & SIM_CAP_REQ_ID_64) ? DRV_EFA_CQ_REQ_ID_64 : 0;
    if ((depth < 1) || (depth > dev->knobs.max_cqe) || (req->comp_mask != 0) ||
        (req->flags & ~known) ||
        (req->num_sub_cqs != sim_profile_sub_cqs(dev)) ||
        ((req->entry_size != IO_CQE_SMALL) &&
         (req->entry_size != IO_CQE_LARGE)) ||
        ((req->flags & DRV_EFA_CQ_SGID) &&
         (req->entry_size != IO_CQE_LARGE)) ||
        (has_channel !=
         !!(req->flags & DRV_EFA_CQ_CHANNEL))) {
        return -EINVAL;
    }

    return 0;
}

/* The interrupt that events of the queue come by. */
static int cq_vector(const struct drv_cmd *cmd, uint32_t *vector)
{
    drv_attr_in(cmd, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, vector,
                sizeof(*vector), 0);
    return (*vector < cmd->ctx->dev->sim->knobs.comp_vectors) ? 0 : -EINVAL;
}

/* The program brings the ring itself, in a dma-buf: mapped, with whole pages
 * for this many bytes. 0 also if it does not. */
static int cq_ext(const struct drv_cmd *cmd, size_t bytes,
                  struct drv_mapping *ext)
{
    int64_t fd = drv_attr_handle(cmd, DRV_CQ_BUFFER_FD);
    uint64_t offset, length;

    if (fd < 0) {
        return drv_attr(cmd, DRV_CQ_BUFFER_VA) ? -EOPNOTSUPP :
               drv_attr(cmd, DRV_CQ_BUFFER_LENGTH) ? -EINVAL : 0;
    }
    if (!(sim_profile_caps(cmd->ctx->dev->sim) & SIM_CAP_CQ_WITH_EXT_MEM)) {
        return -EOPNOTSUPP;
    }
    if (drv_attr_get(cmd, DRV_CQ_BUFFER_OFFSET, offset) ||
        drv_attr_get(cmd, DRV_CQ_BUFFER_LENGTH, length) ||
        (length < drv_page_up(bytes))) {
        return -EINVAL;
    }

    return drv_dmabuf_map(fd, offset, length, ext);
}

/* The CQ in the engine, on fresh pages, or the program's. In the latter case
 * the driver maps nothing, so there is no doorbell either. */
static int cq_make(struct drv_cmd *cmd, uint32_t depth,
                   const struct drv_efa_cq_in *req,
                   struct drv_cq **entry_p)
{
    size_t bytes = (size_t)depth * req->entry_size * req->num_sub_cqs;
    struct drv_region region[2] = { { 0 } }; /* doorbell, ring */
    struct drv_mapping ext      = { 0 };
    struct drv_ctx *ctx         = cmd->ctx;
    struct drv_cq *entry;
    struct sim_cq *cq;
    int ret;

    ret = cq_ext(cmd, bytes, &ext);
    ret = ret ? ret : drv_regions_alloc(ctx, (size_t[]){ 1, bytes },
                                        ext.start ? 0 : 2, region);
    ret = ret ? ret : sim_cq_create(ctx->dev->sim, depth, req->entry_size,
                                    ext.start ? (uint8_t*)ext.addr :
                                                region[1].ptr,
                                    (_Atomic uint32_t*)region[0].ptr, &cq);
    if (ret != 0) {
        drv_dmabuf_unmap(&ext);
        drv_regions_free(ctx, &region[0], &region[1]);
        return ret;
    }

    entry         = &drv.cq[ctx->dev->index * SIM_MAX_CQ + cq->index];
    memset(entry, 0, sizeof(*entry));
    entry->cq     = cq;
    entry->ctx    = ctx;
    entry->db     = region[0];
    entry->ring   = region[1];
    entry->ext    = ext;
    cq->user      = entry;
    cq->with_sgid = !!(req->flags & DRV_EFA_CQ_SGID);
    *entry_p      = entry;
    return 0;
}

int drv_cq_create(struct drv_cmd *cmd)
{
    struct drv_efa_cq_out resp  = { 0 };
    struct drv_channel *channel = NULL;
    struct drv_efa_cq_in req;
    int64_t channel_fd;
    struct drv_cq *entry;
    uint64_t user;
    uint32_t depth, flags, vector;
    int ret;

    channel_fd = drv_attr_handle(cmd, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL);
    if (drv_attr_in(cmd, UVERBS_ATTR_UHW_IN, &req, sizeof(req),
                    offsetof(struct drv_efa_cq_in, flags)) ||
        drv_attr_get(cmd, UVERBS_ATTR_CREATE_CQ_CQE, depth) ||
        drv_attr_get(cmd, UVERBS_ATTR_CREATE_CQ_USER_HANDLE, user)) {
        return -EINVAL;
    }

    drv_attr_in(cmd, UVERBS_ATTR_CREATE_CQ_FLAGS, &flags, sizeof(flags), 0);
    if (flags != 0) {
        return -EOPNOTSUPP;
    }
    if (channel_fd >= 0) {
        channel = drv_channel_find(channel_fd);
        if ((channel == NULL) || (channel->ctx != cmd->ctx)) {
            return -EBADF;
        }
    }

    ret = cq_check(cmd->ctx->dev->sim, &req, depth, channel != NULL);
    ret = ret ? ret : cq_vector(cmd, &vector);
    if (ret == 0) {
        depth = cq_pow2(depth) / cmd->ctx->dev->sim->knobs.cq_divide;
        ret   = cq_make(cmd, cq_pow2(depth), &req, &entry);
    }
    if (ret != 0) {
        return ret;
    }

    entry->channel   = channel;
    entry->handle    = user;
    entry->user      = (struct ibv_cq*)(uintptr_t)user;
    depth            = entry->cq->depth;
    resp.comp_mask   = entry->ext.start ? 0 : DRV_EFA_CQ_OUT_DB;
    resp.q_mmap_key  = entry->ring.offset;
    resp.q_mmap_size = entry->ring.size;
    resp.cq_idx      = entry->cq->index;
    resp.db_mmap_key = entry->db.offset;
    sim_log_trace(cmd->ctx->dev->sim, "cq %u vector=%u", entry->cq->index,
                  channel ? vector : 0);
    drv_hook_cq(entry);
    drv_attr_put(cmd, UVERBS_ATTR_CREATE_CQ_RESP_CQE, depth);
    drv_attr_put(cmd, UVERBS_ATTR_UHW_OUT, resp);
    drv_attr_out_handle(cmd, UVERBS_ATTR_CREATE_CQ_HANDLE, entry - drv.cq);
    return 0;
}

void drv_cq_release(struct drv_cq *cq)
{
    cq->cq->refs = 0;
    sim_cq_destroy(cq->cq);
    drv_dmabuf_unmap(&cq->ext);
    drv_regions_free(cq->ctx, &cq->db, &cq->ring);
    memset(cq, 0, sizeof(*cq));
}

int drv_cq_destroy(struct drv_cmd *cmd)
{
    struct drv_cq *entry = drv_cq_get(cmd->ctx,
                                      drv_attr_handle(cmd,
                                              UVERBS_ATTR_DESTROY_CQ_HANDLE));
    struct ib_uverbs_destroy_cq_resp resp = { 0 };

    if (entry == NULL) {
        return drv_attr_no_object(cmd, UVERBS_ATTR_DESTROY_CQ_HANDLE);
    }
    if (entry->cq->refs != 0) {
        return -EBUSY;
    }

    resp.comp_events_reported = drv_channel_flush(entry);
    drv_cq_release(entry);
    drv_attr_put(cmd, UVERBS_ATTR_DESTROY_CQ_RESP, resp);
    return 0;
}
