/* SPDX-License-Identifier: BSD-3-Clause */
/* Registrations: access flags, kinds of memory, limits of locked memory. */
#include "probe.h"

#include <fcntl.h>
#include <linux/udmabuf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MEMORY_SECRET 447 /* memfd_secret, Linux 5.14 */
#define MEMORY_GUARD  102 /* MADV_GUARD_INSTALL, Linux 6.13 */

/* Those of verbs and one bit that nobody knows */
static const struct { const char *name; unsigned flag; } memory_flags[] = {
    { "local-write", IBV_ACCESS_LOCAL_WRITE },
    { "remote-write", IBV_ACCESS_REMOTE_WRITE },
    { "remote-read", IBV_ACCESS_REMOTE_READ },
    { "remote-atomic", IBV_ACCESS_REMOTE_ATOMIC },
    { "mw-bind", IBV_ACCESS_MW_BIND },
    { "zero-based", IBV_ACCESS_ZERO_BASED },
    { "on-demand", IBV_ACCESS_ON_DEMAND },
    { "hugetlb", IBV_ACCESS_HUGETLB },
    { "relaxed", IBV_ACCESS_RELAXED_ORDERING },
    { "bit-19", 1 << 19 },
};

enum { MEMORY_FLAGS = sizeof(memory_flags) / sizeof(memory_flags[0]) };

static void memory_access(const struct probe *probe)
{
    unsigned i, k;

    probe_reg(probe, probe->page, 4096, 0, "access of no flag");
    for (i = 0; i < MEMORY_FLAGS; ++i) {
        probe_reg(probe, probe->page, 4096, memory_flags[i].flag, "access %s",
                  memory_flags[i].name);
        for (k = i + 1; k < MEMORY_FLAGS; ++k) {
            probe_reg(probe, probe->page, 4096, memory_flags[i].flag |
                      memory_flags[k].flag, "access %s %s",
                      memory_flags[i].name, memory_flags[k].name);
        }
    }
    probe_reg(probe, probe->page, 4096, IBV_ACCESS_LOCAL_WRITE |
              IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE,
              "access of three");
}

static void memory_ranges(const struct probe *probe)
{
    static char own[16];
    struct ibv_mr *one, *two;
    char local[16];

    probe_reg(probe, probe->page, 0, 1, "no byte");
    probe_reg(probe, probe->page + 5, 1, 1, "one byte");
    probe_reg(probe, probe->page, 4097, 1, "a page and a byte");
    probe_reg(probe, local, sizeof(local), 1, "of the stack");
    probe_reg(probe, own, sizeof(own), 1, "of the program");
    probe_reg(probe, NULL, 4096, 1, "the zero page");
    probe_reg(probe, (void*)-4096, 8192, 1, "round the end");
    probe_reg(probe, (void*)0x7ffffffff000, 1ul << 40, 1,
              "beyond the address space");
    probe_reg(probe, probe->page, 97ul << 30, 1, "97 GiB");

    one = ibv_reg_mr(probe->pd, probe->page, 4096, 1);
    two = ibv_reg_mr(probe->pd, probe->page, 4096, 1);
    probe_number((one != NULL) && (two != NULL) && (one->lkey != two->lkey),
                 "twice has two keys");
    probe_number((one != NULL) && (one->lkey == one->rkey),
                 "lkey is rkey");
    probe_number((one != NULL) && ((one->lkey >> 24) == 0),
                 "a key has 24 bits");
    if (two != NULL) {
        ibv_dereg_mr(two);
    }
    if (one != NULL) {
        probe_say(probe_result(ibv_dealloc_pd(probe->pd)),
                  "PD freed before its registration");
        probe_say(probe_result(ibv_dereg_mr(one)), "deregistered");
    }
}

static void memory_iova(const struct probe *probe)
{
    static const uint64_t iovas[] = { 0, 4096, 1ull << 40, 5, 0x800 };
    unsigned i;

    for (i = 0; i < sizeof(iovas) / sizeof(iovas[0]); ++i) {
        PROBE_TRY(ibv_reg_mr_iova(probe->pd, probe->page, 4096, iovas[i], 1),
                  ibv_dereg_mr, "iova %#llx", (unsigned long long)iovas[i]);
    }
}

/* A file of one page; unlinked. */
static int memory_file(void)
{
    char name[] = "/dev/shm/probe.XXXXXX";
    int fd      = mkstemp(name);

    unlink(name);
    return (ftruncate(fd, PROBE_BYTES) == 0) ? fd : -1;
}

