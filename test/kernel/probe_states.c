/* SPDX-License-Identifier: BSD-3-Clause */
/* States of queue pairs: every transition, and what it asks for. */
#include "probe.h"

#include <stdio.h>

enum { STATES_INIT = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY };

/* Bring a fresh QP to a state. */
static int states_reach(struct ibv_qp *qp, enum ibv_qp_state state)
{
    static const struct { enum ibv_qp_state to; int mask; } way[] = {
        { IBV_QPS_INIT, STATES_INIT }, { IBV_QPS_RTR, 0 },
        { IBV_QPS_RTS, IBV_QP_SQ_PSN }, { IBV_QPS_SQD, 0 },
    };
    struct ibv_qp_attr attr = { .port_num = 1, .qkey = 7 };
    unsigned i;
    int ret = 0;

    attr.qp_state = IBV_QPS_RESET;
    ibv_modify_qp(qp, &attr, IBV_QP_STATE);
    for (i = 0; (ret == 0) && (state != IBV_QPS_RESET) && (i < 4); ++i) {
        attr.qp_state = ((state == IBV_QPS_ERR) && (i == 1)) ? IBV_QPS_ERR :
                                                               way[i].to;
        ret           = ibv_modify_qp(qp, &attr, IBV_QP_STATE | way[i].mask);
        if (attr.qp_state == state) {
            break;
        }
    }
    return ret;
}

static int states_is(struct ibv_qp *qp)
{
    struct ibv_qp_init_attr init;
    struct ibv_qp_attr attr = { 0 };

    return ibv_query_qp(qp, &attr, IBV_QP_STATE, &init) ? -1 :
           (int)attr.qp_state;
}

/* From each state to each, with what a way needs, with less, with more */
static void states_table(struct ibv_qp *qp, const char *type)
{
    static const int masks[] = { 0, STATES_INIT, IBV_QP_SQ_PSN,
                                 IBV_QP_PKEY_INDEX | IBV_QP_QKEY,
                                 IBV_QP_SQ_PSN | IBV_QP_RNR_RETRY };
    struct ibv_qp_attr attr = { .port_num = 1, .qkey = 7, .rnr_retry = 3 };
    char answer[64];
    unsigned from, to, i, length;

    for (from = IBV_QPS_RESET; from <= IBV_QPS_ERR; ++from) {
        if ((from == IBV_QPS_SQE) || (states_reach(qp, from) != 0)) {
            continue; /* only the device goes there */
        }
        for (to = IBV_QPS_RESET; to <= IBV_QPS_ERR + 1; ++to) {
            length = 0;
            for (i = 0; i < sizeof(masks) / sizeof(masks[0]); ++i) {
                states_reach(qp, from);
                attr.qp_state = to;
                length += snprintf(answer + length, sizeof(answer) - length,
                                   "%s ", probe_result(ibv_modify_qp(qp, &attr,
                                           IBV_QP_STATE | masks[i])));
                if (length >= sizeof(answer)) {
                    break;
                }
            }
            probe_say(answer, "%s from state %u to %u", type, from, to);
        }
    }
}

static void states_attributes(struct ibv_qp *qp, const char *type)
{
    struct ibv_qp_init_attr init;
    struct ibv_qp_attr attr = { .port_num = 1, .qkey = 7 };
    struct ibv_qp_attr got  = { 0 };
    unsigned bit;

    for (bit = 0; bit <= 25; ++bit) {
        states_reach(qp, IBV_QPS_RTS);
        attr.qp_state     = IBV_QPS_RTS;
        attr.cur_qp_state = IBV_QPS_RTS;
        probe_say(probe_result(ibv_modify_qp(qp, &attr,
                                             IBV_QP_STATE | 1 << bit)),
                  "%s in RTS given attribute %u", type, bit);
        probe_say(probe_result(ibv_query_qp(qp, &got, 1 << bit, &init)),
                  "%s asked for attribute %u", type, bit);
    }
    attr.port_num = 2;
    states_reach(qp, IBV_QPS_RESET);
    attr.qp_state = IBV_QPS_INIT;
    probe_say(probe_result(ibv_modify_qp(qp, &attr,
                                         IBV_QP_STATE | STATES_INIT)),
              "%s on port 2", type);
    attr.port_num   = 1;
    attr.pkey_index = 1;
    probe_say(probe_result(ibv_modify_qp(qp, &attr,
                                         IBV_QP_STATE | STATES_INIT)),
              "%s with pkey index 1", type);
}

