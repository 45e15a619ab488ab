/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion counters, of Linux 7.3 and rdma-core 65: the calls are found by
 * name, and their structures stand here. */
#include "probe.h"

#include <dlfcn.h>
#include <string.h>
#include <time.h>

struct counter { /* of libibverbs */
    struct ibv_context *ctx;
    uint32_t            handle;
};

struct counter_caps {
    uint64_t max_value;
    uint32_t num, kinds;
};

struct counter_attr {
    uint32_t comp_mask, type, flags;
};

struct counter_word {
    void    *ptr;
    uint64_t offset;
    int32_t  fd;
    uint32_t reserved;
    uint8_t  type; /* 0: an address */
    uint8_t  reserved2[7];
};

struct counter_words {
    uint64_t            comp_mask;
    uint32_t            flags, reserved; /* 3: both are the program's */
    struct counter_word done, failed;
};

struct counter_attach {
    uint32_t comp_mask, kinds;
};

enum {
    KIND_SEND = 1 << 0,
    KIND_RECV = 1 << 1,
    QKEY      = 7,
};

struct counters {
    const struct probe *probe;
    struct counter     *sends, *receives;
    volatile uint64_t  *words; /* of the first: without, with an error */
    struct ibv_cq      *cq;
    struct ibv_qp      *qp;
    struct ibv_mr      *mr;
    struct ibv_ah      *ah;

    int (*caps_of)(struct ibv_context *ctx, struct counter_caps *caps,
                   size_t size);
    struct counter *(*create)(struct ibv_context *ctx,
                              struct counter_attr *attr,
                              struct counter_words *words, uint32_t size);
    int (*destroy)(struct counter *counter);
    int (*attach)(struct ibv_qp *qp, struct counter *counter,
                  struct counter_attach *attach);
    int (*set)(struct counter *counter, uint64_t value);
    int (*add)(struct counter *counter, uint64_t value);
    int (*read)(struct counter *counter, uint64_t *value);
};

static int counters_calls(struct counters *all)
{
    static const char *const names[] = {
        "_ibv_query_comp_cntr_caps", "efadv_create_comp_cntr",
        "ibv_destroy_comp_cntr", "ibv_qp_attach_comp_cntr",
        "ibv_set_comp_cntr", "ibv_inc_comp_cntr", "ibv_read_comp_cntr",
    };
    void *found[sizeof(names) / sizeof(names[0])];
    unsigned i;

    for (i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
        found[i] = dlsym(RTLD_DEFAULT, names[i]);
        if (found[i] == NULL) {
            return -1;
        }
    }
    memcpy(&all->caps_of, found, sizeof(found)); /* in this order */
    return 0;
}

static int counters_open(struct counters *all)
{
    const struct probe *probe  = all->probe;
    struct ibv_ah_attr attr    = { .is_global = 1, .port_num = 1 };
    struct counter_attr plain  = { 0 };
    struct counter_words words = { .flags = 3 }, none = { 0 };

    all->words       = (uint64_t*)(probe->page + 32768);
    words.done.ptr   = (void*)&all->words[0];
    words.failed.ptr = (void*)&all->words[1];
    all->sends       = all->create(probe->ctx, &plain, &words, sizeof(words));
    probe_say(probe_pointer(all->sends), "completion counter in our memory");
    all->receives    = all->create(probe->ctx, &plain, &none, sizeof(none));
    probe_say(probe_pointer(all->receives), "completion counter elsewhere");
    words.done.ptr   = (char*)words.done.ptr + 4;
    PROBE_TRY(all->create(probe->ctx, &plain, &words, sizeof(words)),
              all->destroy, "completion counter that is not aligned");
    words.done.ptr   = (void*)4096;
    PROBE_TRY(all->create(probe->ctx, &plain, &words, sizeof(words)),
              all->destroy, "completion counter in no memory");

    attr.grh.dgid = probe->gid;
    all->cq       = ibv_create_cq(probe->ctx, 16, NULL, NULL, 0);
    all->qp       = probe_qp(probe, all->cq, IBV_QPT_DRIVER, 8);
    all->mr       = ibv_reg_mr(probe->pd, probe->page, 4096,
                               IBV_ACCESS_LOCAL_WRITE);
    all->ah       = ibv_create_ah(probe->pd, &attr);
    return ((all->sends == NULL) || (all->receives == NULL) ||
            (all->qp == NULL) || (all->mr == NULL) || (all->ah == NULL)) ?
           -1 : device_qp_ready(all->qp, QKEY);
}

