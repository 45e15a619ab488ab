/* SPDX-License-Identifier: BSD-3-Clause */
#include "pair.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int st_self_open(st_self_t *self, st_t *st, st_result_t *result,
                 const st_qp_params_t *params)
{
    int err = st_qp_open(&self->qp, st->device, st->pd, params);

    self->st = st;
    if (err == 0) {
        errno         = 0;
        self->dest.ah = st_qp_ah_open(st->device, st->pd, st->device->gid.raw);
        if (self->dest.ah != NULL) {
            self->dest.qpn  = self->qp.qp->qp_num;
            self->dest.qkey = (params->qkey != 0) ? params->qkey : ST_QKEY;
            return 0;
        }
        err = (errno != 0) ? errno : EIO;
        st_qp_close(&self->qp);
    }
    st_result_not_asked(result, "no queue pair with a handle: %s",
                        strerror(err));
    return -1;
}

void st_self_close(st_self_t *self)
{
    st_qp_close(&self->qp);
    self->st->device->verbs->destroy_ah(self->dest.ah);
}

/* A far queue pair that receives, and where its memory is. */
static int pair_open_far(st_pair_t *pair, const st_pair_params_t *params)
{
    unsigned depth    = params->depth ? params->depth : 64;
    unsigned receives = params->none ? 0 :
                        params->receives ? params->receives : depth;
    unsigned bytes    = params->bytes ? params->bytes : 64;
    st_link_t *link   = pair->st->link;
    char answer[ST_LINE_MAX], gid[33];
    unsigned long long addr;

    st_serve_gid_print(pair->st->device->gid.raw, gid);
    if ((st_link_ask(link, NULL, 0, params->unknown ? "forget" : "know %s",
                     gid) != 0) ||
        (st_link_ask(link, answer, sizeof(answer), "open %u %u %u %u %u", depth,
                     receives, bytes, ST_QKEY, 7) != 0)) {
        return -1;
    }
    if (sscanf(answer, "%u %llu %u", &pair->dest.qpn, &addr, &pair->rkey) !=
        3) {
        snprintf(link->why, sizeof(link->why), "the far side says '%.40s'",
                 answer);
        return -1;
    }
    pair->addr      = addr;
    pair->dest.qkey = ST_QKEY;
    return 0;
}

int st_pair_open(st_pair_t *pair, st_t *st, st_result_t *result,
                 const st_pair_params_t *params)
{
    st_qp_params_t near = {.sends = 512, .receives = 512,
                           .rnr_retry = params->rnr_retry};
    int err;

    memset(pair, 0, sizeof(*pair));
    pair->st = st;
    if (pair_open_far(pair, params) != 0) {
        st_result_not_asked(result, "%s", st->link->why);
        return -1;
    }
    near.sends    = efa_at_most(near.sends, st->device->max_sq_wr);
    near.receives = efa_at_most(near.receives, st->device->max_rq_wr);
    err           = st_qp_open(&pair->qp, st->device, st->pd, &near);
    if (err == 0) {
        errno         = 0;
        pair->dest.ah = st_qp_ah_open(st->device, st->pd, st->link->gid);
        err           = (pair->dest.ah != NULL) ? 0 : (errno ? errno : EIO);
    }
    if (err != 0) {
        st_result_not_asked(result, "no queue pair with a handle: %s",
                            strerror(err));
        st_qp_close(&pair->qp);
        return -1;
    }
    return 0;
}

void st_pair_close(st_pair_t *pair)
{
    st_qp_close(&pair->qp);
    if (pair->dest.ah != NULL) {
        pair->st->device->verbs->destroy_ah(pair->dest.ah);
    }
    (void)st_link_ask(pair->st->link, NULL, 0, "close");
}

int st_pair_wait_cq(st_t *st, struct ibv_cq *cq, struct ibv_wc *wc,
                    double seconds)
{
    double until = probe_seconds() + seconds;

    do {
        if (cq->context->ops.poll_cq(cq, 1, wc) > 0) {
            return 1;
        }
        if (st->link != NULL) {
            st_link_progress(st->link);
        }
    } while (probe_seconds() < until);
    return 0;
}

int st_pair_wait(st_pair_t *pair, struct ibv_wc *wc, double seconds)
{
    return st_pair_wait_cq(pair->st, pair->qp.send_cq, wc, seconds);
}

int st_pair_send(st_pair_t *pair, unsigned number, size_t bytes)
{
    size_t room      = ST_MEM_BYTES / bytes;
    st_piece_t piece = {&pair->st->mem, (number % room) * bytes, bytes};

    st_serve_message(pair->st->mem.base + piece.at, bytes, number);
    return st_qp_send(&pair->qp, &pair->dest, &piece, number, 0);
}

int st_pair_status(st_pair_t *pair, double seconds, double *took)
{
    double start = probe_seconds();
    struct ibv_wc wc;
    int status = -1;

    if ((st_pair_send(pair, 1, 16) == 0) && st_pair_wait(pair, &wc, seconds)) {
        status = st_qp_status(&wc);
    }
    *took = probe_seconds() - start;
    return status;
}
