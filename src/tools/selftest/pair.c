/* SPDX-License-Identifier: BSD-3-Clause */
#include "pair.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The queue pair here, with a handle for @gid. 0; or -1, and the probe was not
 * asked. */
static int pair_open_near(st_pair_t *pair, st_result_t *result,
                          const st_qp_params_t *params, const uint8_t gid[16])
{
    const efa_device_t *device = pair->st->device;
    int err = st_qp_open(&pair->qp, device, pair->st->pd, params);

    if (err == 0) {
        errno         = 0;
        pair->dest.ah = efa_ah_make(device, pair->st->pd, gid);
        err           = (pair->dest.ah != NULL) ? 0 : (errno ? errno : EIO);
    }
    if (err != 0) {
        st_result_not_asked(result, "no queue pair with a handle: %s",
                            strerror(err));
        st_qp_close(&pair->qp);
    }
    return err ? -1 : 0;
}

int st_self_open(st_pair_t *self, st_t *st, st_result_t *result,
                 const st_qp_params_t *params)
{
    memset(self, 0, sizeof(*self));
    self->st = st;
    if (pair_open_near(self, result, params, st->device->gid.raw) != 0) {
        return -1;
    }
    self->dest.qpn  = self->qp.qp->qp_num;
    self->dest.qkey = (params->qkey != 0) ? params->qkey : ST_QKEY;
    return 0;
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

    memset(pair, 0, sizeof(*pair));
    pair->st = st;
    if (pair_open_far(pair, params) != 0) {
        st_result_not_asked(result, "%s", st->link->why);
        return -1;
    }
    near.sends    = efa_at_most(near.sends, st->device->max_sq_wr);
    near.receives = efa_at_most(near.receives, st->device->max_rq_wr);
    return pair_open_near(pair, result, &near, st->link->gid);
}

void st_pair_close(st_pair_t *pair)
{
    st_qp_close(&pair->qp);
    if (pair->dest.ah != NULL) {
        pair->st->device->verbs->destroy_ah(pair->dest.ah);
    }
    (void)st_link_ask(pair->st->link, NULL, 0, "close");
}

int st_pair_wait_cq(st_t *st, struct ibv_cq *cq, double seconds, size_t *bytes)
{
    double until = probe_seconds() + seconds;
    struct ibv_wc wc;

    do {
        if (cq->context->ops.poll_cq(cq, 1, &wc) > 0) {
            if (bytes != NULL) {
                *bytes = wc.byte_len;
            }
            return (int)st_qp_status(&wc);
        }
        if (st->link != NULL) {
            st_link_progress(st->link);
        }
    } while (probe_seconds() < until);
    return -1;
}

int st_pair_wait(st_pair_t *pair, double seconds)
{
    return st_pair_wait_cq(pair->st, pair->qp.send_cq, seconds, NULL);
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
    int status   = (st_pair_send(pair, 1, 16) == 0) ?
                   st_pair_wait(pair, seconds) : -1;

    *took = probe_seconds() - start;
    return status;
}
