/* SPDX-License-Identifier: BSD-3-Clause */
/* libfabric: its provider efa. */
#include "pair.h"

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAIR_OFI_POLL = 16, PAIR_OFI_EMPTY = 10000 };

typedef struct pair_ofi_slot {
    struct fi_context2 context; /* first: what a completion names */
    volatile int      *done;
} pair_ofi_slot_t;

static struct fi_info    *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_ep     *ep;
static struct fid_av     *av;
static struct fid_cq     *cq;
static fi_addr_t          peer;
static pair_ofi_slot_t    slots[2][PAIR_SLOTS];
static struct fid_mr     *memory[2]; /* of what is sent and received */

static void pair_ofi_check(ssize_t status, const char *what)
{
    if (status < 0) {
        pair_fail(what, fi_strerror((int)-status));
    }
}

static void pair_ofi_info(void)
{
    struct fi_info *hints = fi_allocinfo();

    hints->caps                   = FI_TAGGED;
    hints->mode                   = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type          = FI_EP_RDM;
    hints->domain_attr->mr_mode   = FI_MR_LOCAL | FI_MR_VIRT_ADDR |
                                    FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->tx_attr->msg_order     = FI_ORDER_SAS;
    hints->rx_attr->msg_order     = FI_ORDER_SAS;
    hints->fabric_attr->prov_name = strdup("efa");
    pair_ofi_check(fi_getinfo(FI_VERSION(1, 14), NULL, NULL, 0, hints, &info),
                   "fi_getinfo");
    fi_freeinfo(hints);
}

void pair_open(void)
{
    struct fi_av_attr av_attr = {.type = FI_AV_TABLE};
    struct fi_cq_attr cq_attr = {
        .format   = FI_CQ_FORMAT_TAGGED,
        .wait_obj = FI_WAIT_NONE,
        .size     = 8192
    };
    pair_side_t side;

    pair_ofi_info();
    pair_ofi_check(fi_fabric(info->fabric_attr, &fabric, NULL), "fi_fabric");
    pair_ofi_check(fi_domain(fabric, info, &domain, NULL), "fi_domain");
    pair_ofi_check(fi_av_open(domain, &av_attr, &av, NULL), "fi_av_open");
    pair_ofi_check(fi_cq_open(domain, &cq_attr, &cq, NULL), "fi_cq_open");
    pair_ofi_check(fi_endpoint(domain, info, &ep, NULL), "fi_endpoint");
    pair_ofi_check(fi_ep_bind(ep, &av->fid, 0), "fi_ep_bind");
    pair_ofi_check(fi_ep_bind(ep, &cq->fid, FI_SEND | FI_RECV), "fi_ep_bind");
    pair_ofi_check(fi_enable(ep), "fi_enable");
    for (side = PAIR_SEND; side <= PAIR_RECV; ++side) {
        pair_ofi_check(fi_mr_reg(domain, pair_data[side], PAIR_LARGEST,
                                 (side == PAIR_SEND) ? FI_SEND : FI_RECV, 0,
                                 side, 0, &memory[side], NULL), "fi_mr_reg");
    }
}

void pair_address(void *buffer)
{
    size_t length = PAIR_ADDRESS;

    pair_ofi_check(fi_getname(&ep->fid, buffer, &length), "fi_getname");
}

void pair_connect(const void *address)
{
    if (fi_av_insert(av, address, 1, &peer, 0, NULL) != 1) {
        pair_fail("fi_av_insert", "refused");
    }
}

void pair_progress(void)
{
    struct fi_cq_tagged_entry entry[PAIR_OFI_POLL];
    struct fi_cq_err_entry    error = {0};
    ssize_t                   count = fi_cq_read(cq, entry, PAIR_OFI_POLL), i;

    for (i = 0; i < count; ++i) {
        *((pair_ofi_slot_t*)entry[i].op_context)->done = 1;
    }
    if (count == -FI_EAVAIL) {
        pair_ofi_check(fi_cq_readerr(cq, &error, 0), "fi_cq_readerr");
        pair_fail("completion", fi_strerror(error.err));
    } else if (count != -FI_EAGAIN) {
        pair_ofi_check(count, "fi_cq_read");
    }
}

void pair_post(pair_side_t side, unsigned index, size_t length)
{
    pair_ofi_slot_t *slot = &slots[side][index];
    void            *data = pair_data[side], *key = fi_mr_desc(memory[side]);
    ssize_t          status;

    slot->done  = &pair_done[side][index];
    *slot->done = 0;
    while ((status = (side == PAIR_SEND) ?
                             fi_tsend(ep, data, length, key, peer, PAIR_TAG,
                                      &slot->context) :
                             fi_trecv(ep, data, length, key, peer, PAIR_TAG, 0,
                                      &slot->context)) == -FI_EAGAIN) {
        pair_progress();
    }
    pair_ofi_check(status, "a message");
}

void pair_close(void)
{
    unsigned i;

    for (i = 0; i < PAIR_OFI_EMPTY; ++i) {
        pair_progress();
    }
    pair_oob_barrier();
    fi_close(&ep->fid);
    fi_close(&memory[PAIR_SEND]->fid);
    fi_close(&memory[PAIR_RECV]->fid);
    fi_close(&cq->fid);
    fi_close(&av->fid);
    fi_close(&domain->fid);
    fi_close(&fabric->fid);
    fi_freeinfo(info);
}
