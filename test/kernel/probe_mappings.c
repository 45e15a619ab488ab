/* SPDX-License-Identifier: BSD-3-Clause */
/* Mappings of queues and doorbells: what may be mapped, how long it lives. */
#include "probe.h"

#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAPPINGS_MAX = 2000, MAPPINGS_KEPT = 8, MAPPINGS_QPS = 200 };

/* Those that libefa asked for, by our own mmap(): to be read or to be written.
 * The emulated device, in this very process, maps for both. */
static struct mapping {
    int    fd, prot;
    size_t length;
    off_t  key;
    void  *at;
} mappings[MAPPINGS_MAX];
static unsigned mappings_num;

void *mmap(void *addr, size_t length, int prot, int flags, int fd, off_t key)
{
    void *at = (void*)syscall(SYS_mmap, addr, length, prot, flags, fd, key);

    if ((fd >= 0) && (flags & MAP_SHARED) &&
        (prot != (PROT_READ | PROT_WRITE)) && (mappings_num < MAPPINGS_MAX)) {
        mappings[mappings_num++] = (struct mapping){ fd, prot, length, key,
                                                     at };
    }
    return at;
}

void *mmap64(void *addr, size_t length, int prot, int flags, int fd, off_t key)
    __attribute__((alias("mmap")));

static void *mappings_map(const struct mapping *mapping)
{
    return (void*)syscall(SYS_mmap, NULL, mapping->length, mapping->prot,
                          MAP_SHARED, mapping->fd, mapping->key);
}

/* Map it, and unmap it: the answer. */
static const char *mappings_try(struct mapping mapping, int flags)
{
    void *at = (void*)syscall(SYS_mmap, NULL, mapping.length, mapping.prot,
                              flags, mapping.fd, mapping.key);

    if (at == MAP_FAILED) {
        return probe_result(-1);
    }
    munmap(at, mapping.length);
    return "ok";
}

static void mappings_ask(const struct mapping *mapping, const char *name)
{
    struct mapping other = *mapping;

    probe_number(mapping->length, "%s: bytes", name);
    probe_number(mapping->prot, "%s: protection", name);
    probe_say(mappings_try(other, MAP_SHARED), "%s: mapped again", name);
    other.prot = PROT_READ;
    probe_say(mappings_try(other, MAP_SHARED), "%s: to be read", name);
    other      = *mapping;
    other.prot |= PROT_EXEC;
    probe_say(mappings_try(other, MAP_SHARED), "mmap %s: executable", name);
    other        = *mapping;
    other.length += 4096;
    probe_say(mappings_try(other, MAP_SHARED), "mmap %s: a page more", name);
    other     = *mapping;
    other.key += 1 << 20;
    probe_say(mappings_try(other, MAP_SHARED), "mmap %s: another key", name);
    probe_say(mappings_try(*mapping, MAP_PRIVATE), "mmap %s: private", name);
}

static sigjmp_buf mappings_fault;

static void mappings_signal(int sig)
{
    siglongjmp(mappings_fault, sig);
}

/* Reads, or writes a 0: the answer. */
static const char *mappings_touch(void *at, int is_write)
{
    struct sigaction action = { .sa_handler = mappings_signal }, segv, bus;
    volatile uint32_t *word = at;
    int sig;

    sigaction(SIGSEGV, &action, &segv);
    sigaction(SIGBUS, &action, &bus);
    sig = sigsetjmp(mappings_fault, 1);
    if ((sig == 0) && is_write) {
        *word = 0;
    } else if (sig == 0) {
        (void)*word;
    }
    sigaction(SIGSEGV, &segv, NULL);
    sigaction(SIGBUS, &bus, NULL);
    return (sig == 0) ? "ok" : (sig == SIGBUS) ? "SIGBUS" : "SIGSEGV";
}

/* Second mappings of all of an object, and what is left of them without it */
struct mappings_kept {
    struct mapping mapping[MAPPINGS_KEPT];
    void          *at[MAPPINGS_KEPT];
    unsigned       num;
};

static void mappings_keep(struct mappings_kept *kept)
{
    for (kept->num = 0; (kept->num < mappings_num) &&
                        (kept->num < MAPPINGS_KEPT); ++kept->num) {
        kept->mapping[kept->num] = mappings[kept->num];
        kept->at[kept->num]      = mappings_map(&mappings[kept->num]);
        probe_number(kept->at[kept->num] != MAP_FAILED, "mapping %u is kept",
                     kept->num);
    }
}

static void mappings_left(const struct mappings_kept *kept, const char *when)
{
    unsigned i;

    for (i = 0; i < kept->num; ++i) {
        if (kept->at[i] == MAP_FAILED) {
            continue;
        }
        probe_say(mappings_touch(kept->at[i], 0), "mapping %u is read %s", i,
                  when);
        if (kept->mapping[i].prot & PROT_WRITE) {
            probe_say(mappings_touch(kept->at[i], 1),
                      "mapping %u is written %s", i, when);
        }
    }
}

