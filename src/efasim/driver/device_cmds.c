/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands about the device itself. */
#include "cmds.h"
#include "efa_uapi.h"

#include "efasim/fabric/process.h"

#include <endian.h>
#include <errno.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int drv_device_context(struct drv_cmd *cmd)
{
    const struct sim_profile *profile = cmd->ctx->dev->sim->profile;
    struct drv_efa_context_out resp   = { 0 };
    struct drv_efa_context_in req;
    uint32_t vectors = cmd->ctx->dev->sim->knobs.comp_vectors;
    uint64_t support = IB_UVERBS_CORE_SUPPORT_OPTIONAL_MR_ACCESS;

    /* the device limits a doorbell's batch: the program must know how */
    drv_attr_in(cmd, UVERBS_ATTR_UHW_IN, &req, sizeof(req), 0);
    if (!(req.supported_caps & DRV_EFA_CONTEXT_TX_BATCH)) {
        return -EOPNOTSUPP;
    }

    resp.cmds_supp_udata = DRV_EFA_UDATA_QUERY_DEVICE |
                                DRV_EFA_UDATA_CREATE_AH;
    resp.sub_cqs_per_cq  = sim_profile_sub_cqs(cmd->ctx->dev->sim);
    resp.inline_buf_size = IO_TX_INLINE_SMALL;
    resp.max_llq_size    = SIM_MAX_SQ_WR * IO_TX_WQE_SMALL;
    resp.max_tx_batch    = SIM_MAX_TX_BATCH;
    if (profile->inline_bytes > IO_TX_INLINE_SMALL) {
        resp.inline_buf_size_ex = profile->inline_bytes;
    }
    drv_attr_put(cmd, UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, vectors);
    drv_attr_put(cmd, UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, support);
    drv_attr_put(cmd, UVERBS_ATTR_UHW_OUT, resp);
    return 0;
}

/* Codes of a lane's speed and of the number of lanes, by which a driver tells
 * the port's; a speed without gets a code that nobody has now. */
static void device_speed(uint64_t gbps, uint32_t *speed, uint8_t *width)
{
    static const struct {
        unsigned gbps;
        uint32_t speed;
        uint8_t  width;
    } codes[] = {
        { 25, 32, 1 },  { 50, 64, 1 },   { 100, 32, 2 },  { 200, 64, 2 },
        { 400, 64, 4 }, { 800, 128, 4 }, { 1600, 256, 4 },
    };
    unsigned i;

    *speed = 512;
    *width = 4;
    for (i = 0; i < sizeof(codes) / sizeof(codes[0]); ++i) {
        if (codes[i].gbps == gbps) {
            *speed = codes[i].speed;
            *width = codes[i].width;
        }
    }
}

int drv_device_port_speed(struct drv_cmd *cmd)
{
    uint64_t speed = sim_profile_gbps(cmd->ctx->dev->sim) * 10;
    uint32_t number;

    if (drv_attr_in(cmd, DRV_PORT_SPEED_NUMBER, &number, sizeof(number), 1) ||
        (number != 1)) {
        return -EINVAL;
    }
    drv_attr_put(cmd, DRV_PORT_SPEED_RESP, speed);
    return 0;
}

int drv_device_port(struct drv_cmd *cmd)
{
    struct ib_uverbs_query_port_resp_ex resp = { 0 };
    struct ib_uverbs_query_port_resp *port   = &resp.legacy_resp;
    uint32_t speed;
    uint8_t number;

    if (drv_attr_get(cmd, UVERBS_ATTR_QUERY_PORT_PORT_NUM,
                     number) || (number != 1)) {
        return -EINVAL;
    }

    port->state        = IBV_PORT_ACTIVE;
    port->phys_state   = 5; /* link up */
    port->max_mtu      = SIM_MTU_ENUM;
    port->active_mtu   = SIM_MTU_ENUM;
    port->max_msg_sz   = SIM_MAX_MSG;
    port->gid_tbl_len  = 1;
    port->pkey_tbl_len = 1;
    port->lmc          = 1;
    port->max_vl_num   = 1;
    device_speed(sim_profile_gbps(cmd->ctx->dev->sim), &speed,
                 &port->active_width);
    port->active_speed = (speed > 128) ? 128 : speed;
    memcpy((uint8_t*)&resp + DRV_PORT_SPEED_EX, &speed, sizeof(speed));
    drv_attr_put(cmd, UVERBS_ATTR_QUERY_PORT_RESP, resp);
    return 0;
}

static void device_gid(const struct drv_dev *dev,
                       struct ib_uverbs_gid_entry *entry)
{
    memset(entry, 0, sizeof(*entry));
    dir_gid(dev->sim->dir, dev->sim->nic, (uint8_t*)entry->gid);
    entry->port_num = 1;
    entry->gid_type = IB_UVERBS_GID_TYPE_IB;
}

