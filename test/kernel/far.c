/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages between two guests that share nothing but the fabric: each knows the
 * other's address beforehand, as functions of one efapci have GIDs that differ
 * in the last byte, queue pairs number 1, and keys that we choose.
 *
 * usage: far DEVICE NODE COUNT     sends COUNT numbered messages to the device
 *                                  of this node, and takes as many from there
 */
#include "device.h"
#include "efasim/engine/limits.h"

#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* There is time to stop one of the two in the middle, on machines of any speed,
 * as a message takes FAR_PAUSE_NS at least. And nobody spins: on few CPUs the
 * device would wait for whole time slices. */
enum {
    FAR_DEPTH    = 64,
    FAR_BYTES    = 1024,
    FAR_QKEY     = 99,
    FAR_PAUSE_NS = 2000000,
    FAR_NAP_NS   = 200000,   /* nothing is there */
    FAR_RETRY_NS = 20000000, /* nobody is there */
};

struct far {
    struct ibv_context *ctx;
    struct ibv_pd      *pd;
    struct ibv_cq      *cq;
    struct ibv_qp      *qp;
    struct ibv_mr      *mr;
    struct ibv_ah      *ah;
    uint8_t            *memory;  /* received ones, then sent ones */
    unsigned            count, sent, done, arrived, wrong;
    uint8_t            *seen;
};

static int far_open(struct far *far, const char *name, unsigned node)
{
    struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1 };

    far->ctx = device_open(name);
    if ((far->ctx == NULL) ||
        (ibv_query_gid(far->ctx, 1, 0, &attr.grh.dgid) != 0)) {
        return -1;
    }
    attr.grh.dgid.raw[15] = 1 + SIM_DEVICES * node;
    far->memory = mmap(NULL, 2 * FAR_DEPTH * FAR_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    far->pd     = ibv_alloc_pd(far->ctx);
    far->cq     = ibv_create_cq(far->ctx, 2 * FAR_DEPTH, NULL, NULL, 0);
    far->qp     = device_qp(far->pd, far->cq, IBV_QPT_DRIVER, FAR_DEPTH);
    far->mr     = ibv_reg_mr(far->pd, far->memory, 2 * FAR_DEPTH * FAR_BYTES,
                             IBV_ACCESS_LOCAL_WRITE);
    far->ah     = ibv_create_ah(far->pd, &attr);
    return ((far->qp == NULL) || (far->mr == NULL) || (far->ah == NULL)) ?
           -1 : device_qp_ready(far->qp, FAR_QKEY);
}

static void far_receive(struct far *far, unsigned slot)
{
    struct ibv_sge sge = { (uintptr_t)far->memory + slot * FAR_BYTES,
                           FAR_BYTES, far->mr->lkey };
    struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 };
    struct ibv_recv_wr *bad;

    if (ibv_post_recv(far->qp, &wr, &bad) != 0) {
        ++far->wrong;
    }
}

static void far_send(struct far *far, unsigned number)
{
    struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(far->qp);
    unsigned slot        = FAR_DEPTH + number % FAR_DEPTH;
    uint8_t *bytes       = far->memory + slot * FAR_BYTES;

    memset(bytes, number * 7, FAR_BYTES);
    memcpy(bytes, &number, sizeof(number));
    ibv_wr_start(qp);
    qp->wr_id    = 1000 + number;
    qp->wr_flags = IBV_SEND_SIGNALED;
    ibv_wr_send(qp);
    ibv_wr_set_ud_addr(qp, far->ah, 1, FAR_QKEY);
    ibv_wr_set_sge(qp, far->mr->lkey, (uintptr_t)bytes, FAR_BYTES);
    far->wrong += (ibv_wr_complete(qp) != 0);
}

static void far_arrived(struct far *far, unsigned slot)
{
    const uint8_t *bytes = far->memory + slot * FAR_BYTES;
    unsigned number, i, bad = 0;

    memcpy(&number, bytes, sizeof(number));
    for (i = sizeof(number); i < FAR_BYTES; ++i) {
        bad += bytes[i] != (uint8_t)(number * 7);
    }
    if ((bad > 0) || (number >= far->count) || far->seen[number]) {
        ++far->wrong;
    } else {
        far->seen[number] = 1;
        ++far->arrived;
    }
    far_receive(far, slot);
}

static void far_say(const char *what)
{
    printf("far %s\n", what);
    fflush(stdout);
}

static void far_pause(long ns)
{
    struct timespec pause = { 0, ns };

    nanosleep(&pause, NULL);
}

/* One message at a time, each sent again until the other side is there. */
static void far_run(struct far *far)
{
    unsigned outstanding = 0, i;
    struct ibv_wc wc;

    for (i = 0; i < FAR_DEPTH; ++i) {
        far_receive(far, i);
    }
    while ((far->done < far->count) || (far->arrived < far->count)) {
        if ((outstanding == 0) && (far->done < far->count)) {
            far_send(far, far->done);
            ++outstanding;
        }
        if (ibv_poll_cq(far->cq, 1, &wc) != 1) {
            far_pause(FAR_NAP_NS);
            continue;
        }
        if (wc.wr_id < 1000) {
            far_arrived(far, wc.wr_id);
            continue;
        }
        --outstanding;
        if (wc.status == IBV_WC_SUCCESS) {
            if (far->done++ == far->count / 8) {
                far_say("under way");
            }
            far_pause(FAR_PAUSE_NS);
        } else { /* nobody there yet */
            far->wrong += (far->done > 0);
            far_pause(FAR_RETRY_NS);
        }
    }
}

int main(int argc, char **argv)
{
    struct far far = { 0 };

    if (argc != 4) {
        return 2;
    }
    far.count = atoi(argv[3]);
    far.seen  = calloc(far.count, 1);
    if ((far.seen == NULL) || (far_open(&far, argv[1], atoi(argv[2])) != 0)) {
        fprintf(stderr, "far: cannot open %s\n", argv[1]);
        return 1;
    }
    far_say("ready");
    far_run(&far);
    printf("far sent %u arrived %u wrong %u\n", far.done, far.arrived,
           far.wrong);
    fflush(stdout);
    sleep(2); /* the other's last message may still be acknowledged */
    return far.wrong != 0;
}
