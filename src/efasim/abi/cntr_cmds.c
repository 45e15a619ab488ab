/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion counters: two words that the device writes, in the program's
 * memory or in dma-bufs. Newer than most kernels' headers: the numbers are
 * ours. */
#include "abi.h"
#include "efa_abi.h"

#include <errno.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <string.h>

static struct abi_cntr *cntr_get(const struct abi_cmd *cmd, uint16_t attr)
{
    int64_t handle = abi_attr_handle(cmd, attr);

    return ((handle >= 0) && (handle < SIM_MAX_CNTR) &&
            (cmd->ctx->dev->cntr[handle].ctx == cmd->ctx)) ?
           &cmd->ctx->dev->cntr[handle] : NULL;
}

static int cntr_is_there(const struct abi_cmd *cmd)
{
    return !!(sim_dev_caps(cmd->ctx->dev->sim) & SIM_CAP_COMP_CNTR);
}

int abi_cntr_caps(struct abi_cmd *cmd)
{
    uint32_t max = SIM_MAX_CNTR, ops = SIM_CNTR_KNOWN;
    uint64_t max_value = UINT64_MAX;

    if (!cntr_is_there(cmd)) {
        return -EOPNOTSUPP;
    }

    abi_attr_out(cmd, ABI_CNTR_CAPS_MAX, &max, sizeof(max));
    abi_attr_out(cmd, ABI_CNTR_CAPS_MAX_VALUE, &max_value, sizeof(max_value));
    abi_attr_out(cmd, ABI_CNTR_CAPS_OPS, &ops, sizeof(ops));
    return 0;
}

/* Where a word is: *addr in our memory, by a mapping of ours if it is in a
 * dma-buf. */
static int cntr_word(const struct abi_cmd *cmd, uint16_t attr,
                     struct abi_mapping *map, uint64_t *addr)
{
    struct abi_buffer_desc desc;

    if (abi_attr_in(cmd, attr, &desc, sizeof(desc), sizeof(desc)) ||
        (desc.flags != 0) || (desc.length < sizeof(uint64_t)) ||
        (desc.addr % sizeof(uint64_t) != 0)) {
        return -EINVAL;
    }

    switch (desc.type) {
    case ABI_BUFFER_VA:
        *addr = desc.addr;
        return abi_is_mapped(desc.addr, sizeof(uint64_t)) ? 0 : -EFAULT;
    case ABI_BUFFER_DMABUF:
        if (abi_dmabuf_map(desc.fd, desc.addr, sizeof(uint64_t), map) != 0) {
            return -EINVAL;
        }
        *addr = map->addr;
        return 0;
    default:
        return -EINVAL;
    }
}

int abi_cntr_create(struct abi_cmd *cmd)
{
    struct abi_mapping map[2] = { { 0 } };
    struct sim_cntr *cntr;
    uint64_t addr[2];
    int ret;

    if (!cntr_is_there(cmd)) {
        return -EOPNOTSUPP;
    }

    ret = cntr_word(cmd, ABI_EFA_CNTR_BUFFER, &map[0], &addr[0]);
    ret = ret ? ret : cntr_word(cmd, ABI_EFA_CNTR_ERR_BUFFER, &map[1],
                                &addr[1]);
    ret = ret ? ret : sim_cntr_create(cmd->ctx->dev->sim, addr, &cntr);
    if (ret != 0) {
        abi_dmabuf_unmap(&map[0]);
        abi_dmabuf_unmap(&map[1]);
        return ret;
    }

    cmd->ctx->dev->cntr[cntr->index] = (struct abi_cntr){
        .cntr = cntr,
        .ctx  = cmd->ctx,
        .map  = { map[0], map[1] },
    };
    sim_cntr_set(cntr, 0, 0);
    sim_cntr_set(cntr, 1, 0);
    abi_attr_out_handle(cmd, ABI_CNTR_HANDLE, cntr->index);
    return 0;
}

void abi_cntr_drop(struct abi_cntr *cntr)
{
    sim_cntr_destroy(cntr->cntr);
    abi_dmabuf_unmap(&cntr->map[0]);
    abi_dmabuf_unmap(&cntr->map[1]);
    memset(cntr, 0, sizeof(*cntr));
}

int abi_cntr_destroy(struct abi_cmd *cmd)
{
    struct abi_cntr *entry = cntr_get(cmd, ABI_CNTR_HANDLE);

    if (entry == NULL) {
        return -EINVAL;
    }
    if (entry->cntr->refs != 0) {
        return -EBUSY;
    }

    abi_cntr_drop(entry);
    return 0;
}

int abi_cntr_modify(struct abi_cmd *cmd)
{
    struct abi_cntr *entry = cntr_get(cmd, ABI_CNTR_HANDLE);
    uint8_t which, op; /* the second: 0 sets, 1 adds */
    uint64_t value;

    if ((entry == NULL) ||
        abi_attr_in(cmd, ABI_CNTR_ENTRY, &which, sizeof(which), 1) ||
        abi_attr_in(cmd, ABI_CNTR_MODIFY_OP, &op, sizeof(op), 1) ||
        abi_attr_in(cmd, ABI_CNTR_MODIFY_VALUE, &value, sizeof(value), 8) ||
        (which > 1) || (op > 1)) {
        return -EINVAL;
    }

    sim_cntr_set(entry->cntr, which,
                 value + (op ? entry->cntr->value[which] : 0));
    return 0;
}

int abi_cntr_read(struct abi_cmd *cmd)
{
    struct abi_cntr *entry = cntr_get(cmd, ABI_CNTR_HANDLE);
    uint8_t which;

    if ((entry == NULL) ||
        abi_attr_in(cmd, ABI_CNTR_ENTRY, &which, sizeof(which), 1) ||
        (which > 1)) {
        return -EINVAL;
    }

    abi_attr_out(cmd, ABI_CNTR_READ_VALUE, &entry->cntr->value[which],
                 sizeof(entry->cntr->value[which]));
    return 0;
}

int abi_cntr_attach(struct abi_cmd *cmd)
{
    struct abi_cntr *entry = cntr_get(cmd, ABI_QP_ATTACH_WHICH);
    struct abi_qp *qp = abi_qp_get(cmd->ctx, abi_attr_handle(cmd,
                                                     ABI_QP_ATTACH_QP));
    uint32_t ops;

    if ((entry == NULL) || (qp == NULL) ||
        abi_attr_in(cmd, ABI_QP_ATTACH_OPS, &ops, sizeof(ops), 4)) {
        return -EINVAL;
    }

    return sim_cntr_attach(qp->qp, entry->cntr, ops);
}
