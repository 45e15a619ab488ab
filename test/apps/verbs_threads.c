/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads on one verbs device, for ThreadSanitizer: each has a queue pair that
 * sends to itself and registers memory of its own; all poll one CQ, and count
 * each other's completions. Prints "ok MESSAGES"; status 1 otherwise.
 */
#include "../kernel/device.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    THREADS  = 4,
    MESSAGES = 500, /* of each thread */
    LENGTH   = 1000,
    QKEY     = 0x1234,
};

static struct {
    struct ibv_context *context;
    struct ibv_pd      *pd;
    struct ibv_cq      *cq;
    struct ibv_ah      *ah;
    struct ibv_qp      *qp[THREADS];
    _Atomic unsigned    done[THREADS]; /* completions, of both kinds */
} test;

static void check(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "verbs_threads: %s failed\n", what);
        exit(1);
    }
}

static void open_device(void)
{
    struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1 };
    unsigned i;

    test.context = device_open(NULL);
    check(test.context != NULL, "opening a device");
    test.pd = ibv_alloc_pd(test.context);
    check(test.pd != NULL, "ibv_alloc_pd");
    test.cq = ibv_create_cq(test.context, 256, NULL, NULL, 0);
    check(test.cq != NULL, "ibv_create_cq");
    check(ibv_query_gid(test.context, 1, 0, &attr.grh.dgid) == 0, "the GID");
    test.ah = ibv_create_ah(test.pd, &attr);
    check(test.ah != NULL, "ibv_create_ah");
    for (i = 0; i < THREADS; ++i) {
        test.qp[i] = device_qp(test.pd, test.cq, IBV_QPT_DRIVER, 16);
        check(test.qp[i] != NULL, "making a queue pair");
        check(device_qp_ready(test.qp[i], QKEY) == 0, "to RTS");
    }
}

/* A message of LENGTH bytes from the buffer's first half to its second. */
static void post(unsigned self, char *buf, struct ibv_mr *mr)
{
    struct ibv_sge from     = { (uintptr_t)buf, LENGTH, mr->lkey };
    struct ibv_sge to       = { (uintptr_t)buf + LENGTH, LENGTH, mr->lkey };
    struct ibv_recv_wr recv = { .wr_id = self, .sg_list = &to, .num_sge = 1 };
    struct ibv_send_wr send = {
        .wr_id = self, .sg_list = &from, .num_sge = 1, .opcode = IBV_WR_SEND,
        .send_flags = IBV_SEND_SIGNALED,
        .wr.ud = { test.ah, test.qp[self]->qp_num, QKEY },
    };
    struct ibv_recv_wr *bad_recv;
    struct ibv_send_wr *bad_send;

    check(ibv_post_recv(test.qp[self], &recv, &bad_recv) == 0, "post_recv");
    check(ibv_post_send(test.qp[self], &send, &bad_send) == 0, "post_send");
}

static void *work(void *arg)
{
    unsigned self = (uintptr_t)arg;
    char *buf     = malloc(2 * LENGTH);
    struct ibv_mr *mr;
    struct ibv_wc wc;
    unsigned i;

    for (i = 0; i < MESSAGES; ++i) {
        mr = ibv_reg_mr(test.pd, buf, 2 * LENGTH, IBV_ACCESS_LOCAL_WRITE);
        check(mr != NULL, "ibv_reg_mr");
        memset(buf, self + i, LENGTH);
        memset(buf + LENGTH, 0, LENGTH);
        post(self, buf, mr);
        while (atomic_load(&test.done[self]) < 2 * (i + 1)) {
            if (ibv_poll_cq(test.cq, 1, &wc) == 1) {
                check(wc.status == IBV_WC_SUCCESS, "a message");
                atomic_fetch_add(&test.done[wc.wr_id], 1);
            }
        }
        check(memcmp(buf, buf + LENGTH, LENGTH) == 0, "comparing");
        check(ibv_dereg_mr(mr) == 0, "ibv_dereg_mr");
    }
    free(buf);
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    uintptr_t i;

    open_device();
    for (i = 0; i < THREADS; ++i) {
        check(pthread_create(&threads[i], NULL, work, (void*)i) == 0,
              "pthread_create");
    }
    for (i = 0; i < THREADS; ++i) {
        pthread_join(threads[i], NULL);
    }
    for (i = 0; i < THREADS; ++i) {
        check(ibv_destroy_qp(test.qp[i]) == 0, "ibv_destroy_qp");
    }
    check(ibv_destroy_ah(test.ah) == 0, "ibv_destroy_ah");
    check(ibv_destroy_cq(test.cq) == 0, "ibv_destroy_cq");
    check(ibv_dealloc_pd(test.pd) == 0, "ibv_dealloc_pd");
    check(ibv_close_device(test.context) == 0, "ibv_close_device");
    printf("ok %d messages\n", THREADS * MESSAGES);
    return 0;
}