static void memory_kind(const struct probe *probe, const char *name, int prot,
                        int flags, int fd)
{
    void *addr = mmap(NULL, PROBE_BYTES, prot, flags, fd, 0);

    if (addr == MAP_FAILED) {
        probe_say(probe_result(-1), "%s: mmap", name);
        return;
    }
    probe_reg(probe, addr, 4096, 0, "%s, to be read", name);
    probe_reg(probe, addr, 4096, IBV_ACCESS_LOCAL_WRITE, "%s, to be written",
              name);
    probe_reg(probe, addr, 4096, IBV_ACCESS_REMOTE_READ,
              "%s, to be read from afar", name);
    munmap(addr, PROBE_BYTES);
    probe_reg(probe, addr, 4096, IBV_ACCESS_LOCAL_WRITE, "%s, unmapped", name);
}

/* Pages of which the last is none of the file's any more. */
static void memory_cut(const struct probe *probe, int fd)
{
    void *addr = mmap(NULL, PROBE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                      0);

    if (ftruncate(fd, PROBE_BYTES / 2) == 0) {
        probe_reg(probe, addr, PROBE_BYTES, 0, "a cut file, to be read");
        probe_reg(probe, addr, PROBE_BYTES, 1, "a cut file, to be written");
        probe_reg(probe, addr, PROBE_BYTES / 2, 1, "what is left of it");
    }
    munmap(addr, PROBE_BYTES);
}

/* Where a machine has not the kind, its pages of no access stand in for it: the
 * answers are the same. */
static int memory_secret(char *at)
{
    int fd   = syscall(MEMORY_SECRET, 0);
    int done = (fd >= 0) && (ftruncate(fd, 4096) == 0) &&
               (mmap(at, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                     fd, 0) != MAP_FAILED);

    close(fd);
    return done ? 0 : mprotect(at, 4096, PROT_NONE);
}

static int memory_guard(char *at)
{
    return (madvise(at, 4096, MEMORY_GUARD) == 0) ? 0 :
           mprotect(at, 4096, PROT_NONE);
}

/* Three pages, of which the second is of another kind; `fd` ends before it. */
static void memory_middle(const struct probe *probe, unsigned kind, int fd)
{
    static const struct { const char *name; int prot, flags; } kinds[] = {
        { "of no access", PROT_NONE, 0 },
        { "to be executed", PROT_EXEC, 0 },
        { "to be written alone", PROT_WRITE, 0 },
        { "behind a shared file", PROT_READ | PROT_WRITE, MAP_SHARED },
        { "behind a private file", PROT_READ | PROT_WRITE, MAP_PRIVATE },
        { "behind a read-only file", PROT_READ, MAP_SHARED },
        { "secret", 0, 0 },
        { "guarded", 0, 0 },
    };
    const char *name = kinds[kind].name;
    char *at         = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int failed;

    if (kinds[kind].flags != 0) {
        failed = mmap(at + 4096, 4096, kinds[kind].prot,
                      kinds[kind].flags | MAP_FIXED, fd,
                      PROBE_BYTES) == MAP_FAILED;
    } else if (kind < 6) {
        failed = mprotect(at + 4096, 4096, kinds[kind].prot);
    } else {
        failed = (kind == 6) ? memory_secret(at + 4096) :
                               memory_guard(at + 4096);
    }
    probe_number(failed, "a page %s in the middle: failed", name);
    probe_reg(probe, at, 3 * 4096, 0, "a page %s in the middle, to be read",
              name);
    probe_reg(probe, at, 3 * 4096, IBV_ACCESS_REMOTE_READ,
              "a page %s in the middle, to be read from afar", name);
    probe_reg(probe, at, 3 * 4096, IBV_ACCESS_LOCAL_WRITE,
              "a page %s in the middle, to be written", name);
    munmap(at, 3 * 4096);
}

static void memory_kinds(const struct probe *probe)
{
    unsigned kind;

    int fd   = memory_file();
    char *at = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    memory_kind(probe, "anonymous", PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1);
    memory_kind(probe, "anonymous read-only", PROT_READ,
                MAP_PRIVATE | MAP_ANONYMOUS, -1);
    memory_kind(probe, "of no access", PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
                -1);
    memory_kind(probe, "shared file", PROT_READ | PROT_WRITE, MAP_SHARED, fd);
    memory_kind(probe, "shared read-only file", PROT_READ, MAP_SHARED, fd);
    memory_kind(probe, "private file", PROT_READ | PROT_WRITE, MAP_PRIVATE,
                fd);
    memory_kind(probe, "private read-only file", PROT_READ, MAP_PRIVATE, fd);
    memory_cut(probe, fd);
    munmap(at + 4096, 4096);
    probe_reg(probe, at, 3 * 4096, 1, "with a hole");
    mprotect(at + 8192, 4096, PROT_READ);
    probe_reg(probe, at + 8192, 4096, 1, "made read-only");
    for (kind = 0; kind < 8; ++kind) {
        memory_middle(probe, kind, fd);
    }
    close(fd);
}

