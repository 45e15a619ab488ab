/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * State transitions: the attributes that each needs, and those that it may
 * have. SRD has the table of the kernel's driver, UD the kernel's common one,
 * which differs in the RNR retry alone.
 */
#include "qp_state.h"

#include <errno.h>

struct qp_transition {
    uint8_t  valid;
    uint32_t required, optional;
};

#define QPA_INIT  (SIM_QPA_PKEY_INDEX | SIM_QPA_PORT | SIM_QPA_QKEY)
#define QPA_RUN   (SIM_QPA_CUR_STATE | SIM_QPA_QKEY)
#define QPA_KNOWN (SIM_QPA_STATE | SIM_QPA_CUR_STATE | SIM_QPA_EN_SQD | \
                   QPA_INIT | SIM_QPA_SQ_PSN | SIM_QPA_RNR_RETRY)

static const struct qp_transition
qp_transitions[SIM_QPS_LAST][SIM_QPS_LAST] = {
    [SIM_QPS_RESET] = {
        [SIM_QPS_RESET] = { 1, 0, 0 },
        [SIM_QPS_INIT]  = { 1, QPA_INIT, 0 },
    },
    [SIM_QPS_INIT] = {
        [SIM_QPS_RESET] = { 1, 0, 0 },
        [SIM_QPS_ERR]   = { 1, 0, 0 },
        [SIM_QPS_INIT]  = { 1, 0, QPA_INIT },
        [SIM_QPS_RTR]   = { 1, 0, SIM_QPA_PKEY_INDEX | SIM_QPA_QKEY },
    },
    [SIM_QPS_RTR] = {
        [SIM_QPS_RESET] = { 1, 0, 0 },
        [SIM_QPS_ERR]   = { 1, 0, 0 },
        [SIM_QPS_RTS]   = { 1, SIM_QPA_SQ_PSN, QPA_RUN | SIM_QPA_RNR_RETRY },
    },
    [SIM_QPS_RTS] = {
        [SIM_QPS_RESET] = { 1, 0, 0 },
        [SIM_QPS_ERR]   = { 1, 0, 0 },
        [SIM_QPS_RTS]   = { 1, 0, QPA_RUN },
        [SIM_QPS_SQD]   = { 1, 0, SIM_QPA_EN_SQD },
    },
    [SIM_QPS_SQD] = {
        [SIM_QPS_RESET] = { 1, 0, 0 },
        [SIM_QPS_ERR]   = { 1, 0, 0 },
        [SIM_QPS_RTS]   = { 1, 0, QPA_RUN },
        [SIM_QPS_SQD]   = { 1, 0, SIM_QPA_PKEY_INDEX | SIM_QPA_QKEY },
    },
    [SIM_QPS_SQE] = {
        [SIM_QPS_RESET] = { 1, 0, 0 },
        [SIM_QPS_ERR]   = { 1, 0, 0 },
        [SIM_QPS_RTS]   = { 1, 0, QPA_RUN },
    },
    [SIM_QPS_ERR] = {
        [SIM_QPS_RESET] = { 1, 0, 0 },
        [SIM_QPS_ERR]   = { 1, 0, 0 },
    },
};

/* A state that CUR_STATE may name */
static int qp_state_is_current(uint32_t state)
{
    return (state == SIM_QPS_RTR) || (state == SIM_QPS_RTS) ||
           (state == SIM_QPS_SQD) || (state == SIM_QPS_SQE);
}

static int qp_state_move(const struct sim_qp_mod *mod, uint32_t cur,
                         uint32_t next, int ud)
{
    const struct qp_transition *move = &qp_transitions[cur][next];
    uint32_t given                   = mod->mask & ~SIM_QPA_STATE;

    return (((given & SIM_QPA_CUR_STATE) && !qp_state_is_current(cur)) ||
            (ud && (given & SIM_QPA_RNR_RETRY)) || !move->valid ||
            ((given & move->required) != move->required) ||
            (given & ~(move->required | move->optional))) ? -EINVAL : 0;
}

int drv_qp_state_check(const struct sim_qp_mod *mod, uint32_t state, int ud,
                       int privileged)
{
    uint32_t cur  = (mod->mask & SIM_QPA_CUR_STATE) ? mod->cur_state : state;
    uint32_t next = (mod->mask & SIM_QPA_STATE) ? mod->state : cur;

    if (((mod->mask & SIM_QPA_PORT) && (mod->port != 1)) ||
        (cur >= SIM_QPS_LAST) || (next >= SIM_QPS_LAST)) {
        return -EINVAL;
    }
    if ((mod->mask & SIM_QPA_QKEY) && (mod->qkey & SIM_QKEY_PRIV) &&
        !privileged) {
        return -EPERM;
    }
    if (mod->mask & ~QPA_KNOWN) {
        return -EOPNOTSUPP;
    }
    if (qp_state_move(mod, cur, next, ud) != 0) {
        return -EINVAL;
    }

    return ((mod->mask & SIM_QPA_PKEY_INDEX) && (mod->pkey_index != 0)) ?
           -EOPNOTSUPP : 0;
}
