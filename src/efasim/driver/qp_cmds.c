/* SPDX-License-Identifier: BSD-3-Clause */
/* Queue pairs: the kernel driver's checks, the pages that the program will
 * map, the engine's object. */
#include "cmds.h"
#include "efa_uapi.h"
#include "hooks.h"
#include "region.h"
#include "standby.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <linux/capability.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <string.h>

/* Offsets in a QP's doorbell page */
enum {
    QP_DB_SQ = 0,
    QP_DB_RQ = 64,
};

/* Attributes that a QP can be asked for; the kernel's driver refuses the
 * rest. */
#define QP_QUERY_KNOWN \
    ((uint32_t)(SIM_QPA_STATE | SIM_QPA_PKEY_INDEX | SIM_QPA_PORT | \
                SIM_QPA_QKEY | SIM_QPA_RNR_RETRY | SIM_QPA_SQ_PSN | \
                SIM_QPA_CAP))

struct drv_qp *drv_qp_get(struct drv_ctx *ctx, int64_t handle)
{
    return ((handle >= 0) && (handle < DRV_QPS) &&
            (drv.qp[handle].ctx == ctx)) ? &drv.qp[handle] : NULL;
}

static int qp_check_caps(const struct sim_profile *profile,
                         const struct ib_uverbs_qp_cap *cap)
{
    return ((cap->max_send_wr > profile->sq_wr) ||
            (cap->max_recv_wr > SIM_MAX_RQ_WR) ||
            (cap->max_send_sge > SIM_MAX_SQ_SGE) ||
            (cap->max_recv_sge > SIM_MAX_RQ_SGE) ||
            (cap->max_inline_data > profile->inline_bytes)) ?
           -EINVAL : 0;
}

/* Less than what the device reports, if a knob says so */
static int qp_accepts(const struct sim_knobs *knobs,
                      const struct ib_uverbs_qp_cap *cap)
{
    return sim_accepts(knobs, SIM_ACCEPT_SEND_QUEUE, cap->max_send_wr) &&
           sim_accepts(knobs, SIM_ACCEPT_RECEIVE_QUEUE, cap->max_recv_wr) &&
           sim_accepts(knobs, SIM_ACCEPT_SEND_SGE, cap->max_send_sge) &&
           sim_accepts(knobs, SIM_ACCEPT_RECEIVE_SGE, cap->max_recv_sge) &&
           sim_accepts(knobs, SIM_ACCEPT_INLINE, cap->max_inline_data);
}

static int qp_check(const struct sim_dev *dev,
                    const struct drv_efa_qp_in *req,
                    const struct ib_uverbs_qp_cap *cap, uint32_t type)
{
    uint16_t stride   = sim_qp_stride(dev->profile, req->sq_ring_size,
                                        cap->max_send_wr);
    uint32_t sq_depth = req->sq_ring_size / stride;
    uint32_t rq_depth = req->rq_ring_size / sizeof(struct io_rx_desc);
    uint32_t caps     = sim_profile_caps(dev);
    uint16_t known    = 0;

    known |= (caps & SIM_CAP_UNSOLICITED_WRITE) ?
             DRV_EFA_QP_UNSOLICITED_WRITE : 0;
    known |= (caps & SIM_CAP_REQ_ID_64) ? DRV_EFA_QP_REQ_ID_64 : 0;
    if (((type != IB_UVERBS_QPT_UD) &&
         ((type != IB_UVERBS_QPT_DRIVER) ||
          (req->driver_qp_type != DRV_EFA_QP_SRD))) ||
        (req->flags & ~known)) {
        return -EOPNOTSUPP;
    }

    if ((req->comp_mask != 0) ||
        (req->sq_ring_size > SIM_MAX_SQ_WR * IO_TX_WQE_SMALL) ||
        (rq_depth > SIM_MAX_RQ_WR) ||
        (sq_depth & (sq_depth - 1)) || (rq_depth & (rq_depth - 1)) ||
        (sq_depth < cap->max_send_wr) ||
        ((cap->max_inline_data > IO_TX_INLINE_SMALL) &&
         (stride == IO_TX_WQE_SMALL))) {
        return -EINVAL;
    }

    return qp_accepts(&dev->knobs, cap) ? qp_check_caps(dev->profile, cap) :
                                          -EINVAL;
}