static void states_current(struct ibv_qp *qp, const char *type)
{
    struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };
    unsigned cur;

    for (cur = IBV_QPS_RESET; cur <= IBV_QPS_ERR + 1; ++cur) {
        states_reach(qp, IBV_QPS_RTS);
        attr.cur_qp_state = cur;
        probe_say(probe_result(ibv_modify_qp(qp, &attr, IBV_QP_STATE |
                                                        IBV_QP_CUR_STATE)),
                  "%s in RTS said to be in %u", type, cur);
    }
}

static void states_rnr(struct ibv_qp *qp)
{
    struct ibv_qp_init_attr init;
    struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };
    unsigned rnr;

    for (rnr = 0; rnr <= 8; ++rnr) {
        states_reach(qp, IBV_QPS_RTR);
        attr.rnr_retry = rnr;
        probe_say(probe_result(ibv_modify_qp(qp, &attr, IBV_QP_STATE |
                                                        IBV_QP_SQ_PSN |
                                                        IBV_QP_RNR_RETRY)),
                  "RNR retry %u", rnr);
    }
    attr.rnr_retry = 0;
    states_reach(qp, IBV_QPS_RTS);
    ibv_query_qp(qp, &attr, IBV_QP_RNR_RETRY, &init);
    probe_number(attr.rnr_retry, "RNR retry by default");
}

static void states_qkey(const struct probe *probe)
{
    static const uint32_t keys[] = { 0, 1, 0x7fffffff, 0x80000000,
                                     0xffffffff };
    struct ibv_cq *cq       = ibv_create_cq(probe->ctx, 16, NULL, NULL, 0);
    struct ibv_qp *qp       = probe_qp(probe, cq, IBV_QPT_DRIVER, 4);
    struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
    struct ibv_qp_init_attr init;
    unsigned i;

    for (i = 0; i < sizeof(keys) / sizeof(keys[0]); ++i) {
        states_reach(qp, IBV_QPS_RESET);
        attr.qp_state = IBV_QPS_INIT;
        attr.qkey     = keys[i];
        probe_say(probe_result(ibv_modify_qp(qp, &attr,
                                             IBV_QP_STATE | STATES_INIT)),
                  "QKEY %#x", keys[i]);
    }
    ibv_query_qp(qp, &attr, IBV_QP_QKEY, &init);
    probe_number(attr.qkey, "QKEY that the QP has");
    ibv_destroy_qp(qp);
    ibv_destroy_cq(cq);
}

void probe_states(const struct probe *probe)
{
    static const struct { enum ibv_qp_type type; const char *name; } types[] =
            { { IBV_QPT_DRIVER, "SRD" }, { IBV_QPT_UD, "UD" } };
    struct ibv_cq *cq = ibv_create_cq(probe->ctx, 16, NULL, NULL, 0);
    struct ibv_qp *qp;
    unsigned i;

    for (i = 0; i < 2; ++i) {
        qp = probe_qp(probe, cq, types[i].type, 4);
        if (qp == NULL) {
            probe_say(probe_result(-1), "%s", types[i].name);
            continue;
        }
        probe_number(states_is(qp), "%s begins in state", types[i].name);
        states_table(qp, types[i].name);
        states_attributes(qp, types[i].name);
        states_current(qp, types[i].name);
        if (i == 0) {
            states_rnr(qp);
        }
        probe_say(probe_result(ibv_destroy_qp(qp)), "%s destroyed",
                  types[i].name);
    }
    ibv_destroy_cq(cq);
    probe_say("", "by root");
    states_qkey(probe);
    probe_say("", "by a user");
    probe_child(probe, PROBE_USER, -1, states_qkey);
}
