/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands: RDMA_VERBS_IOCTL by object and method, and the older "write" form,
 * which comes as one of these methods and has a number of its own.
 */
#include "cmds.h"
#include "efa_uapi.h"
#include "lock.h"

#include <errno.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <string.h>

/* A command of the older form, by its number; 0: any other. */
#define IOCTL_WRITE(_number) \
    UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE, _number

#define WRITE_EXTENDED  0x80000000u

static int ioctl_no_write(struct drv_cmd *cmd)
{
    (void)cmd;
    return -EOPNOTSUPP;
}

static const struct ioctl_command {
    uint16_t    object, method;
    uint32_t    number; /* IOCTL_WRITE */
    const char *name;
    int (*run)(struct drv_cmd *cmd);
} ioctl_commands[] = {
    { IOCTL_WRITE(IB_USER_VERBS_CMD_QUERY_DEVICE), "query-device",
      drv_device_query },
    { IOCTL_WRITE(IB_USER_VERBS_EX_CMD_QUERY_DEVICE | WRITE_EXTENDED),
      "query-device", drv_device_query_ex },
    { IOCTL_WRITE(IB_USER_VERBS_CMD_ALLOC_PD), "alloc-pd", drv_pd_alloc },
    { IOCTL_WRITE(IB_USER_VERBS_CMD_CREATE_AH), "create-ah", drv_ah_create },
    { IOCTL_WRITE(IB_USER_VERBS_CMD_REG_MR), "reg-mr", drv_mr_reg },
    { IOCTL_WRITE(IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL), "create-channel",
      drv_channel_create },
    { IOCTL_WRITE(IB_USER_VERBS_CMD_QUERY_QP), "query-qp", drv_qp_query },
    { IOCTL_WRITE(IB_USER_VERBS_CMD_MODIFY_QP), "modify-qp", drv_qp_modify },
    { IOCTL_WRITE(0), "", ioctl_no_write },
    { UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT, 0, "get-context",
      drv_device_context },
    { UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT, 0, "query-port",
      drv_device_port },
    { UVERBS_OBJECT_DEVICE, DRV_DEVICE_QUERY_PORT_SPEED, 0, "query-port-speed",
      drv_device_port_speed },
    { UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_ENTRY, 0, "query-gid",
      drv_device_gid_entry },
    { UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_TABLE, 0, "query-gid",
      drv_device_gid_table },
    { UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC, 0,
      "async-event", drv_device_async_event },
    { UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY, 0, "destroy-pd",
      drv_pd_destroy },
    { UVERBS_OBJECT_AH, UVERBS_METHOD_AH_DESTROY, 0, "destroy-ah",
      drv_ah_destroy },
    { UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY, 0, "destroy-mr",
      drv_mr_destroy },
    { UVERBS_OBJECT_MR, UVERBS_METHOD_REG_DMABUF_MR, 0, "reg-dmabuf-mr",
      drv_mr_reg_dmabuf },
    { UVERBS_OBJECT_MR, DRV_EFA_METHOD_MR_QUERY, 0, "query-mr", drv_mr_query },
    { UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE, 0, "create-cq",
      drv_cq_create },
    { UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY, 0, "destroy-cq",
      drv_cq_destroy },
    { UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE, 0, "create-qp",
      drv_qp_create },
    { UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY, 0, "destroy-qp",
      drv_qp_destroy },
    { UVERBS_OBJECT_DEVICE, DRV_DEVICE_QUERY_CNTR_CAPS, 0, "query-comp-cntr",
      drv_cntr_caps },
    { DRV_OBJECT_CNTR, DRV_CNTR_CREATE, 0, "create-comp-cntr",
      drv_cntr_create },
    { DRV_OBJECT_CNTR, DRV_CNTR_DESTROY, 0, "destroy-comp-cntr",
      drv_cntr_destroy },
    { DRV_OBJECT_CNTR, DRV_CNTR_MODIFY, 0, "modify-comp-cntr",
      drv_cntr_modify },
    { DRV_OBJECT_CNTR, DRV_CNTR_READ, 0, "read-comp-cntr", drv_cntr_read },
    { UVERBS_OBJECT_QP, DRV_QP_ATTACH_CNTR, 0, "attach-comp-cntr",
      drv_cntr_attach },
};

/* The number of a command of the older form; 0: it has none. */
static uint32_t ioctl_number(const struct drv_cmd *cmd)
{
    uint32_t number;

    (void)drv_attr_get(cmd, UVERBS_ATTR_WRITE_CMD, number);
    return number;
}

/* NULL: the kernel has no such command. */
static const struct ioctl_command *
ioctl_find(const struct drv_cmd *cmd, const struct ib_uverbs_ioctl_hdr *hdr)
{
    unsigned i;

    for (i = 0; i < sizeof(ioctl_commands) / sizeof(ioctl_commands[0]); ++i) {
        if ((ioctl_commands[i].object == hdr->object_id) &&
            (ioctl_commands[i].method == hdr->method_id) &&
            ((ioctl_commands[i].number == 0) ||
             (ioctl_commands[i].number == ioctl_number(cmd)))) {
            return &ioctl_commands[i];
        }
    }
    return NULL;
}

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
    const struct ioctl_command *command;

    if ((hdr->length != sizeof(*hdr) +
                        hdr->num_attrs * sizeof(hdr->attrs[0])) ||
        (hdr->reserved1 != 0) || (hdr->reserved2 != 0)) {
        return -EINVAL;
    }
    if (drv_lock_is_interrupted("a verbs command")) {
        return -EBUSY;
    }

    drv_lock();
    command = ioctl_find(&cmd, hdr);
    if (command != NULL) {
        cmd.name = command->name;
        ret      = ioctl_run(&cmd, command->run);
    }
    drv_unlock();
    return ret;
}