static int qp_make(struct drv_ctx *ctx,
                   const struct drv_efa_qp_in *req,
                   struct sim_qp_attr *attr, struct drv_qp **entry_p)
{
    const size_t sizes[] = { req->sq_ring_size, req->rq_ring_size, 1 };
    struct drv_region region[3] = { { 0 } }; /* in that order */
    struct drv_qp *entry;
    struct sim_qp *qp;
    int ret;

    ret = drv_regions_alloc(ctx, sizes, 3, region);
    if (ret != 0) {
        return ret;
    }

    attr->sq_ring  = region[0].ptr;
    attr->rq_ring  = region[1].ptr;
    attr->sq_depth = req->sq_ring_size / attr->sq_stride;
    attr->rq_depth = req->rq_ring_size / sizeof(struct io_rx_desc);
    attr->sq_db    = (_Atomic uint32_t*)(region[2].ptr + QP_DB_SQ);
    attr->rq_db    = (_Atomic uint32_t*)(region[2].ptr + QP_DB_RQ);
    ret            = sim_qp_create(ctx->dev->sim, attr, &qp);
    if (ret == -ENOMEM) { /* where the kernel cleans up at once */
        fabric_take_back(ctx->dev->fabric);
        ret = sim_qp_create(ctx->dev->sim, attr, &qp);
    }
    if (ret != 0) {
        drv_regions_free(ctx, &region[0], &region[2]);
        return ret;
    }

    entry      = &drv.qp[ctx->dev->index * SIM_MAX_QP + qp->qpn];
    memset(entry, 0, sizeof(*entry));
    entry->qp  = qp;
    entry->ctx = ctx;
    entry->sq  = region[0];
    entry->rq  = region[1];
    entry->db  = region[2];
    qp->user   = entry;
    *entry_p   = entry;
    return 0;
}

static void qp_answer(struct drv_cmd *cmd, const struct drv_qp *entry,
                      const struct ib_uverbs_qp_cap *cap)
{
    struct drv_efa_qp_out resp = { 0 };
    uint32_t qpn               = entry->qp->qpn;

    resp.recv_sub_cq       = sim_profile_sub_cqs(entry->ctx->dev->sim) - 1;
    resp.sq_db_offset      = QP_DB_SQ;
    resp.rq_db_offset      = QP_DB_RQ;
    resp.sq_db_mmap_key    = entry->db.offset;
    resp.rq_db_mmap_key    = entry->db.offset;
    resp.llq_desc_mmap_key = entry->sq.offset;
    resp.rq_mmap_key       = entry->rq.offset;
    resp.rq_mmap_size      = entry->rq.size;
    drv_attr_put(cmd, UVERBS_ATTR_CREATE_QP_RESP_CAP, *cap);
    drv_attr_put(cmd, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, qpn);
    drv_attr_put(cmd, UVERBS_ATTR_UHW_OUT, resp);
    drv_attr_out_handle(cmd, UVERBS_ATTR_CREATE_QP_HANDLE, entry - drv.qp);
}

