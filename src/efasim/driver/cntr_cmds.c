/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion counters: two words that the device writes, in the program's
 * memory or in dma-bufs. Newer than most kernels' headers: the numbers stand
 * in efa_uapi.h. */
#include "cmds.h"
#include "efa_uapi.h"
#include "region.h"

#include <errno.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <string.h>

/* Kinds of requests, the kernel's bits: the device has two events for each. */
enum {
    CNTR_SEND  = 1 << 0,
    CNTR_RECV  = 1 << 1,
    CNTR_READ  = 1 << 2,
    CNTR_WRITE = 1 << 4,
    CNTR_OPS   = CNTR_SEND | CNTR_RECV | CNTR_READ | CNTR_WRITE
};

/* The events of the device: those of completions without an error. */
static uint32_t cntr_events(uint32_t ops)
{
    return ((ops & CNTR_SEND) ? 1u << SIM_CNTR_SEND : 0) |
           ((ops & CNTR_RECV) ? 1u << SIM_CNTR_RECV : 0) |
           ((ops & CNTR_READ) ? 1u << SIM_CNTR_READ : 0) |
           ((ops & CNTR_WRITE) ? 1u << SIM_CNTR_WRITE : 0);
}

static struct drv_cntr *cntr_get(const struct drv_cmd *cmd, uint16_t attr)
{
    int64_t handle = drv_attr_handle(cmd, attr);

    return ((handle >= 0) && (handle < DRV_CNTRS) &&
            (cmd->ctx->dev->cntr[handle].ctx == cmd->ctx)) ?
           &cmd->ctx->dev->cntr[handle] : NULL;
}

static int cntr_is_there(const struct drv_cmd *cmd)
{
    return !!(sim_profile_caps(cmd->ctx->dev->sim) & SIM_CAP_COMP_CNTR);
}

int drv_cntr_caps(struct drv_cmd *cmd)
{
    int there          = cntr_is_there(cmd);
    uint32_t max       = there ? DRV_CNTRS : 0, ops = there ? CNTR_OPS : 0;
    uint64_t max_value = there ? SIM_MAX_CNTR_VALUE : 0;

    drv_attr_put(cmd, DRV_CNTR_CAPS_MAX, max);
    drv_attr_put(cmd, DRV_CNTR_CAPS_MAX_VALUE, max_value);
    drv_attr_put(cmd, DRV_CNTR_CAPS_OPS, ops);
    return 0;
}

/* Find a word of the counter: its address, which is in *map (a new mapping) if
 * the word is in a dma-buf. */
static int cntr_word(const struct drv_cmd *cmd, uint16_t attr,
                     struct drv_mapping *map, uint64_t *addr)
{
    struct drv_buffer_desc desc;

    if (drv_attr_get(cmd, attr, desc) ||
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

/* A free entry; NULL: there is none. */
static struct drv_cntr *cntr_find_free(struct drv_dev *dev)
{
    unsigned i;

    for (i = 0; (i < DRV_CNTRS) && (dev->cntr[i].ctx != NULL); ++i) {
    }
    return (i < DRV_CNTRS) ? &dev->cntr[i] : NULL;
}

int drv_cntr_create(struct drv_cmd *cmd)
{
    static const uint16_t words[2] = { DRV_EFA_CNTR_BUFFER,
                                       DRV_EFA_CNTR_ERR_BUFFER };
    struct drv_cntr *entry = cntr_find_free(cmd->ctx->dev);
    uint64_t addr[2];
    int ret = 0, i;

    if (entry == NULL) {
        return -ENOMEM;
    }

    for (i = 0; (ret == 0) && (i < 2); ++i) {
        ret = cntr_word(cmd, words[i], &entry->map[i], &addr[i]);
    }
    ret = (ret || cntr_is_there(cmd)) ? ret : -EOPNOTSUPP;
    for (i = 0; (ret == 0) && (i < 2); ++i) {
        ret = sim_cntr_create(cmd->ctx->dev->sim, addr[i], &entry->cntr[i]);
    }
    if (ret != 0) {
        drv_cntr_release(entry);
        return ret;
    }

    entry->ctx = cmd->ctx;
    drv_attr_out_handle(cmd, DRV_CNTR_HANDLE, entry - cmd->ctx->dev->cntr);
    return 0;
}

void drv_cntr_release(struct drv_cntr *cntr)
{
    int i;

    for (i = 0; i < 2; ++i) {
        if (cntr->cntr[i] != NULL) {
            sim_cntr_destroy(cntr->cntr[i]);
        }
        drv_dmabuf_unmap(&cntr->map[i]);
    }
    memset(cntr, 0, sizeof(*cntr));
}

int drv_cntr_destroy(struct drv_cmd *cmd)
{
    struct drv_cntr *entry = cntr_get(cmd, DRV_CNTR_HANDLE);

    if (entry == NULL) {
        return -EINVAL;
    }
    if ((entry->cntr[0]->refs != 0) || (entry->cntr[1]->refs != 0)) {
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
        drv_attr_get(cmd, DRV_CNTR_ENTRY, which) ||
        drv_attr_get(cmd, DRV_CNTR_MODIFY_OP, op) ||
        drv_attr_get(cmd, DRV_CNTR_MODIFY_VALUE, value) ||
        (which > 1) || (op > 1)) {
        return -EINVAL;
    }

    sim_cntr_set(entry->cntr[which],
                 value + (op ? entry->cntr[which]->value : 0));
    return 0;
}

int drv_cntr_read(struct drv_cmd *cmd)
{
    struct drv_cntr *entry = cntr_get(cmd, DRV_CNTR_HANDLE);
    uint8_t which;

    if ((entry == NULL) ||
        drv_attr_get(cmd, DRV_CNTR_ENTRY, which) ||
        (which > 1)) {
        return -EINVAL;
    }

    drv_attr_put(cmd, DRV_CNTR_READ_VALUE, entry->cntr[which]->value);
    return 0;
}

int drv_cntr_attach(struct drv_cmd *cmd)
{
    struct drv_cntr *entry = cntr_get(cmd, DRV_QP_ATTACH_WHICH);
    struct drv_qp *qp = drv_qp_get(cmd->ctx, drv_attr_handle(cmd,
                                                     DRV_QP_ATTACH_QP));
    uint32_t ops, events;
    int ret;

    if ((entry == NULL) || (qp == NULL) ||
        drv_attr_get(cmd, DRV_QP_ATTACH_OPS, ops) ||
        (ops & ~(uint32_t)CNTR_OPS)) {
        return -EINVAL;
    }

    events = cntr_events(ops);
    ret    = sim_cntr_attach(qp->qp, entry->cntr[0], events);
    return ret ? ret : sim_cntr_attach(qp->qp, entry->cntr[1], events << 1);
}
