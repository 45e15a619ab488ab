/* SPDX-License-Identifier: BSD-3-Clause */
#include "device.h"

#include <string.h>

struct ibv_context *device_open(const char *name)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    struct ibv_context *ctx  = NULL;
    unsigned i;

    for (i = 0; (list != NULL) && (list[i] != NULL); ++i) {
        if (!strcmp(ibv_get_device_name(list[i]), name)) {
            ctx = ibv_open_device(list[i]);
        }
    }
    ibv_free_device_list(list);
    return ctx;
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
