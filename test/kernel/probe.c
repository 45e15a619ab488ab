/* SPDX-License-Identifier: BSD-3-Clause */
/* usage: probe DEVICE [GROUP]
 *        probe DEVICE executed HOW     of itself alone */
#include "probe.h"

#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void probe_line(const char *question, va_list args, const char *answer)
{
    char text[200];

    vsnprintf(text, sizeof(text), question, args);
    printf("%s: %s\n", text, answer);
    fflush(stdout);
}

void probe_say(const char *answer, const char *question, ...)
{
    va_list args;

    va_start(args, question);
    probe_line(question, args, answer);
    va_end(args);
}

void probe_number(unsigned long long number, const char *question, ...)
{
    char answer[32];
    va_list args;

    snprintf(answer, sizeof(answer), "%llu", number);
    va_start(args, question);
    probe_line(question, args, answer);
    va_end(args);
}

const char *probe_result(int ret)
{
    const char *name;

    if (ret == 0) {
        return "ok";
    }
    name = strerrorname_np((ret > 0) ? ret : errno);
    return name ? name : "an unknown errno";
}

const char *probe_pointer(const void *pointer)
{
    return pointer ? "ok" : probe_result(-1);
}

void probe_reg(const struct probe *probe, void *addr, size_t length,
               unsigned access, const char *question, ...)
{
    struct ibv_mr *mr = ibv_reg_mr(probe->pd, addr, length, access);
    va_list args;

    va_start(args, question);
    probe_line(question, args, probe_pointer(mr));
    va_end(args);
    if (mr != NULL) {
        ibv_dereg_mr(mr);
    }
}

/* No capability: root may do no more than a user then. */
static int probe_drop(void)
{
    struct __user_cap_header_struct head = { .version =
                                             _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct none[2] = { { 0, 0, 0 } };

    return syscall(SYS_capset, &head, none);
}

void probe_child(const struct probe *probe, enum probe_child kind, long memlock,
                 void (*ask)(const struct probe *probe))
{
    struct rlimit limit = { memlock, memlock };
    struct probe own    = *probe;
    int status;
    pid_t pid;

    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        if ((memlock >= 0) && (setrlimit(RLIMIT_MEMLOCK, &limit) != 0)) {
            _exit(1);
        }
        if ((kind == PROBE_USER) && (probe_drop() != 0)) {
            _exit(1);
        }
        if (kind != PROBE_FORKED) {
            own.ctx = ibv_open_device(probe->ctx->device);
            own.pd  = own.ctx ? ibv_alloc_pd(own.ctx) : NULL;
            if (own.pd == NULL) {
                _exit(2);
            }
        }
        ask(&own);
        fflush(stdout);
        _exit(0);
    }
    if ((waitpid(pid, &status, 0) != pid) || (status != 0)) {
        printf("a child ended with status %#x\n", status);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*ask)(const struct probe *probe);
    } groups[] = {
        { "device", probe_device },   { "memory", probe_memory },
        { "queues", probe_queues },   { "states", probe_states },
        { "handles", probe_handles }, { "processes", probe_processes },
        { "data", probe_data },       { "huge", probe_huge },
        { "mappings", probe_mappings }, { "counters", probe_counters },
    };
    struct probe probe = { 0 };
    unsigned i;

    probe.ctx = (argc > 1) ? device_open(argv[1]) : NULL;
    if (probe.ctx == NULL) {
        fprintf(stderr, "probe: cannot open %s\n",
                (argc > 1) ? argv[1] : "no device");
        return 1;
    }
    probe.pd   = ibv_alloc_pd(probe.ctx);
    probe.page = mmap(NULL, PROBE_BYTES, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if ((probe.pd == NULL) || (probe.page == MAP_FAILED) ||
        (ibv_query_gid(probe.ctx, 1, 0, &probe.gid) != 0)) {
        fprintf(stderr, "probe: no PD, memory or GID: %s\n", strerror(errno));
        return 1;
    }
    memset(probe.page, 1, PROBE_BYTES);

    if ((argc == 4) && !strcmp(argv[2], "executed")) {
        probe_executed(&probe, argv[3]);
        return 0;
    }
    for (i = 0; i < sizeof(groups) / sizeof(groups[0]); ++i) {
        if ((argc < 3) || !strcmp(argv[2], groups[i].name)) {
            groups[i].ask(&probe);
        }
    }
    probe_say(probe_result(ibv_dealloc_pd(probe.pd)), "last PD freed");
    probe_say(probe_result(ibv_close_device(probe.ctx)), "device closed");
    return 0;
}