static void memory_dmabuf_try(const struct probe *probe, int fd,
                              uint64_t offset, size_t length, uint64_t iova,
                              const char *question)
{
    PROBE_TRY(ibv_reg_dmabuf_mr(probe->pd, offset, length, iova, fd, 1),
              ibv_dereg_mr, "%s", question);
}

static void memory_dmabuf(const struct probe *probe)
{
    struct udmabuf_create create = { .size = PROBE_BYTES };
    int fd  = memfd_create("probe", MFD_ALLOW_SEALING);
    int dev = open("/dev/udmabuf", O_RDWR);
    int buf;

    if (ftruncate(fd, PROBE_BYTES) != 0) {
        return;
    }
    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK);
    memory_dmabuf_try(probe, fd, 0, 4096, 0, "dma-buf: a memfd");
    memory_dmabuf_try(probe, -1, 0, 4096, 0, "dma-buf: none");
    memory_dmabuf_try(probe, 0, 0, 4096, 0, "dma-buf: stdin");
    create.memfd = fd;
    buf          = (dev < 0) ? -1 : ioctl(dev, UDMABUF_CREATE, &create);
    if (buf < 0) { /* this kernel has none */
        close(fd);
        return;
    }
    memory_dmabuf_try(probe, buf, 0, 4096, 0, "udmabuf");
    memory_dmabuf_try(probe, buf, 4096, 4096, 0, "udmabuf, later");
    memory_dmabuf_try(probe, buf, 1, 1, 1, "udmabuf, byte 1");
    memory_dmabuf_try(probe, buf, 1, 1, 0, "udmabuf, askew");
    memory_dmabuf_try(probe, buf, 0, PROBE_BYTES + 1, 0, "udmabuf, too long");
    memory_dmabuf_try(probe, buf, 0, 0, 0, "udmabuf, no byte");
    close(buf);
    close(dev);
    close(fd);
}

/* kB that the kernel says are pinned */
static unsigned long memory_vm_pin(void)
{
    FILE *file       = fopen("/proc/self/status", "r");
    unsigned long kb = 0;
    char line[200];

    while ((file != NULL) && (fgets(line, sizeof(line), file) != NULL) &&
           (sscanf(line, "VmPin: %lu", &kb) != 1)) {
    }
    if (file != NULL) {
        fclose(file);
    }
    return kb;
}

static void memory_pinned(const struct probe *probe)
{
    unsigned long before = memory_vm_pin();
    struct ibv_mr *mr[2];
    unsigned i;

    for (i = 0; i < 2; ++i) {
        mr[i] = ibv_reg_mr(probe->pd, probe->page, 16384, 1);
        probe_number(memory_vm_pin() - before,
                     "VmPin, kB more by %u of the same registration", i + 1);
    }
    for (i = 0; i < 2; ++i) {
        if (mr[i] != NULL) {
            ibv_dereg_mr(mr[i]);
        }
    }
    probe_number(memory_vm_pin() - before, "VmPin, when they are gone");
}

/* As a user whose locked memory is limited: how much there is room for */
static void memory_locked(const struct probe *probe)
{
    struct ibv_mr *mr[8];
    unsigned num;

    num = PROBE_FILL(mr, ibv_reg_mr(probe->pd, probe->page, 16384, 1));
    probe_say((num < 8) ? probe_result(-1) : "ok",
              "registration beyond the limit");
    probe_number(num, "registrations of 16 KiB");
    probe_reg(probe, probe->page, 4096, 1, "a page more");
    if (num > 0) {
        ibv_dereg_mr(mr[--num]);
        probe_reg(probe, probe->page, 4096, 1, "a page, when one is gone");
    }
    while (num > 0) {
        ibv_dereg_mr(mr[--num]);
    }
}

static void memory_user(const struct probe *probe)
{
    PROBE_TRY(ibv_create_cq(probe->ctx, 1024, NULL, NULL, 0), ibv_destroy_cq,
              "a user's completion queue, memlock 0");
    memory_locked(probe);
}

void probe_memory(const struct probe *probe)
{
    memory_access(probe);
    memory_ranges(probe);
    memory_iova(probe);
    memory_kinds(probe);
    memory_dmabuf(probe);
    memory_pinned(probe);
    probe_say("", "a user with memlock 0");
    probe_child(probe, PROBE_USER, 0, memory_user);
    probe_say("", "a user with memlock 40000");
    probe_child(probe, PROBE_USER, 40000, memory_locked);
    probe_say("", "a user with memlock 65536");
    probe_child(probe, PROBE_USER, 65536, memory_locked);
    probe_say("", "root with memlock 0");
    probe_child(probe, PROBE_ROOT, 0, memory_locked);
}
