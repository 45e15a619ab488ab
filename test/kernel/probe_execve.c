/* SPDX-License-Identifier: BSD-3-Clause */
/* Objects that a program leaves behind when it becomes another by execve(). */
#include "probe.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { EXECVE_QPS = 200, EXECVE_LIMIT = 65536 };

/* As many as there can be, up to EXECVE_QPS; they stay. */
static unsigned execve_take(const struct probe *probe)
{
    struct ibv_cq *cq = ibv_create_cq(probe->ctx, 16, NULL, NULL, 0);
    unsigned num      = 0;

    while ((num < EXECVE_QPS) &&
           (probe_qp(probe, cq, IBV_QPT_DRIVER, 1) != NULL)) {
        ++num;
    }
    return num;
}

static void execve_self(const struct probe *probe, const char *how)
{
    fflush(stdout);
    execl("/proc/self/exe", "probe", ibv_get_device_name(probe->ctx->device),
          "executed", how, (char*)NULL);
    probe_say(probe_result(-1), "execve");
}

static void execve_leave(const struct probe *probe)
{
    struct ibv_comp_channel *channel = ibv_create_comp_channel(probe->ctx);

    probe_number(fcntl(probe->ctx->cmd_fd, F_GETFD),
                 "flags of the device's file");
    probe_number(fcntl(probe->ctx->async_fd, F_GETFD),
                 "flags of the file of events");
    probe_number(fcntl(channel->fd, F_GETFD), "flags of a channel's file");
    ibv_reg_mr(probe->pd, probe->page, 4096, 1);
    probe_number(execve_take(probe), "QPs before execve");
    execve_self(probe, "leave");
}

/* Locked memory is an address space's; a program may gain no privilege here. */
static void execve_limit(const struct probe *probe)
{
    probe_say(probe_result(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)),
              "no new privileges");
    probe_say(probe_pointer(ibv_reg_mr(probe->pd, probe->page, EXECVE_LIMIT,
                                       1)), "all memory before execve");
    probe_say(probe_pointer(ibv_reg_mr(probe->pd, probe->page, 4096, 1)),
              "a page more before execve");
    execve_self(probe, "limit");
}

static void execve_file(const struct probe *probe)
{
    char how[32];
    int fd = dup(probe->ctx->cmd_fd); /* stays open */

    snprintf(how, sizeof(how), "file=%d", fd);
    probe_number(execve_take(probe), "QPs before execve with a file");
    execve_self(probe, how);
}

void probe_executed(const struct probe *probe, const char *how)
{
    if (!strcmp(how, "leave")) {
        probe_number(execve_take(probe), "QPs after execve");
    } else if (!strcmp(how, "limit")) {
        probe_say(probe_pointer(ibv_reg_mr(probe->pd, probe->page,
                                           EXECVE_LIMIT, 1)),
                  "all memory after execve");
        probe_say(probe_pointer(ibv_reg_mr(probe->pd, probe->page, 4096, 1)),
                  "a page more after execve");
    } else if (!strncmp(how, "file=", 5)) {
        probe_number(fcntl(atoi(how + 5), F_GETFD),
                     "flags of a file left open over execve");
        probe_number(execve_take(probe),
                     "a child's device file left open: other QPs");
        close(atoi(how + 5));
        probe_number(execve_take(probe),
                     "a child's device file closed: more QPs");
    }
}

void probe_execve(const struct probe *probe)
{
    probe_child(probe, PROBE_ROOT, -1, execve_leave);
    probe_child(probe, PROBE_USER, EXECVE_LIMIT, execve_limit);
    probe_child(probe, PROBE_ROOT, -1, execve_file);
    probe_child(probe, PROBE_ROOT, -1, execve_leave);
}
