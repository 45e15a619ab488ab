/* SPDX-License-Identifier: BSD-3-Clause */
/* Decoding of RDMA_VERBS_IOCTL, by the rules of the kernel's uverbs core. */
#include "abi.h"
#include "efa_abi.h"

#include <errno.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <string.h>

struct ib_uverbs_attr *abi_attr(const struct abi_cmd *cmd, uint16_t id)
{
    unsigned i;

    for (i = 0; i < cmd->num; ++i) {
        if (cmd->attrs[i].attr_id == id) {
            return &cmd->attrs[i];
        }
    }

    return NULL;
}

int abi_attr_in(const struct abi_cmd *cmd, uint16_t id, void *buf,
                size_t size, size_t need)
{
    const struct ib_uverbs_attr *attr = abi_attr(cmd, id);
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

void abi_attr_out(const struct abi_cmd *cmd, uint16_t id, const void *buf,
                  size_t size)
{
    struct ib_uverbs_attr *attr = abi_attr(cmd, id);

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

void abi_attr_out_handle(const struct abi_cmd *cmd, uint16_t id,
                         uint64_t handle)
{
    struct ib_uverbs_attr *attr = abi_attr(cmd, id);

    if (attr != NULL) {
        attr->data   = handle;
        attr->flags |= UVERBS_ATTR_F_VALID_OUTPUT;
    }
}

int64_t abi_attr_handle(const struct abi_cmd *cmd, uint16_t id)
{
    const struct ib_uverbs_attr *attr = abi_attr(cmd, id);

    return ((attr == NULL) || (attr->data > UINT32_MAX)) ?
           -1 : (int64_t)attr->data;
}

static const struct {
    uint16_t object;
    uint16_t method;
    int (*run)(struct abi_cmd *cmd);
    const char *name; /* NULL: see abi_write_name() */
} abi_methods[] = {
    { UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE, abi_invoke_write,
      NULL },
    { UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT, abi_get_context,
      "get-context" },
    { UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT, abi_query_port,
      "query-port" },
    { UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_ENTRY,
      abi_query_gid_entry, "query-gid" },
    { UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_TABLE,
      abi_query_gid_table, "query-gid" },
    { UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC,
      abi_async_event_alloc, "async-event" },
    { UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY, abi_pd_destroy,
      "destroy-pd" },
    { UVERBS_OBJECT_AH, UVERBS_METHOD_AH_DESTROY, abi_ah_destroy,
      "destroy-ah" },
    { UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY, abi_mr_destroy,
      "destroy-mr" },
    { UVERBS_OBJECT_MR, UVERBS_METHOD_REG_DMABUF_MR, abi_mr_reg_dmabuf,
      "reg-dmabuf-mr" },
    { UVERBS_OBJECT_MR, ABI_EFA_METHOD_MR_QUERY, abi_mr_query, "query-mr" },
    { UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE, abi_cq_create, "create-cq" },
    { UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY, abi_cq_destroy,
      "destroy-cq" },
    { UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE, abi_qp_create, "create-qp" },
    { UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY, abi_qp_destroy,
      "destroy-qp" },
    { UVERBS_OBJECT_DEVICE, ABI_DEVICE_QUERY_CNTR_CAPS, abi_cntr_caps,
      "query-comp-cntr" },
    { ABI_OBJECT_CNTR, ABI_CNTR_CREATE, abi_cntr_create,
      "create-comp-cntr" },
    { ABI_OBJECT_CNTR, ABI_CNTR_DESTROY, abi_cntr_destroy,
      "destroy-comp-cntr" },
    { ABI_OBJECT_CNTR, ABI_CNTR_MODIFY, abi_cntr_modify,
      "modify-comp-cntr" },
    { ABI_OBJECT_CNTR, ABI_CNTR_READ, abi_cntr_read, "read-comp-cntr" },
    { UVERBS_OBJECT_QP, ABI_QP_ATTACH_CNTR, abi_cntr_attach,
      "attach-comp-cntr" },
};

/* What destroys goes on after the device is gone: the kernel lets a program
 * clean up. */
/* The driver's counters of commands, and of those that failed. */
static void abi_count(const struct abi_cmd *cmd, int ret)
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

static int abi_run(struct abi_cmd *cmd, int (*run)(struct abi_cmd *cmd))
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
    abi_count(cmd, ret);
    sim_trace(dev, "cmd %s ret=%d", cmd->name, ret);
    return ret;
}

int abi_ioctl(struct abi_ctx *ctx, struct ib_uverbs_ioctl_hdr *hdr)
{
    struct abi_cmd cmd = { ctx, hdr->attrs, hdr->num_attrs, NULL };
    int ret            = -EPROTONOSUPPORT;
    unsigned i;

    if ((hdr->length != sizeof(*hdr) +
                        hdr->num_attrs * sizeof(hdr->attrs[0])) ||
        (hdr->reserved1 != 0) || (hdr->reserved2 != 0)) {
        return -EINVAL;
    }
    if (abi_is_interrupted("a verbs command")) {
        return -EBUSY;
    }

    abi_lock();
    for (i = 0; i < sizeof(abi_methods) / sizeof(abi_methods[0]); ++i) {
        if ((abi_methods[i].object == hdr->object_id) &&
            (abi_methods[i].method == hdr->method_id)) {
            cmd.name = abi_methods[i].name ? abi_methods[i].name :
                                             abi_write_name(&cmd);
            ret      = abi_run(&cmd, abi_methods[i].run);
            break;
        }
    }
    abi_unlock();
    return ret;
}