int drv_qp_create(struct drv_cmd *cmd)
{
    const struct sim_dev *dev = cmd->ctx->dev->sim;
    struct sim_qp_attr attr   = { 0 };
    struct drv_cq *send_cq, *recv_cq;
    struct ib_uverbs_qp_cap cap;
    struct drv_efa_qp_in req;
    struct drv_qp *entry;
    uint32_t type, flags;
    uint64_t user;
    int ret;

    send_cq = drv_cq_get(cmd->ctx, drv_attr_handle(cmd,
                                   UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE));
    recv_cq = drv_cq_get(cmd->ctx, drv_attr_handle(cmd,
                                   UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE));
    attr.pd = drv_pd_get(cmd->ctx, drv_attr_handle(cmd,
                                   UVERBS_ATTR_CREATE_QP_PD_HANDLE));
    if ((attr.pd == NULL) || (send_cq == NULL) || (recv_cq == NULL)) {
        return -ENOENT;
    }
    if (drv_attr_in(cmd, UVERBS_ATTR_UHW_IN, &req, sizeof(req),
                    offsetof(struct drv_efa_qp_in, flags)) ||
        drv_attr_get(cmd, UVERBS_ATTR_CREATE_QP_CAP, cap) ||
        drv_attr_get(cmd, UVERBS_ATTR_CREATE_QP_TYPE, type) ||
        drv_attr_get(cmd, UVERBS_ATTR_CREATE_QP_USER_HANDLE, user)) {
        return -EINVAL;
    }

    drv_attr_in(cmd, UVERBS_ATTR_CREATE_QP_FLAGS, &flags, sizeof(flags), 0);
    if (flags & ~(uint32_t)IB_UVERBS_QP_CREATE_SQ_SIG_ALL) {
        return -EOPNOTSUPP;
    }

    ret = qp_check(dev, &req, &cap, type);
    if (ret != 0) {
        return ret;
    }

    attr.send_cq      = send_cq->cq;
    attr.recv_cq      = recv_cq->cq;
    attr.sq_stride    = sim_qp_stride(dev->profile, req.sq_ring_size,
                                      cap.max_send_wr);
    attr.ud           = (type == IB_UVERBS_QPT_UD);
    attr.unsolicited  = !!(req.flags & DRV_EFA_QP_UNSOLICITED_WRITE);
    attr.req_id_64    = !!(req.flags & DRV_EFA_QP_REQ_ID_64);
    ret = qp_make(cmd->ctx, &req, &attr, &entry);
    if (ret != 0) {
        return ret;
    }

    memcpy(entry->caps, &cap, sizeof(entry->caps));
    entry->sq_sig_all = !!(flags & IB_UVERBS_QP_CREATE_SQ_SIG_ALL);
    entry->user       = (struct ibv_qp*)(uintptr_t)user;
    drv_hook_qp(entry);
    sim_log_trace(cmd->ctx->dev->sim, "qp %u sl=%u", entry->qp->qpn, req.sl);
    qp_answer(cmd, entry, &cap);
    return 0;
}

void drv_qp_release(struct drv_qp *qp)
{
    sim_qp_destroy(qp->qp);
    drv_regions_free(qp->ctx, &qp->sq, &qp->db);
    memset(qp, 0, sizeof(*qp));
}

int drv_qp_destroy(struct drv_cmd *cmd)
{
    struct drv_qp *entry = drv_qp_get(cmd->ctx,
                                      drv_attr_handle(cmd,
                                              UVERBS_ATTR_DESTROY_QP_HANDLE));
    struct ib_uverbs_destroy_qp_resp resp = { 0 };

    if (entry == NULL) {
        return drv_attr_no_object(cmd, UVERBS_ATTR_DESTROY_QP_HANDLE);
    }

    drv_qp_release(entry);
    drv_attr_put(cmd, UVERBS_ATTR_DESTROY_QP_RESP, resp);
    return 0;
}

/* Read a request, and find the QP whose handle stands in it: 0; -EINVAL: it is
 * too short; -ENOENT. */
static int qp_request(const struct drv_cmd *cmd, void *req, size_t size,
                      const uint32_t *handle, struct drv_qp **entry)
{
    if (drv_core_in(cmd, req, size)) {
        return -EINVAL;
    }

    *entry = drv_qp_get(cmd->ctx, *handle);
    return (*entry == NULL) ? -ENOENT : 0;
}