/* A message to ourselves, and its two completions. */
static void counters_send(const struct counters *all, uint32_t qkey, int num)
{
    struct ibv_sge sge     = { (uintptr_t)all->probe->page, 64,
                               all->mr->lkey };
    struct ibv_recv_wr wr  = { .sg_list = &sge, .num_sge = 1 }, *bad;
    struct ibv_qp_ex *qp   = ibv_qp_to_qp_ex(all->qp);
    struct timespec pause  = { 0, 1000000 };
    struct ibv_wc wc;
    unsigned i;

    if (num == 2) {
        ibv_post_recv(all->qp, &wr, &bad);
    }
    ibv_wr_start(qp);
    qp->wr_flags = IBV_SEND_SIGNALED;
    ibv_wr_send(qp);
    ibv_wr_set_ud_addr(qp, all->ah, all->qp->qp_num, qkey);
    ibv_wr_set_sge(qp, all->mr->lkey, (uintptr_t)all->probe->page, 64);
    ibv_wr_complete(qp);
    for (i = 0; (i < 2000) && (num > 0); ++i) {
        num -= ibv_poll_cq(all->cq, 1, &wc);
        nanosleep(&pause, NULL);
    }
}

static void counters_attach(const struct counters *all,
                            struct counter *counter, uint32_t kinds,
                            const char *what)
{
    struct counter_attach attach = { 0, kinds };

    probe_say(probe_result(all->attach(all->qp, counter, &attach)),
              "completion counter for %s", what);
}

static void counters_values(const struct counters *all, const char *when)
{
    uint64_t received = 0;

    all->read(all->receives, &received);
    probe_number(all->words[0], "completion counter %s: sends", when);
    probe_number(all->words[1], "completion counter %s: those that failed",
                 when);
    probe_number(received, "completion counter %s: receives", when);
}

static void counters_ask(const struct counters *all, uint64_t max_value)
{
    counters_values(all, "at first");
    counters_attach(all, all->sends, 0, "nothing");
    counters_attach(all, all->sends, KIND_SEND, "sends");
    counters_attach(all, all->receives, KIND_SEND, "sends, the second one");
    counters_attach(all, all->receives, KIND_RECV, "receives");
    counters_send(all, QKEY, 2);
    counters_send(all, QKEY, 2);
    counters_send(all, QKEY + 1, 1);
    counters_values(all, "after three sends");
    probe_say(probe_result(all->set(all->sends, 100)), "completion counter set");
    probe_say(probe_result(all->add(all->sends, 11)), "completion counter added");
    counters_values(all, "with 111");
    all->set(all->sends, max_value);
    counters_send(all, QKEY, 2);
    counters_values(all, "behind the largest value");
    probe_say(probe_result(all->destroy(all->sends)),
              "completion counter destroyed that is used");
}

void probe_counters(const struct probe *probe)
{
    struct counters all      = { .probe = probe };
    struct counter_caps caps = { 0 };
    int ret;

    if (counters_calls(&all) != 0) {
        return; /* an older rdma-core */
    }
    ret = all.caps_of(probe->ctx, &caps, sizeof(caps));
    probe_say(probe_result(ret), "completion counters, their limits");
    if (ret != 0) {
        return;
    }
    probe_number(caps.max_value, "completion counters, largest value");
    probe_number(caps.num, "completion counters, at most");
    probe_number(caps.kinds, "completion counters, kinds");
    if (counters_open(&all) == 0) {
        counters_ask(&all, caps.max_value);
    }
    if (all.qp != NULL) {
        probe_say(probe_result(ibv_destroy_qp(all.qp)),
                  "completion counters, their QP destroyed");
    }
    if (all.receives != NULL) {
        probe_say(probe_result(all.destroy(all.receives)),
                  "completion counter destroyed");
    }
    ibv_destroy_ah(all.ah);
    ibv_dereg_mr(all.mr);
    ibv_destroy_cq(all.cq);
}
