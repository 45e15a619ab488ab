/* SPDX-License-Identifier: BSD-3-Clause */
/* Forks, users, programs that end without cleaning up, old libraries. */
#include "probe.h"

#include <fcntl.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void processes_make(const struct probe *probe)
{
    struct ibv_pd *pd = ibv_alloc_pd(probe->ctx);
    struct ibv_cq *cq = ibv_create_cq(probe->ctx, 16, NULL, NULL, 0);
    struct ibv_mr *mr = ibv_reg_mr(probe->pd, probe->page, 4096, 1);
    struct ibv_device_attr attr;

    probe_say(probe_pointer(pd), "a child's PD on the parent's context");
    probe_say(probe_pointer(mr), "a child's MR on the parent's PD");
    probe_say(probe_pointer(cq), "a child's CQ on the parent's context");
    probe_say(probe_result(ibv_query_device(probe->ctx, &attr)),
              "a child asks the parent's device");
    if (mr != NULL) {
        probe_say(probe_result(ibv_dereg_mr(mr)), "a child's MR gone");
    }
    if (pd != NULL) {
        probe_say(probe_result(ibv_dealloc_pd(pd)), "a child's PD gone");
    }
}

static struct ibv_context *processes_open(const struct probe *probe)
{
    return ibv_open_device(probe->ctx->device);
}

/* Makes many on a context of its own, and leaves. */
static void processes_leave(const struct probe *probe)
{
    struct ibv_cq *cq = ibv_create_cq(probe->ctx, 16, NULL, NULL, 0);
    unsigned i;

    for (i = 0; i < 200; ++i) {
        if (probe_qp(probe, cq, IBV_QPT_DRIVER, 1) == NULL) {
            break;
        }
    }
    probe_number(i, "QPs of a process that ends");
    ibv_reg_mr(probe->pd, probe->page, 4096, 1);
}

static void processes_user(const struct probe *probe)
{
    struct ibv_context *ctx = processes_open(probe);
    struct ibv_pd *pd       = ctx ? ibv_alloc_pd(ctx) : NULL;

    probe_say(probe_pointer(ctx), "a user opens the device");
    probe_say(probe_pointer(pd), "a user's PD");
}

static void processes_contexts(const struct probe *probe)
{
    struct ibv_context *ctx = processes_open(probe);
    struct ibv_pd *pd       = ctx ? ibv_alloc_pd(ctx) : NULL;
    struct ibv_cq *cq       = ctx ? ibv_create_cq(ctx, 16, NULL, NULL, 0) :
                                    NULL;
    struct probe mixed      = *probe;
    struct ibv_qp *qp;

    probe_say(probe_pointer(pd), "a second context's PD");
    qp = probe_qp(&mixed, cq, IBV_QPT_DRIVER, 1);
    probe_say(probe_pointer(qp), "a QP over two contexts");
    probe_say(probe_result(ibv_destroy_cq(cq)), "the second context's CQ");
    ibv_dealloc_pd(pd);
    probe_say(probe_result(ibv_close_device(ctx)), "the second context closed");
}

/* A command, raw: some attributes */
static int processes_command(int fd, unsigned object, unsigned method,
                             const struct ib_uverbs_attr *attrs, unsigned num)
{
    uint64_t cmd[32]                = { 0 };
    struct ib_uverbs_ioctl_hdr *hdr = (struct ib_uverbs_ioctl_hdr*)cmd;

    hdr->length    = sizeof(*hdr) + num * sizeof(attrs[0]);
    hdr->object_id = object;
    hdr->method_id = method;
    hdr->driver_id = RDMA_DRIVER_EFA;
    hdr->num_attrs = num;
    memcpy(hdr->attrs, attrs, num * sizeof(attrs[0]));
    return ioctl(fd, RDMA_VERBS_IOCTL, cmd);
}

/* A context as libefas of other ages ask for it, by what they say they know */
static void processes_old_library(const struct probe *probe)
{
    static const uint32_t known[] = { 0, 1, 2, 3, 7 };
    char path[128], out[64];
    uint32_t vectors, request[2];
    uint64_t support;
    struct ib_uverbs_attr attrs[4];
    unsigned i;
    int fd;

    snprintf(path, sizeof(path), "/dev/infiniband/%s",
             probe->ctx->device->dev_name);
    for (i = 0; i < sizeof(known) / sizeof(known[0]); ++i) {
        fd = open(path, O_RDWR | O_CLOEXEC);
        if (fd < 0) {
            probe_say(probe_result(-1), "the device's file");
            return;
        }
        request[0] = known[i];
        request[1] = 0;
        memset(attrs, 0, sizeof(attrs));
        attrs[0].attr_id = UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS;
        attrs[0].len     = sizeof(vectors);
        attrs[0].data    = (uintptr_t)&vectors;
        attrs[1].attr_id = UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT;
        attrs[1].len     = sizeof(support);
        attrs[1].data    = (uintptr_t)&support;
        attrs[2].attr_id = UVERBS_ATTR_UHW_IN;
        attrs[2].len     = sizeof(request);
        memcpy(&attrs[2].data, request, sizeof(request));
        attrs[3].attr_id = UVERBS_ATTR_UHW_OUT;
        attrs[3].len     = sizeof(out);
        attrs[3].data    = (uintptr_t)out;
        probe_say(probe_result(processes_command(fd, UVERBS_OBJECT_DEVICE,
                                                 UVERBS_METHOD_GET_CONTEXT,
                                                 attrs, 4)),
                  "context of a library that knows %#x", known[i]);
        close(fd);
    }
}

static void processes_raw(const struct probe *probe)
{
    struct ib_uverbs_attr none = { 0 };
    int fd = probe->ctx->cmd_fd;

    probe_say(probe_result(processes_command(fd, UVERBS_OBJECT_DEVICE, 77,
                                             &none, 0)), "unknown method");
    probe_say(probe_result(processes_command(fd, 77, 0, &none, 0)),
              "unknown object");
    probe_say(probe_result(processes_command(fd, UVERBS_OBJECT_PD,
                                             UVERBS_METHOD_PD_DESTROY, &none,
                                             0)), "PD_DESTROY of nothing");
    none.attr_id = UVERBS_ATTR_DESTROY_PD_HANDLE;
    none.flags   = UVERBS_ATTR_F_MANDATORY;
    none.data    = 12345;
    probe_say(probe_result(processes_command(fd, UVERBS_OBJECT_PD,
                                             UVERBS_METHOD_PD_DESTROY, &none,
                                             1)), "PD_DESTROY of no PD");
    probe_say(probe_result(ioctl(fd, 0x1234, 0)), "unknown ioctl");
}

void probe_processes(const struct probe *probe)
{
    probe_child(probe, PROBE_FORKED, -1, processes_make);
    probe_child(probe, PROBE_ROOT, -1, processes_leave);
    probe_child(probe, PROBE_ROOT, -1, processes_leave);
    probe_child(probe, PROBE_USER, -1, processes_user);
    processes_contexts(probe);
    processes_old_library(probe);
    processes_raw(probe);
    probe_execve(probe);
}