/* Paths, which an EFA has none of, must at least be on its port. */
static int qp_check_paths(const struct ib_uverbs_modify_qp *req)
{
    return (((req->attr_mask & IBV_QP_AV) && (req->dest.port_num != 1)) ||
            ((req->attr_mask & IBV_QP_ALT_PATH) &&
             ((req->alt_port_num != 1) || (req->alt_dest.port_num != 1)))) ?
           -EINVAL : 0;
}

#define QPA_INIT  (SIM_QPA_PKEY_INDEX | SIM_QPA_PORT | SIM_QPA_QKEY)
#define QPA_RUN   (SIM_QPA_CUR_STATE | SIM_QPA_QKEY)
#define QPA_KNOWN (SIM_QPA_STATE | SIM_QPA_CUR_STATE | SIM_QPA_EN_SQD | \
                   QPA_INIT | SIM_QPA_SQ_PSN | SIM_QPA_RNR_RETRY)

/*
 * State transitions: the attributes that each needs, and those that it may
 * have. SRD has the table of the kernel's driver, UD the kernel's common one,
 * which differs in the RNR retry alone. To RESET and to ERR there is a way from
 * every state, but none from RESET to ERR, with no attribute.
 */
static const struct qp_move {
    uint8_t  from, to;
    uint32_t required, optional;
} qp_moves[] = {
    { SIM_QPS_RESET, SIM_QPS_INIT, QPA_INIT, 0 },
    { SIM_QPS_INIT, SIM_QPS_INIT, 0, QPA_INIT },
    { SIM_QPS_INIT, SIM_QPS_RTR, 0, SIM_QPA_PKEY_INDEX | SIM_QPA_QKEY },
    { SIM_QPS_RTR, SIM_QPS_RTS, SIM_QPA_SQ_PSN, QPA_RUN | SIM_QPA_RNR_RETRY },
    { SIM_QPS_RTS, SIM_QPS_RTS, 0, QPA_RUN },
    { SIM_QPS_RTS, SIM_QPS_SQD, 0, SIM_QPA_EN_SQD },
    { SIM_QPS_SQD, SIM_QPS_RTS, 0, QPA_RUN },
    { SIM_QPS_SQD, SIM_QPS_SQD, 0, SIM_QPA_PKEY_INDEX | SIM_QPA_QKEY },
    { SIM_QPS_SQE, SIM_QPS_RTS, 0, QPA_RUN },
};

/* NULL: there is no such way. */
static const struct qp_move *qp_move(uint32_t from, uint32_t to)
{
    static const struct qp_move bare = { .required = 0 };
    unsigned i;

    if ((to == SIM_QPS_RESET) ||
        ((to == SIM_QPS_ERR) && (from != SIM_QPS_RESET))) {
        return &bare;
    }
    for (i = 0; i < sizeof(qp_moves) / sizeof(qp_moves[0]); ++i) {
        if ((qp_moves[i].from == from) && (qp_moves[i].to == to)) {
            return &qp_moves[i];
        }
    }
    return NULL;
}

/* A state that CUR_STATE may name */
static int qp_state_is_current(uint32_t state)
{
    return (state == SIM_QPS_RTR) || (state == SIM_QPS_RTS) ||
           (state == SIM_QPS_SQD) || (state == SIM_QPS_SQE);
}

/*
 * Checks of uverbs and of the driver, in their order, of a QP that the driver
 * takes to be in entry->state (it does not know of the device's own changes).
 * -EINVAL: port other than 1, no such state, not in the state table, a missing
 * or a surplus attribute; -EPERM: a QKEY of the privileged range, of a program
 * without that right; -EOPNOTSUPP: an unknown attribute, a pkey index other
 * than 0.
 */
