/* SPDX-License-Identifier: BSD-3-Clause */
/* Probes of registered memory: how much, at what cost, of which kinds, and what
 * a fork does to it. */
#define _GNU_SOURCE
#include "pair.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <linux/udmabuf.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MEMORY_STEP (2ul << 20)
#define MEMORY_MOST (8ul << 30)
#define MEMORY_READ (1u << 30)
#define MEMORY_LONG (4ul << 30) /* 1 M pages, with remote writes the most */
#define MEMORY_COST 1e-3 /* seconds that 4 KiB may take */
#define MEMORY_AT   (ST_MEM_BYTES / 2)
#define MEMORY_PAUSE 10000 /* us */
#define MEMORY_READ_S 30 /* seconds that a read may take */

/* Memory that is a file; by the system call, as glibc has it from 2.27 on. */
static int memory_file(unsigned flags)
{
    return syscall(SYS_memfd_create, "selftest", flags);
}

/* A long range of addresses that few pages stand behind. NULL: none. */
static uint8_t *memory_range(size_t length)
{
    int fd        = memory_file(MFD_CLOEXEC);
    uint8_t *base = MAP_FAILED;
    size_t at;

    if ((fd >= 0) && (ftruncate(fd, MEMORY_STEP) == 0)) {
        base = mmap(NULL, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                    0);
    }
    for (at = 0; (base != MAP_FAILED) && (at < length); at += MEMORY_STEP) {
        if (mmap(base + at, MEMORY_STEP, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) {
            munmap(base, length);
            base = MAP_FAILED;
        }
    }
    if (fd >= 0) {
        close(fd);
    }
    return (base == MAP_FAILED) ? NULL : base;
}

static struct ibv_mr *memory_register(st_t *st, void *base, size_t length)
{
    errno = 0;
    return st->verbs->reg_mr(st->pd, base, length, st_qp_access(st->device));
}

/* The host's; the kernel may refuse to register more. */
static size_t memory_physical(void)
{
    return (size_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
}

/* `good` bytes were taken, and then `err` came, or 0: no more was asked. */
static void memory_size_end(st_t *st, st_result_t *result, size_t good, int err)
{
    int limited = (st_qp_access(st->device) & IBV_ACCESS_REMOTE_WRITE) &&
                  (memory_physical() >= MEMORY_MOST);
    struct rlimit limit;

    if ((err == ENOMEM) && (getrlimit(RLIMIT_MEMLOCK, &limit) == 0) &&
        (limit.rlim_cur < MEMORY_MOST) && (geteuid() != 0)) {
        st_result_not_asked(result, "locked memory ended it at %zu KiB",
                            good / 1024);
        return;
    }
    st_result_decide(result,
                     limited ? (good == MEMORY_LONG) && (err == ENOMEM) :
                               (err == 0),
                     "registrations to %zu KiB%s%s", good / 1024,
                     err ? ", not more: " : "", err ? strerror(err) : "");
}

static void memory_size(st_t *st, st_result_t *result)
{
    uint8_t *base = memory_range(MEMORY_MOST);
    size_t length, good = 0;
    struct ibv_mr *mr;
    int err = 0;

    if (base == NULL) {
        st_result_not_asked(result, "no room for so many addresses");
        return;
    }
    for (length = 4096; (length <= MEMORY_MOST) &&
                        (length <= memory_physical());
         length *= (length < MEMORY_LONG) ? 4 : 2) {
        mr = memory_register(st, base, length);
        if (mr == NULL) {
            err = errno;
            break;
        }
        st->verbs->dereg_mr(mr);
        good = length;
    }
    munmap(base, MEMORY_MOST);
    memory_size_end(st, result, good, err);
}

/* Seconds that registering `length` bytes takes, the best of five. 0: it is
 * refused. */
static double memory_cost(st_t *st, void *base, size_t length)
{
    double best = 0, took;
    struct ibv_mr *mr;
    int i;

    for (i = 0; i < 5; ++i) {
        took = probe_seconds();
        mr   = memory_register(st, base, length);
        if (mr == NULL) {
            return 0;
        }
        took = probe_seconds() - took;
        st->verbs->dereg_mr(mr);
        best = ((best == 0) || (took < best)) ? took : best;
    }
    return best;
}

/* The same, of memory that is mapped with `flags`. -1: there is none. */
static double memory_cost_of(st_t *st, size_t length, int flags)
{
    void *base = mmap(NULL, length, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE | flags, -1,
                      0);
    double took;

    if (base == MAP_FAILED) {
        return -1;
    }
    took = memory_cost(st, base, length);
    munmap(base, length);
    return took;
}

static void memory_costs(st_t *st, st_result_t *result)
{
    static const size_t sizes[] = {4096, 65536, 1 << 20, 16 << 20};
    double took = 0, first = 0, huge;
    char text[ST_TEXT_MAX] = "", time[32];
    unsigned i;

    for (i = 0; i < 4; ++i) {
        took  = memory_cost_of(st, sizes[i], 0);
        first = (i == 0) ? took : first;
        snprintf(text + strlen(text), sizeof(text) - strlen(text),
                 "%s%zu KiB: %s", i ? ", " : "", sizes[i] / 1024,
                 (took > 0) ? st_text_time(took, time) : "refused");
    }
    huge = memory_cost_of(st, 16 << 20, MAP_HUGETLB);
    snprintf(text + strlen(text), sizeof(text) - strlen(text),
             "; of huge pages: %s", (huge > 0) ? st_text_time(huge, time) :
             (huge < 0) ? "none free here" : "refused");
    st_result_decide(result, (first > 0) && (first < MEMORY_COST), "%s", text);
}

/* The descriptor of a dma-buf of `size` bytes, by the kernel's own exporter; or
 * that of the memory itself, which only an emulated device takes for one. */
static int memory_dmabuf(size_t size, int *is_memfd)
{
    struct udmabuf_create create = {.flags = UDMABUF_FLAGS_CLOEXEC};
    int memory = memory_file(MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), buf = -1;

    if ((memory < 0) || (ftruncate(memory, size) != 0) ||
        (fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK) != 0)) {
        goto out;
    }
    create.memfd = memory;
    create.size  = size;
    buf          = (device >= 0) ? ioctl(device, UDMABUF_CREATE, &create) : -1;
    *is_memfd    = (buf < 0);
    if (buf < 0) {
        buf    = memory;
        memory = -1;
    }
out:
    if (memory >= 0) {
        close(memory);
    }
    if (device >= 0) {
        close(device);
    }
    return buf;
}

static void memory_dmabufs(st_t *st, st_result_t *result)
{
    size_t size  = 65536;
    int is_memfd = 0, fd;
    struct ibv_mr *mr;

    if (st->verbs->reg_dmabuf_mr == NULL) {
        st_result_not_asked(result,
                            "this rdma-core has no ibv_reg_dmabuf_mr (34)");
        return;
    }
    fd = memory_dmabuf(size, &is_memfd);
    if (fd < 0) {
        st_result_not_asked(result, "no dma-buf here");
        return;
    }
    errno = 0;
    mr    = st->verbs->reg_dmabuf_mr(st->pd, 0, size, 0, fd,
                                     IBV_ACCESS_LOCAL_WRITE);
    if (mr != NULL) {
        st->verbs->dereg_mr(mr);
        st_result_same(result, "%s of 64 KiB is registered",
                       is_memfd ? "a memfd as a dma-buf"
                                : "a dma-buf of udmabuf");
    } else if (is_memfd && (errno != EOPNOTSUPP)) {
        st_result_not_asked(result,
                            "no exporter: /dev/udmabuf is not there, or not "
                            "for this user");
    } else {
        st_result_differs(result, "refused: %s", strerror(errno));
    }
    close(fd);
}

/* One read of `length` bytes of itself: the device's status; -1: none came; or
 * the errno of its registration, negative. */
static int memory_read_one(st_pair_t *self, uint8_t *base, size_t length)
{
    st_mem_t mem     = {.base = base, .size = length,
                        .mr = memory_register(self->st, base, length)};
    st_piece_t piece = {&mem, 0, length};
    int status       = -1;

    if (mem.mr == NULL) {
        return -errno;
    }
    if (st_qp_rdma(&self->qp, &self->dest, &piece, 0, (uintptr_t)base,
                   mem.mr->rkey) == 0) {
        status = st_pair_wait(self, MEMORY_READ_S);
    }
    self->st->verbs->dereg_mr(mem.mr);
    return status;
}

static void memory_read(st_t *st, st_result_t *result)
{
    size_t most = efa_at_most(st->device->max_rdma, MEMORY_READ), length;
    uint8_t *base = memory_range(most);
    int status = 0, refused = 0;

    for (length = most; (base != NULL) && (length >= 4096); length /= 2) {
        status = memory_read_one(st->pair, base, length);
        if (status == 0) {
            break;
        }
        refused |= (status < -1);
    }
    if (base == NULL) {
        st_result_not_asked(result, "no room for so many addresses");
    } else if (refused && (status == 0)) {
        st_result_not_asked(result,
                            "it says %zu B; no more than %zu are registered "
                            "here",
                            most, length);
    } else {
        st_result_decide(result, length == most, "it says %zu B, and reads %zu",
                         st->device->max_rdma, (status == 0) ? length : 0);
    }
    if (base != NULL) {
        munmap(base, most);
    }
}

/* After a fork, and writes of the parent and of the child: does the device see
 * the parent's memory? */
static int memory_after_fork(st_pair_t *self)
{
    st_t *st       = self->st;
    st_piece_t out = {&st->mem, 0, 4096};
    st_piece_t in  = {&st->mem, MEMORY_AT, 4096};
    pid_t child;

    memset(st->mem.base, 1, 4096);
    memset(st->mem.base + MEMORY_AT, 1, 4096);
    child = fork();
    if (child == 0) {
        if (st->verbs->is_fork_initialized == NULL) {
            _exit(0); /* it may have none of these pages */
        }
        st->mem.base[0] = 2;
        _exit(0);
    }
    memset(st->mem.base, 3, 4096);
    st->mem.base[MEMORY_AT] = 3; /* this page would be another one now */
    if ((child < 0) || (waitpid(child, NULL, 0) != child) ||
        (st_qp_recv(&self->qp, &in, 0) != 0) ||
        (st_qp_send(&self->qp, &self->dest, &out, 0, 0) != 0) ||
        (st_pair_wait_cq(st, self->qp.recv_cq, ST_WAIT_S, NULL) < 0)) {
        return -1;
    }
    usleep(MEMORY_PAUSE); /* whether it is placed is another's question */
    return (st->mem.base[MEMORY_AT] == 3) &&
           (st->mem.base[MEMORY_AT + 4095] == 3);
}

static void memory_fork(st_t *st, st_result_t *result)
{
    int told = (st->verbs->is_fork_initialized != NULL) ?
               st->verbs->is_fork_initialized() : -1;
    int right;

    if (told != EFA_FORK_UNNEEDED) {
        st_result_differs(
            result,
            (told < 0)
                ? "this rdma-core (before 35) does not say"
                : "this kernel does not copy registered pages for a child");
        return;
    }
    right = memory_after_fork(st->pair);
    st_result_decide(
        result, right == 1,
        (right == 1)
            ? "the kernel copies for the child; the parent's pages stay the "
              "device's"
            : "the device has other pages than the parent");
}

const st_probe_t st_memory[] = {
    {"registration",
     "4 GiB are registered at a time; more not if peers may write to them",
     "zero-copy and rendezvous of long messages, large pools",
     "longer memory is registered in segments; please report this",
     .run = memory_size},
    {"registration-cost", "4 KiB are registered within 1 ms",
     "rendezvous and its cache of registrations",
     "UCX_EFA_REG_CACHE=y; UCX_RNDV_THRESH higher", .run = memory_costs},
    {"dma-buf", "a dma-buf is registered",
     "memory of GPUs without a driver of the EFA's own",
     "a newer kernel or EFA driver; else UCX copies through host memory",
     .run = memory_dmabufs},
    {"read-size", "one RDMA read has as many bytes as reported",
     "rendezvous reads are cut into pieces of that length",
     "please report this", memory_read,
     .needs = EFA_DEVICE_CAP_RDMA_READ,
     .self = &(const st_qp_params_t){0}},
    {"fork", "nothing is needed for a fork: the kernel copies",
     "programs that fork while they communicate",
     "UCX_EFA_FORK_INIT=y", memory_fork,
     .self = &(const st_qp_params_t){0}},
    {.name = NULL}
};
