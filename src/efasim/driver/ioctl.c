/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands: RDMA_VERBS_IOCTL by object and method, and the older "write" form,
 * which comes as one of these methods and has a number of its own.
 */
#include "ioctl.h"
#include "attr.h"
#include "cntr_cmds.h"
#include "channel.h"
#include "cq_cmds.h"
#include "device_cmds.h"
#include "efa_uapi.h"
#include "lock.h"
#include "mr_cmds.h"
#include "pd_cmds.h"
#include "qp_cmds.h"

#include <errno.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <string.h>

#define WRITE_EXTENDED  0x80000000u

static const struct ioctl_write {
    uint32_t    number;
    const char *name;
    int (*run)(struct drv_cmd *cmd);
} ioctl_writes[] = {
    { IB_USER_VERBS_CMD_QUERY_DEVICE, "query-device", drv_device_query },
    { IB_USER_VERBS_EX_CMD_QUERY_DEVICE | WRITE_EXTENDED, "query-device",
      drv_device_query_ex },
    { IB_USER_VERBS_CMD_ALLOC_PD, "alloc-pd", drv_pd_alloc },
    { IB_USER_VERBS_CMD_CREATE_AH, "create-ah", drv_ah_create },
    { IB_USER_VERBS_CMD_REG_MR, "reg-mr", drv_mr_reg },
    { IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL, "create-channel",
      drv_channel_create },
    { IB_USER_VERBS_CMD_QUERY_QP, "query-qp", drv_qp_query },
    { IB_USER_VERBS_CMD_MODIFY_QP, "modify-qp", drv_qp_modify },
};

static const struct ioctl_write *ioctl_write_find(const struct drv_cmd *cmd)
{
    uint32_t number;
    unsigned i;

    if (drv_attr_in(cmd, UVERBS_ATTR_WRITE_CMD, &number, sizeof(number),
                    4) == 0) {
        for (i = 0; i < sizeof(ioctl_writes) / sizeof(ioctl_writes[0]); ++i) {
            if (ioctl_writes[i].number == number) {
                return &ioctl_writes[i];
            }
        }
    }

    return NULL;
}

static const char *ioctl_write_name(const struct drv_cmd *cmd)
{
    const struct ioctl_write *write = ioctl_write_find(cmd);

    return write ? write->name : "";
}

static int ioctl_invoke_write(struct drv_cmd *cmd)
{
    const struct ioctl_write *write = ioctl_write_find(cmd);

    return write ? write->run(cmd) : -EOPNOTSUPP;
}

static const struct {
    uint16_t object;
    uint16_t method;
    int (*run)(struct drv_cmd *cmd);
    const char *name; /* NULL: see ioctl_write_name() */
} ioctl_methods[] = {
    { UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE, ioctl_invoke_write,
      NULL },
    { UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT, drv_device_context,
      "get-context" },
    { UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT, drv_device_port,
      "query-port" },
    { UVERBS_OBJECT_DEVICE, DRV_DEVICE_QUERY_PORT_SPEED,
      drv_device_port_speed, "query-port-speed" },
    { UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_ENTRY,
      drv_device_gid_entry, "query-gid" },
    { UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_TABLE,
      drv_device_gid_table, "query-gid" },
    { UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC,
      drv_device_async_event, "async-event" },
    { UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY, drv_pd_destroy,
      "destroy-pd" },
    { UVERBS_OBJECT_AH, UVERBS_METHOD_AH_DESTROY, drv_ah_destroy,
      "destroy-ah" },
    { UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY, drv_mr_destroy,
      "destroy-mr" },
    { UVERBS_OBJECT_MR, UVERBS_METHOD_REG_DMABUF_MR, drv_mr_reg_dmabuf,
      "reg-dmabuf-mr" },
    { UVERBS_OBJECT_MR, DRV_EFA_METHOD_MR_QUERY, drv_mr_query, "query-mr" },
    { UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE, drv_cq_create, "create-cq" },
    { UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY, drv_cq_destroy,
      "destroy-cq" },
    { UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE, drv_qp_create, "create-qp" },
    { UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY, drv_qp_destroy,
      "destroy-qp" },
    { UVERBS_OBJECT_DEVICE, DRV_DEVICE_QUERY_CNTR_CAPS, drv_cntr_caps,
      "query-comp-cntr" },
    { DRV_OBJECT_CNTR, DRV_CNTR_CREATE, drv_cntr_create,
      "create-comp-cntr" },
    { DRV_OBJECT_CNTR, DRV_CNTR_DESTROY, drv_cntr_destroy,
      "destroy-comp-cntr" },
    { DRV_OBJECT_CNTR, DRV_CNTR_MODIFY, drv_cntr_modify,
      "modify-comp-cntr" },
    { DRV_OBJECT_CNTR, DRV_CNTR_READ, drv_cntr_read, "read-comp-cntr" },
    { UVERBS_OBJECT_QP, DRV_QP_ATTACH_CNTR, drv_cntr_attach,
      "attach-comp-cntr" },
};

