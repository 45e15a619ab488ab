/* SPDX-License-Identifier: BSD-3-Clause */
#include "ud_mtu.h"

#include <uct/ib/efa/efa_clock.h>
#include <uct/ib/efa/efa_self.h>

#include <string.h>

#define UD_MTU_TRIES 4        /* one may be lost on its way */
#define UD_MTU_TIME  10000000 /* ns that each has */
#define UD_MTU_QKEY  1
#define UD_MTU_DEPTH 64

/* Returns whether it could be opened, with one receive of `size` bytes behind
 * the bytes to send. */
static int ud_mtu_open(efa_self_t *self, efa_md_t *md, size_t size)
{
    const efa_qp_params_t params = {
        .kind     = EFA_QP_UD,
        .tx_depth = UD_MTU_DEPTH,
        .rx_depth = UD_MTU_DEPTH,
        .qkey     = UD_MTU_QKEY,
        .is_trial = 1
    };
    efa_recv_wr_t recv, *bad;

    if (efa_self_open(self, md, &params, 2 * size + EFA_UD_PREFIX) != UCS_OK) {
        return 0;
    }
    memset(&recv, 0, sizeof(recv));
    recv.sge.addr   = (uintptr_t)self->memory->memory + size;
    recv.sge.length = size + EFA_UD_PREFIX;
    recv.sge.lkey   = self->memory->mr->lkey;
    efa_recv_wr_init(&recv, self, 0);
    return efa_post_recv(&self->qp, &recv, &bad) == 0;
}

typedef enum ud_mtu_end {
    UD_MTU_ARRIVED,
    UD_MTU_LOST,
    UD_MTU_REFUSED
} ud_mtu_end_t;

/* Sends one datagram and waits for its end. */
static ud_mtu_end_t ud_mtu_send(efa_self_t *self, unsigned size)
{
    efa_sge_t piece = {
        .addr   = (uintptr_t)self->memory->memory,
        .length = size,
        .lkey   = self->memory->mr->lkey
    };
    uint64_t      deadline = efa_clock() + UD_MTU_TIME;
    efa_send_wr_t send;
    efa_wc_t      wc;

    memset(&send, 0, sizeof(send));
    efa_send_wr_init(&send, self, 0);
    efa_send_wr_set(&send, &piece, 1, 0);
    if (efa_post_send(&self->qp, &send, &self->dest) != 0) {
        return UD_MTU_REFUSED;
    }
    do {
        if ((efa_poll_tx(&self->qp, 1, &wc) == 1) && !efa_wc_is_ok(&wc)) {
            return UD_MTU_REFUSED;
        }
        if (efa_poll_rx(&self->qp, 1, &wc) == 1) {
            return efa_wc_is_ok(&wc) ? UD_MTU_ARRIVED : UD_MTU_REFUSED;
        }
    } while (efa_clock() < deadline);
    return UD_MTU_LOST;
}

/* Whether the device takes datagrams of `size` bytes. */
static int ud_mtu_passes(efa_md_t *md, unsigned size)
{
    ud_mtu_end_t   end = UD_MTU_REFUSED;
    efa_self_t     self;
    unsigned       tries;

    if (ud_mtu_open(&self, md, size)) {
        end = UD_MTU_LOST;
        for (tries = 0; (tries < UD_MTU_TRIES) && (end == UD_MTU_LOST);
             ++tries) {
            end = ud_mtu_send(&self, size);
        }
    }
    efa_self_close(&self, md);
    return end == UD_MTU_ARRIVED;
}

ucs_status_t ud_mtu_find(efa_md_t *md, unsigned wished, unsigned *mtu_p)
{
    static int  said;
    ucx_host_t *host = md->super.host;
    unsigned    most = md->device->max_msg;

    if ((wished != 0) && (wished < UD_MTU_MIN)) {
        host_error(host,
                   "UCX_EFA_UD_MTU=%u: allowed are %u bytes and more, or 0 for "
                   "the largest datagram of the device",
                   wished, UD_MTU_MIN);
        return UCS_ERR_INVALID_PARAM;
    }
    most   = ((wished == 0) || (wished > most)) ? most : wished;
    *mtu_p = most;
    if ((*mtu_p > UD_MTU_SMALL) && !ud_mtu_passes(md, *mtu_p)) {
        *mtu_p = UD_MTU_SMALL;
        host_debug(host, "%s: takes no datagrams of %u bytes: %u for ud",
                   md->device->name, most, *mtu_p);
    }
    if ((wished > *mtu_p) &&
        !__atomic_exchange_n(&said, 1, __ATOMIC_RELAXED)) {
        host_warn(host,
                  "UCX_EFA_UD_MTU=%u: %s takes no datagrams of that length: "
                  "ud sends %u bytes; ask for no more, or unset it",
                  wished, md->device->name, *mtu_p);
    }
    return UCS_OK;
}