static void mappings_gone(const struct mappings_kept *kept)
{
    unsigned i;

    for (i = 0; i < kept->num; ++i) {
        probe_say(mappings_try(kept->mapping[i], MAP_SHARED),
                  "mmap of what is destroyed, %u", i);
    }
}

static void mappings_unmap(struct mappings_kept *kept)
{
    for (; kept->num > 0; --kept->num) {
        if (kept->at[kept->num - 1] != MAP_FAILED) {
            munmap(kept->at[kept->num - 1],
                   kept->mapping[kept->num - 1].length);
        }
    }
}

static void mappings_of(const char *name)
{
    unsigned i;
    char text[32];

    probe_number(mappings_num, "mappings of %s", name);
    for (i = 0; i < mappings_num; ++i) {
        snprintf(text, sizeof(text), "%s's %u", name, i);
        mappings_ask(&mappings[i], text);
    }
}

static struct ibv_cq *mappings_cq(const struct probe *probe)
{
    struct ibv_cq *cq;

    mappings_num = 0;
    cq           = ibv_create_cq(probe->ctx, 16, NULL, NULL, 0);
    mappings_of("a CQ");
    return cq;
}

static struct ibv_qp *mappings_qp(const struct probe *probe, struct ibv_cq *cq)
{
    struct ibv_qp *qp;

    mappings_num = 0;
    qp           = probe_qp(probe, cq, IBV_QPT_DRIVER, 16);
    mappings_of("a QP");
    return qp;
}

static unsigned mappings_count_qps(const struct probe *probe)
{
    static struct ibv_qp *qp[MAPPINGS_QPS];
    struct ibv_cq *cq = ibv_create_cq(probe->ctx, 16, NULL, NULL, 0);
    unsigned num, made;

    made = PROBE_FILL(qp, probe_qp(probe, cq, IBV_QPT_DRIVER, 1));
    for (num = made; num > 0; --num) {
        ibv_destroy_qp(qp[num - 1]);
    }
    ibv_destroy_cq(cq);
    return made;
}

/* A device that is closed while something of it is mapped */
static void mappings_close(const struct probe *probe)
{
    struct probe own = *probe;
    struct mappings_kept kept;
    struct ibv_cq *cq;
    unsigned i, made;

    own.ctx      = ibv_open_device(probe->ctx->device);
    own.pd       = ibv_alloc_pd(own.ctx);
    mappings_num = 0;
    cq           = ibv_create_cq(own.ctx, 16, NULL, NULL, 0);
    for (i = 0; i < MAPPINGS_QPS; ++i) {
        if (probe_qp(&own, cq, IBV_QPT_DRIVER, 1) == NULL) {
            break;
        }
    }
    made = mappings_num;
    probe_number(i, "QPs of a context that is closed");
    mappings_keep(&kept);
    probe_say(probe_result(ibv_close_device(own.ctx)),
              "closed with QPs and mappings");
    mappings_left(&kept, "after close");
    probe_number(mappings_count_qps(probe),
                 "QPs beside mappings that are kept");
    mappings_unmap(&kept);
    for (i = 0; i < made; ++i) { /* libefa's own */
        munmap(mappings[i].at, mappings[i].length);
    }
    probe_number(mappings_count_qps(probe), "QPs when the mappings are gone");
}

void probe_mappings(const struct probe *probe)
{
    struct mappings_kept of_cq, of_qp;
    struct ibv_cq *cq = mappings_cq(probe);
    struct ibv_qp *qp;

    mappings_keep(&of_cq);
    qp = mappings_qp(probe, cq);
    mappings_keep(&of_qp);
    mappings_left(&of_qp, "while there is the QP");
    probe_say(probe_result(ibv_destroy_qp(qp)), "QP destroyed, still mapped");
    mappings_left(&of_qp, "without the QP");
    mappings_gone(&of_qp);
    mappings_left(&of_cq, "while there is the CQ");
    probe_say(probe_result(ibv_destroy_cq(cq)), "CQ destroyed, still mapped");
    mappings_left(&of_cq, "without the CQ");
    mappings_gone(&of_cq);
    cq = ibv_create_cq(probe->ctx, 16, NULL, NULL, 0);
    qp = probe_qp(probe, cq, IBV_QPT_DRIVER, 16);
    mappings_left(&of_qp, "with a later QP");
    probe_say(probe_result(ibv_destroy_qp(qp)), "the later QP destroyed");
    probe_say(probe_result(ibv_destroy_cq(cq)), "the later CQ destroyed");
    mappings_unmap(&of_qp);
    mappings_unmap(&of_cq);
    mappings_close(probe);
}