/* The driver's counters of commands, and of those that failed. */
static void ioctl_count(const struct drv_cmd *cmd, int ret)
{
    static const struct {
        const char             *name;
        enum dir_driver_counter counter;
    } errors[] = {
        { "alloc-pd", DIR_ALLOC_PD_ERR },   { "create-qp", DIR_CREATE_QP_ERR },
        { "create-cq", DIR_CREATE_CQ_ERR }, { "reg-mr", DIR_REG_MR_ERR },
        { "reg-dmabuf-mr", DIR_REG_MR_ERR },
        { "create-ah", DIR_CREATE_AH_ERR },
        { "get-context", DIR_ALLOC_UCONTEXT_ERR },
    };
    const struct sim_dev *dev = cmd->ctx->dev->sim;
    _Atomic uint64_t *driver  = dev->dir->nic[dev->nic].driver;
    unsigned i;

    atomic_fetch_add(&driver[DIR_SUBMITTED_CMDS], 1);
    atomic_fetch_add(&driver[ret ? DIR_CMDS_ERR : DIR_COMPLETED_CMDS], 1);
    for (i = 0; (ret != 0) && (i < sizeof(errors) / sizeof(errors[0])); ++i) {
        if (!strcmp(errors[i].name, cmd->name)) {
            atomic_fetch_add(&driver[errors[i].counter], 1);
        }
    }
}

/* Objects can be destroyed after the device is gone, too: the kernel lets a
 * program clean up. */
static int ioctl_run(struct drv_cmd *cmd, int (*run)(struct drv_cmd *cmd))
{
    struct sim_dev *dev = cmd->ctx->dev->sim;
    int destroys        = !strncmp(cmd->name, "destroy", 7);
    int ret;

    if (dev == NULL) {
        return -EIO;
    }

    ret = -sim_inject_command(dev, cmd->name);
    if ((ret == 0) && dev->removed && !destroys) {
        ret = -EIO;
    }
    if (ret == 0) {
        ret = run(cmd);
    }
    ioctl_count(cmd, ret);
    sim_log_trace(dev, "cmd %s ret=%d", cmd->name, ret);
    return ret;
}

int drv_ioctl(struct drv_ctx *ctx, struct ib_uverbs_ioctl_hdr *hdr)
{
    struct drv_cmd cmd = { ctx, hdr->attrs, hdr->num_attrs, NULL };
    int ret            = -EPROTONOSUPPORT;
    unsigned i;

    if ((hdr->length != sizeof(*hdr) +
                        hdr->num_attrs * sizeof(hdr->attrs[0])) ||
        (hdr->reserved1 != 0) || (hdr->reserved2 != 0)) {
        return -EINVAL;
    }
    if (drv_lock_is_interrupted("a verbs command")) {
        return -EBUSY;
    }

    drv_lock();
    for (i = 0; i < sizeof(ioctl_methods) / sizeof(ioctl_methods[0]); ++i) {
        if ((ioctl_methods[i].object == hdr->object_id) &&
            (ioctl_methods[i].method == hdr->method_id)) {
            cmd.name = ioctl_methods[i].name ? ioctl_methods[i].name :
                                               ioctl_write_name(&cmd);
            ret      = ioctl_run(&cmd, ioctl_methods[i].run);
            break;
        }
    }
    drv_unlock();
    return ret;
}
