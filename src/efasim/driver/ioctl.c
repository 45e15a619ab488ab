/* SPDX-License-Identifier: BSD-3-Clause */
/* Decoding of RDMA_VERBS_IOCTL, by the rules of the kernel's uverbs core. */
#include "driver.h"
#include "efa_uapi.h"

#include <errno.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <string.h>

struct ib_uverbs_attr *drv_attr(const struct drv_cmd *cmd, uint16_t id)
{
    unsigned i;

    for (i = 0; i < cmd->num; ++i) {
        if (cmd->attrs[i].attr_id == id) {
            return &cmd->attrs[i];
        }
    }

    return NULL;
}

int drv_attr_in(const struct drv_cmd *cmd, uint16_t id, void *buf,
                size_t size, size_t need)
{
    const struct ib_uverbs_attr *attr = drv_attr(cmd, id);
    const void *src;

    memset(buf, 0, size);
    if ((attr == NULL) || (attr->len < need)) {
        return (need == 0) ? 0 : -EINVAL;
    }

    /* up to 8 bytes stand in the attribute itself */
    src = (attr->len <= sizeof(attr->data)) ?
          (const void*)&attr->data : (const void*)(uintptr_t)attr->data;
    memcpy(buf, src, (attr->len < size) ? attr->len : size);
    return 0;
}

void drv_attr_out(const struct drv_cmd *cmd, uint16_t id, const void *buf,
                  size_t size)
{
    struct ib_uverbs_attr *attr = drv_attr(cmd, id);

    if ((attr == NULL) || (attr->data == 0)) {
        return;
    }

    if (attr->len > size) {
        memset((char*)(uintptr_t)attr->data + size, 0, attr->len - size);
    }
    memcpy((void*)(uintptr_t)attr->data, buf,
           (attr->len < size) ? attr->len : size);
    attr->flags |= UVERBS_ATTR_F_VALID_OUTPUT;
}

void drv_attr_out_handle(const struct drv_cmd *cmd, uint16_t id,
                         uint64_t handle)
{
    struct ib_uverbs_attr *attr = drv_attr(cmd, id);

    if (attr != NULL) {
        attr->data   = handle;
        attr->flags |= UVERBS_ATTR_F_VALID_OUTPUT;
    }
}

int64_t drv_attr_handle(const struct drv_cmd *cmd, uint16_t id)
{
    const struct ib_uverbs_attr *attr = drv_attr(cmd, id);

    return ((attr == NULL) || (attr->data > UINT32_MAX)) ?
           -1 : (int64_t)attr->data;
}

static const struct {
    uint16_t object;
    uint16_t method;
    int (*run)(struct drv_cmd *cmd);
    const char *name; /* NULL: see drv_write_name() */
} drv_methods[] = {
    { UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE, drv_invoke_write,
      NULL },
    { UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT, drv_get_context,
      "get-context" },
    { UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT, drv_query_port,
      "query-port" },
    { UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_ENTRY,
      drv_query_gid_entry, "query-gid" },
    { UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_TABLE,
      drv_query_gid_table, "query-gid" },
    { UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC,
      drv_async_event_alloc, "async-event" },
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

/* What destroys goes on after the device is gone: the kernel lets a program
 * clean up. */
/* The driver's counters of commands, and of those that failed. */
static void drv_count(const struct drv_cmd *cmd, int ret)
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

static int drv_run(struct drv_cmd *cmd, int (*run)(struct drv_cmd *cmd))
{
    struct sim_dev *dev = cmd->ctx->dev->sim;
    int destroys        = !strncmp(cmd->name, "destroy", 7);
    int ret;

    if (dev == NULL) {
        return -EIO;
    }

    ret = -sim_command_error(dev, cmd->name);
    if ((ret == 0) && dev->removed && !destroys) {
        ret = -EIO;
    }
    if (ret == 0) {
        ret = run(cmd);
    }
    drv_count(cmd, ret);
    sim_trace(dev, "cmd %s ret=%d", cmd->name, ret);
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
    if (drv_is_interrupted("a verbs command")) {
        return -EBUSY;
    }

    drv_lock();
    for (i = 0; i < sizeof(drv_methods) / sizeof(drv_methods[0]); ++i) {
        if ((drv_methods[i].object == hdr->object_id) &&
            (drv_methods[i].method == hdr->method_id)) {
            cmd.name = drv_methods[i].name ? drv_methods[i].name :
                                             drv_write_name(&cmd);
            ret      = drv_run(&cmd, drv_methods[i].run);
            break;
        }
    }
    drv_unlock();
    return ret;
}
