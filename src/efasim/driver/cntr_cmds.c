/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion counters: two words that the device writes, in the program's
 * memory or in dma-bufs. Newer than most kernels' headers: the numbers stand
 * in efa_uapi.h. */
#include "cntr_cmds.h"
#include "dmabuf.h"
#include "efa_uapi.h"
#include "mr_cmds.h"
#include "qp_cmds.h"

#include <errno.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <string.h>

static struct drv_cntr *cntr_get(const struct drv_cmd *cmd, uint16_t attr)
{
    int64_t handle = drv_attr_handle(cmd, attr);

    return ((handle >= 0) && (handle < SIM_MAX_CNTR) &&
            (cmd->ctx->dev->cntr[handle].ctx == cmd->ctx)) ?
           &cmd->ctx->dev->cntr[handle] : NULL;
}

static int cntr_is_there(const struct drv_cmd *cmd)
{
    return !!(sim_profile_caps(cmd->ctx->dev->sim) & SIM_CAP_COMP_CNTR);
}

int drv_cntr_caps(struct drv_cmd *cmd)
{
    uint32_t max = SIM_MAX_CNTR, ops = SIM_CNTR_KNOWN;
    uint64_t max_value = SIM_MAX_CNTR_VALUE;

    if (!cntr_is_there(cmd)) {
        return -EOPNOTSUPP;
    }

    drv_attr_out(cmd, DRV_CNTR_CAPS_MAX, &max, sizeof(max));
    drv_attr_out(cmd, DRV_CNTR_CAPS_MAX_VALUE, &max_value, sizeof(max_value));
    drv_attr_out(cmd, DRV_CNTR_CAPS_OPS, &ops, sizeof(ops));
    return 0;
}

/* Find a word of the counter: its address, which is in *map (a new mapping) if
 * the word is in a dma-buf. */
static int cntr_word(const struct drv_cmd *cmd, uint16_t attr,
                     struct drv_mapping *map, uint64_t *addr)
{
    struct drv_buffer_desc desc;

    if (drv_attr_in(cmd, attr, &desc, sizeof(desc), sizeof(desc)) ||
        (desc.flags != 0) || (desc.length < sizeof(uint64_t)) ||
        (desc.addr % sizeof(uint64_t) != 0)) {
        return -EINVAL;
    }

    switch (desc.type) {
    case DRV_BUFFER_VA:
        *addr = desc.addr;
        return drv_mr_is_mapped(desc.addr, sizeof(uint64_t)) ? 0 : -EFAULT;
    case DRV_BUFFER_DMABUF:
        if (drv_dmabuf_map(desc.fd, desc.addr, sizeof(uint64_t), map) != 0) {
            return -EINVAL;
        }
        *addr = map->addr;
        return 0;
    default:
        return -EINVAL;
    }
}

int drv_cntr_create(struct drv_cmd *cmd)
{
    struct drv_mapping map[2] = { { 0 } };
    struct sim_cntr *cntr;
    uint64_t addr[2];
    int ret;

    if (!cntr_is_there(cmd)) {
        return -EOPNOTSUPP;
    }

    ret = cntr_word(cmd, DRV_EFA_CNTR_BUFFER, &map[0], &addr[0]);
    ret = ret ? ret : cntr_word(cmd, DRV_EFA_CNTR_ERR_BUFFER, &map[1],
                                &addr[1]);
    ret = ret ? ret : sim_cntr_create(cmd->ctx->dev->sim, addr, &cntr);
    if (ret != 0) {
        drv_dmabuf_unmap(&map[0]);
        drv_dmabuf_unmap(&map[1]);
        return ret;
    }

    cmd->ctx->dev->cntr[cntr->index] = (struct drv_cntr){
        .cntr = cntr,
        .ctx  = cmd->ctx,
        .map  = { map[0], map[1] },
    };
    sim_cntr_set(cntr, 0, 0);
    sim_cntr_set(cntr, 1, 0);
    drv_attr_out_handle(cmd, DRV_CNTR_HANDLE, cntr->index);
    return 0;
}

void drv_cntr_release(struct drv_cntr *cntr)
{
    sim_cntr_destroy(cntr->cntr);
    drv_dmabuf_unmap(&cntr->map[0]);
    drv_dmabuf_unmap(&cntr->map[1]);
    memset(cntr, 0, sizeof(*cntr));
}

int drv_cntr_destroy(struct drv_cmd *cmd)
{
    struct drv_cntr *entry = cntr_get(cmd, DRV_CNTR_HANDLE);

    if (entry == NULL) {
        return -EINVAL;
    }
    if (entry->cntr->refs != 0) {
        return -EBUSY;
    }

    drv_cntr_release(entry);
    return 0;
}

int drv_cntr_modify(struct drv_cmd *cmd)
{
    struct drv_cntr *entry = cntr_get(cmd, DRV_CNTR_HANDLE);
    uint8_t which, op; /* the second: 0 sets, 1 adds */
    uint64_t value;

    if ((entry == NULL) ||
        drv_attr_in(cmd, DRV_CNTR_ENTRY, &which, sizeof(which), 1) ||
        drv_attr_in(cmd, DRV_CNTR_MODIFY_OP, &op, sizeof(op), 1) ||
        drv_attr_in(cmd, DRV_CNTR_MODIFY_VALUE, &value, sizeof(value), 8) ||
        (which > 1) || (op > 1)) {
        return -EINVAL;
    }

    sim_cntr_set(entry->cntr, which,
                 value + (op ? entry->cntr->value[which] : 0));
    return 0;
}

int drv_cntr_read(struct drv_cmd *cmd)
{
    struct drv_cntr *entry = cntr_get(cmd, DRV_CNTR_HANDLE);
    uint8_t which;

    if ((entry == NULL) ||
        drv_attr_in(cmd, DRV_CNTR_ENTRY, &which, sizeof(which), 1) ||
        (which > 1)) {
        return -EINVAL;
    }

    drv_attr_out(cmd, DRV_CNTR_READ_VALUE, &entry->cntr->value[which],
                 sizeof(entry->cntr->value[which]));
    return 0;
}

int drv_cntr_attach(struct drv_cmd *cmd)
{
    struct drv_cntr *entry = cntr_get(cmd, DRV_QP_ATTACH_WHICH);
    struct drv_qp *qp = drv_qp_get(cmd->ctx, drv_attr_handle(cmd,
                                                     DRV_QP_ATTACH_QP));
    uint32_t ops;

    if ((entry == NULL) || (qp == NULL) ||
        drv_attr_in(cmd, DRV_QP_ATTACH_OPS, &ops, sizeof(ops), 4)) {
        return -EINVAL;
    }

    return sim_cntr_attach(qp->qp, entry->cntr, ops);
}