static int qp_state_check(const struct sim_qp_mod *mod,
                          const struct drv_qp *entry)
{
    uint32_t given = mod->mask & ~SIM_QPA_STATE;
    uint32_t from  = (mod->mask & SIM_QPA_CUR_STATE) ? mod->cur_state :
                                                       entry->state;
    uint32_t to    = (mod->mask & SIM_QPA_STATE) ? mod->state : from;
    const struct qp_move *move;

    if (((mod->mask & SIM_QPA_PORT) && (mod->port != 1)) ||
        (from >= SIM_QPS_LAST) || (to >= SIM_QPS_LAST)) {
        return -EINVAL;
    }
    if ((mod->mask & SIM_QPA_QKEY) && (mod->qkey & SIM_QKEY_PRIV) &&
        !drv_privilege_has(CAP_NET_RAW)) {
        return -EPERM;
    }
    if (mod->mask & ~QPA_KNOWN) {
        return -EOPNOTSUPP;
    }

    move = qp_move(from, to);
    if (((given & SIM_QPA_CUR_STATE) && !qp_state_is_current(from)) ||
        (entry->qp->attr.ud && (given & SIM_QPA_RNR_RETRY)) ||
        (move == NULL) || ((given & move->required) != move->required) ||
        (given & ~(move->required | move->optional))) {
        return -EINVAL;
    }
    return ((mod->mask & SIM_QPA_PKEY_INDEX) && (mod->pkey_index != 0)) ?
           -EOPNOTSUPP : 0;
}

int drv_qp_modify(struct drv_cmd *cmd)
{
    struct ib_uverbs_modify_qp req;
    struct sim_qp_mod mod;
    struct drv_qp *entry;
    int ret;

    ret = qp_request(cmd, &req, sizeof(req), &req.qp_handle, &entry);
    ret = ret ? ret : qp_check_paths(&req);
    if (ret != 0) {
        return ret;
    }

    mod = (struct sim_qp_mod){
        .mask       = req.attr_mask,
        .state      = req.qp_state,
        .cur_state  = req.cur_qp_state,
        .qkey       = req.qkey,
        .sq_psn     = req.sq_psn,
        .port       = req.port_num,
        .pkey_index = req.pkey_index,
        .rnr_retry  = req.rnr_retry,
    };
    ret = qp_state_check(&mod, entry);
    if (ret == -EPERM) {
        sim_log(entry->qp->dev, "QP %u: QKEY %#x is of the privileged range; "
                "choose one below %#x", entry->qp->qpn, mod.qkey,
                SIM_QKEY_PRIV);
    }
    ret = ret ? ret : sim_qp_modify(entry->qp, &mod);
    if (ret == 0) {
        entry->state = (mod.mask & SIM_QPA_STATE) ? mod.state : entry->state;
        drv_hook_qp(entry);
    }
    return ret;
}

int drv_qp_query(struct drv_cmd *cmd)
{
    struct ib_uverbs_query_qp_resp resp = { 0 };
    struct ib_uverbs_query_qp req;
    struct drv_qp *entry;
    int ret;

    ret = qp_request(cmd, &req, sizeof(req), &req.qp_handle, &entry);
    if (ret != 0) {
        return ret;
    }
    if (req.attr_mask & ~QP_QUERY_KNOWN) {
        return -EOPNOTSUPP;
    }

    resp.max_send_wr     = entry->caps[0];
    resp.max_recv_wr     = entry->caps[1];
    resp.max_send_sge    = entry->caps[2];
    resp.max_recv_sge    = entry->caps[3];
    resp.max_inline_data = entry->caps[4];
    resp.qkey            = entry->qp->qkey;
    resp.sq_psn          = entry->qp->sq_psn;
    resp.rnr_retry       = entry->qp->rnr_retry;
    resp.qp_state        = entry->qp->state;
    resp.port_num        = 1;
    resp.sq_sig_all      = entry->sq_sig_all;
    drv_attr_put(cmd, UVERBS_ATTR_CORE_OUT, resp);
    return 0;
}
