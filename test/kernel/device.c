/* SPDX-License-Identifier: BSD-3-Clause */
#include "device.h"

#include <infiniband/efadv.h>
#include <string.h>

struct ibv_context *device_open(const char *name)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    struct ibv_context *ctx  = NULL;
    unsigned i;

    for (i = 0; (list != NULL) && (list[i] != NULL); ++i) {
        if ((name == NULL) ? (i == 0) :
                             !strcmp(ibv_get_device_name(list[i]), name)) {
            ctx = ibv_open_device(list[i]);
        }
    }
    ibv_free_device_list(list);
    return ctx;
}

struct ibv_qp *device_qp(struct ibv_pd *pd, struct ibv_cq *cq,
                         enum ibv_qp_type type, unsigned depth)
{
    struct ibv_qp_init_attr_ex attr = {
        .cap = { .max_send_wr = depth, .max_recv_wr = depth,
                 .max_send_sge = 1, .max_recv_sge = 1 },
        .send_cq        = cq,
        .recv_cq        = cq,
        .qp_type        = type,
        .sq_sig_all     = 1,
        .comp_mask      = IBV_QP_INIT_ATTR_PD |
                          IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
        .pd             = pd,
        .send_ops_flags = IBV_QP_EX_WITH_SEND,
    };
    struct efadv_qp_init_attr efa = {
        .driver_qp_type = (type == IBV_QPT_DRIVER) ?
                          EFADV_QP_DRIVER_TYPE_SRD : 0
    };

    return efadv_create_qp_ex(pd->context, &attr, &efa, sizeof(efa));
}

int device_qp_ready(struct ibv_qp *qp, uint32_t qkey)
{
    struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1,
                                .qkey = qkey };
    int ret = ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
                                       IBV_QP_PORT | IBV_QP_QKEY);

    attr.qp_state = IBV_QPS_RTR;
    ret           = ret ? ret : ibv_modify_qp(qp, &attr, IBV_QP_STATE);
    attr.qp_state = IBV_QPS_RTS;
    return ret ? ret : ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
}