int drv_device_gid_entry(struct drv_cmd *cmd)
{
    struct ib_uverbs_gid_entry entry;
    uint32_t port, index, flags;

    if (drv_attr_get(cmd, UVERBS_ATTR_QUERY_GID_ENTRY_PORT, port) ||
        drv_attr_get(cmd, UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX, index) ||
        drv_attr_in(cmd, UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS, &flags,
                    sizeof(flags), 0) ||
        (flags != 0) || (port != 1) || (index > 0)) {
        return -EINVAL;
    }

    device_gid(cmd->ctx->dev, &entry);
    drv_attr_put(cmd, UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY, entry);
    return 0;
}

int drv_device_gid_table(struct drv_cmd *cmd)
{
    struct ib_uverbs_attr *entries =
            drv_attr(cmd, UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES);
    struct ib_uverbs_gid_entry entry;
    uint64_t size, num = 1;

    if (drv_attr_get(cmd, UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE,
                     size) || (size < sizeof(entry)) ||
        (entries == NULL) || (entries->len < size)) {
        return -EINVAL;
    }

    device_gid(cmd->ctx->dev, &entry);
    drv_attr_put(cmd, UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES, entry);
    drv_attr_put(cmd, UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, num);
    return 0;
}

/* Asynchronous events are packets on a socket pair; the only one is that the
 * device is gone. */
int drv_device_async_event(struct drv_cmd *cmd)
{
    int fds[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0) {
        return -errno;
    }

    if (cmd->ctx->async_fd >= 0) {
        close(cmd->ctx->async_fd); /* an earlier one: it hears nothing */
    }
    cmd->ctx->async_fd = fds[1];
    drv_attr_out_handle(cmd, UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE, fds[0]);
    return 0;
}

void drv_device_fatal(struct fabric_env *env)
{
    struct ib_uverbs_async_event_desc event = { 0 };
    unsigned i, end = atomic_load(&drv.ctx_end);
    int fd;

    event.event_type = IBV_EVENT_DEVICE_FATAL;
    for (i = 0; i < end; ++i) {
        if ((atomic_load(&drv.ctx[i].fd) >= 0) &&
            (&drv.ctx[i].dev->env == env) && (drv.ctx[i].async_fd >= 0)) {
            fd = fabric_process_fd(drv.ctx[i].async_fd);
            (void)!send(fd, &event, sizeof(event), MSG_DONTWAIT | MSG_NOSIGNAL);
            fabric_process_fd_end(fd);
        }
    }
}

static void device_base(const struct drv_dev *dev,
                        struct ib_uverbs_query_device_resp *base)
{
    uint8_t gid[16];

    dir_gid(dev->sim->dir, dev->sim->nic, gid);
    memcpy(&base->node_guid, gid + 8, 8);
    base->max_mr_size    = SIM_MAX_MR_SIZE;
    base->page_size_cap  = 0xfffff000;
    base->vendor_id      = 0x1d0f;
    base->vendor_part_id = dev->sim->profile->pci_device;
    base->hw_ver         = dev->sim->profile->pci_device;
    base->max_qp         = SIM_MAX_QP;
    base->max_qp_wr      = dev->sim->profile->sq_wr;
    base->max_sge        = SIM_MAX_SQ_SGE;
    base->max_sge_rd     = SIM_MAX_RDMA_SGE;
    base->max_cq         = SIM_MAX_CQ;
    base->max_cqe        = dev->knobs.max_cqe;
    base->max_mr         = SIM_MAX_MR;
    base->max_pd         = SIM_MAX_PD;
    base->max_ah         = dev->knobs.max_ah;
    base->max_pkeys      = 1;
    base->phys_port_cnt  = 1;
}

static int device_query(struct drv_cmd *cmd, int extended)
{
    struct drv_efa_device_out efa = { 0 };
    struct ib_uverbs_ex_query_device_resp resp;

    memset(&resp, 0, sizeof(resp));
    device_base(cmd->ctx->dev, &resp.base);
    if (!extended) {
        drv_attr_put(cmd, UVERBS_ATTR_CORE_OUT, resp.base);
        return 0;
    }

    efa.max_sq_wr     = cmd->ctx->dev->sim->profile->sq_wr;
    efa.max_rq_wr     = SIM_MAX_RQ_WR;
    efa.max_sq_sge    = SIM_MAX_SQ_SGE;
    efa.max_rq_sge    = SIM_MAX_RQ_SGE;
    efa.device_caps   = sim_profile_caps(cmd->ctx->dev->sim);
    efa.max_rdma_size = (efa.device_caps & SIM_CAP_RDMA_READ) ?
                                cmd->ctx->dev->knobs.max_rdma : 0;

    resp.response_length = sizeof(resp);
    drv_attr_put(cmd, UVERBS_ATTR_CORE_OUT, resp);
    drv_attr_put(cmd, UVERBS_ATTR_UHW_OUT, efa);
    return 0;
}

/* libibverbs asks without room for an answer, to see whether this form of the
 * command exists. */
int drv_device_query(struct drv_cmd *cmd)
{
    return drv_attr(cmd, UVERBS_ATTR_CORE_OUT) ? device_query(cmd, 0) :
                                                 -ENOSPC;
}

int drv_device_query_ex(struct drv_cmd *cmd)
{
    return device_query(cmd, 1);
}
